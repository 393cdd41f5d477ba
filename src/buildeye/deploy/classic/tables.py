"""The seed's tables: what its monitor writes, and what it reads of the application. One place for their columns.

SQLite and PostgreSQL take the same statements. Times are texts in UTC, as SQLite's CURRENT_TIMESTAMP has them.
"""

from typing import Final, Protocol

MONITOR_TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS deployment (
        deployment_id TEXT PRIMARY KEY,
        status TEXT NOT NULL,
        rollback_reason TEXT,
        cutover_at TEXT,
        monitoring_closed_at TEXT
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS deploy_health_signal (
        signal_id TEXT PRIMARY KEY,
        deployment_id TEXT NOT NULL,
        sampled_at TEXT NOT NULL,
        signal_type TEXT NOT NULL,
        status TEXT NOT NULL,
        detail TEXT
    )
    """,
    "CREATE INDEX IF NOT EXISTS deploy_health_signal_of ON deploy_health_signal (deployment_id, signal_type)",
)
"""What the monitor writes."""

APPLICATION_TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS execution_event (
        project_id TEXT,
        task_id TEXT,
        event_type TEXT,
        payload TEXT,
        created_at TEXT
    )
    """,
    "CREATE TABLE IF NOT EXISTS bug_record (task_id TEXT, source TEXT, created_at TEXT)",
    "CREATE TABLE IF NOT EXISTS task (task_id TEXT PRIMARY KEY, project_id TEXT, created_at TEXT)",
    "CREATE INDEX IF NOT EXISTS execution_event_when ON execution_event (project_id, event_type, created_at)",
    "CREATE INDEX IF NOT EXISTS execution_event_task ON execution_event (task_id)",
    "CREATE INDEX IF NOT EXISTS bug_record_task ON bug_record (task_id, source)",
    "CREATE INDEX IF NOT EXISTS task_when ON task (project_id, created_at)",
)
"""What it reads of the application: events, bug records and tasks."""


class Executing(Protocol):
    """What runs one statement: a sqlite3 connection, or a cursor of any DB-API driver."""

    def execute(self, statement: str, /) -> object:
        """Run it."""


def create_tables(connection: Executing) -> None:
    """Make the tables and indexes that are missing; what is there stays."""
    for statement in (*MONITOR_TABLES, *APPLICATION_TABLES):
        connection.execute(statement)
