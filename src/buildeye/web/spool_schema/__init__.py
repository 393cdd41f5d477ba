"""The tables of the spool as Alembic migrations; an applied one never changes, a correction is a new one."""
