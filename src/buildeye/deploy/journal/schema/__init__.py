"""The tables of the journal as Alembic migrations; an applied one never changes, a correction is a new one."""

from typing import Final

VERSION_TABLE: Final = "deploy_journal_version"
NEWEST: Final = "0001"
"""The revision of the newest migration."""
