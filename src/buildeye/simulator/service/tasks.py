"""The tasks the service judged, in a small SQLite file that its versions share."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

MOST: Final = 10_000
"""Tasks that are told at once, the newest."""
_BUSY_SECONDS: Final = 10.0
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS task (number INTEGER PRIMARY KEY, entered_at TEXT NOT NULL, "
    "approved INTEGER NOT NULL, deployment TEXT NOT NULL)"
)


class Tasks:
    """The file of tasks; `deployment` is who serves them here. `seed` makes the verdicts the same each time."""

    def __init__(self, file: Path, deployment: str, seed: int = 7, now: Callable[[], datetime] | None = None) -> None:
        self._file = file
        self._deployment = deployment
        self._seed = seed
        self._now = now or (lambda: datetime.now(UTC))
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_TABLE)

    def judge(self, rate: float) -> dict[str, object]:
        """Take one task in and judge it; it is approved with probability `rate`."""
        entered = self._now().isoformat(timespec="milliseconds")
        with self._open() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            (number,) = connection.execute("SELECT coalesce(max(number), 0) + 1 FROM task").fetchone()
            approved = Random(f"{self._seed}/{number}").random() < rate  # noqa: S311 -- no secret
            row = (number, entered, int(approved), self._deployment)
            connection.execute("INSERT INTO task VALUES (?, ?, ?, ?)", row)
        return _told(row)

    def told(self, since: str = "") -> list[dict[str, object]]:
        """The tasks that entered at `since` (ISO, UTC) or later, in their order; at most the 10,000 newest."""
        asked = "SELECT * FROM task WHERE entered_at >= ? ORDER BY number DESC LIMIT ?"
        with self._open() as connection:
            rows = connection.execute(asked, (since, MOST)).fetchall()
        return [_told(row) for row in reversed(rows)]

    def _open(self) -> "closing[sqlite3.Connection]":
        return closing(sqlite3.connect(self._file, timeout=_BUSY_SECONDS, isolation_level=None))


def _told(row: tuple[int, str, int, str]) -> dict[str, object]:
    number, entered, approved, deployment = row
    return {"id": f"task-{number}", "entered_at": entered, "approved": bool(approved), "deployment": deployment}
