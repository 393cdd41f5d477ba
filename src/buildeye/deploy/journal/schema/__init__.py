"""The tables of the journal as Alembic migrations; an applied one never changes, a correction is a new one."""
