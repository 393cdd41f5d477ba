"""Bringing a warehouse's tables up to date: numbered SQL files, each applied once and recorded with its checksum.

Every statement can be run again (`IF NOT EXISTS`, `OR REPLACE`), so two processes may start together, and one that was
killed half way is finished by the next. An applied file never changes; a correction is a new file.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Final

from buildeye.model import UsageError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_COMMENT: Final = re.compile(r"^\s*--.*$", re.MULTILINE)

RETENTION: Final[dict[str, str]] = {
    "default.workflow_run": "created_at",
    "default.workflow_job": "created_at",
    "default.push": "pushed_at",
    "default.pull_request": "updated_at",
    "tests.all_test_runs": "time_inserted",
    "buildeye.test_artifact": "read_at",
    "buildeye.check_run": "ifNull(started_at, toDateTime64(0, 3, 'UTC'))",
    "buildeye.diagnosis": "diagnosed_at",
    "buildeye.verdict": "ifNull(judged_at, toDateTime64(0, 6, 'UTC'))",
    "buildeye.log": "checked_at",
    "buildeye.job_baseline": "completed_at",
    "buildeye.sync_cursor": "saved_at",
    "buildeye.synced_run": "synced_at",
    "buildeye.verdict_change": "changed_at",
    "buildeye.person_verdict": "said_at",
    "buildeye.job_environment": "read_at",
    "buildeye.incident": "updated_at",
}
"""The time by which the rows of each table grow old; 1970 stands for "not known" and does not."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One schema file: `0002_name.sql` has number 2. Number 0 holds the record itself and runs at every start."""

    name: str
    sql: str

    @property
    def number(self) -> int:
        """The number the file name begins with."""
        return int(self.name.partition("_")[0])

    @property
    def checksum(self) -> str:
        """SHA-256 of the text, in hexadecimal."""
        return sha256(self.sql.encode()).hexdigest()

    @property
    def statements(self) -> tuple[str, ...]:
        """Its statements; a semicolon at the end of a line ends one."""
        text = _COMMENT.sub("", self.sql)
        return tuple(part.strip() for part in re.split(r";[ \t]*(?:\n|\Z)", text) if part.strip())


def shipped_migrations() -> tuple[Migration, ...]:
    """The schema files of this version, in order."""
    files = (file for file in resources.files(__package__).joinpath("schema").iterdir() if file.name.endswith(".sql"))
    return tuple(
        sorted((Migration(file.name, file.read_text("utf-8")) for file in files), key=lambda each: each.number)
    )


def migrate(client: "Client", migrations: Sequence[Migration]) -> tuple[int, ...]:
    """Apply what was not applied yet, in order; the numbers applied now.

    UsageError when an applied file has changed since or the warehouse has files this version does not know; errors of
    ClickHouse are the driver's.
    """
    first, *numbered = migrations
    for statement in first.statements:
        client.command(statement)
    done = {
        int(number): bytes(checksum).decode() if isinstance(checksum, bytes) else str(checksum)
        for number, checksum in client.query(
            "SELECT number, toString(checksum) FROM buildeye.schema_version FINAL"
        ).result_rows
    }
    _refuse_strangers(numbered, done)
    missing = [migration for migration in numbered if migration.number not in done]
    for migration in missing:
        for statement in migration.statements:
            client.command(statement)
        client.insert(
            "buildeye.schema_version",
            [[migration.number, migration.name, migration.checksum.encode()]],
            column_names=["number", "name", "checksum"],
        )
    return tuple(migration.number for migration in missing)


def _refuse_strangers(numbered: Sequence[Migration], done: dict[int, str]) -> None:
    known = {migration.number: migration for migration in numbered}
    newest = max(known, default=0)
    for number, checksum in sorted(done.items()):
        if number not in known:
            raise UsageError(
                f"the warehouse has schema {number}, this Build-Eye knows up to {newest}: upgrade Build-Eye, "
                "or open another warehouse."
            )
        if known[number].checksum != checksum:
            raise UsageError(
                f"schema file {known[number].name} was changed after this warehouse applied it: put the shipped file "
                "back and make the change in a new file."
            )


def apply_retention(client: "Client", retention_days: int | None) -> None:
    """Let rows older than `retention_days` go, or keep all for None; tables that already do so are not touched."""
    described = client.query(
        "SELECT concat(database, '.', name), engine_full FROM system.tables"
        " WHERE database IN ('default', 'tests', 'buildeye')"
    ).result_rows
    for table, engine in described:
        moment = RETENTION.get(table)
        if moment is None:
            continue
        wanted = None if retention_days is None else f"toIntervalDay({retention_days})"
        if wanted is None and " TTL " in engine:
            client.command(f"ALTER TABLE {table} REMOVE TTL")
        elif wanted is not None and f" + {wanted} WHERE" not in engine:
            client.command(
                f"ALTER TABLE {table} MODIFY TTL toDateTime({moment}) + {wanted}"
                f" DELETE WHERE {moment} > toDateTime64(0, 3, 'UTC')"
            )
