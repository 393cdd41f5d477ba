"""The rate of approval as the seed counts it: tasks that reached `validating` and have no validator's bug record.

One query a judgement instead of one a task. Times are compared as the texts that they are, as the seed does.
"""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from buildeye.deploy.classic.decisions import WINDOW_HOURS, Approvals
from buildeye.model import OutsideError, UsageError

_FORMAT: Final = "%Y-%m-%d %H:%M:%S"

_REACHED: Final = "json_extract(payload, '$.to_status') = 'validating'"
_EVENTS: Final = """
FROM execution_event AS validated
WHERE project_id = :project AND event_type = 'task_status_changed' AND created_at >= :since
    AND (:until IS NULL OR created_at < :until)
"""
_REJECTED: Final = (
    "EXISTS (SELECT 1 FROM bug_record AS bug WHERE bug.task_id = validated.task_id AND bug.source = 'validator')"
)
_COUNT: Final = f"""
WITH validated AS MATERIALIZED (SELECT DISTINCT task_id {_EVENTS} AND {_REACHED})
SELECT count(*), coalesce(sum({_REJECTED}), 0) FROM validated
"""  # noqa: S608 - parts of this module only
_PAYLOADS: Final = f"SELECT task_id, payload, {_REJECTED} {_EVENTS}"


def count_approvals(
    conn: sqlite3.Connection, project_id: str, since_text: str, until_text: str | None = None
) -> Approvals | None:
    """Approved and all tasks that reached validation from `since_text` on, before `until_text`; None for no task.

    A task without verdict counts as approved, and events without a task count as one task, as in the seed. An event
    whose payload is no object is none that enters validation. OutsideError: a payload is not JSON.
    """
    asked = {"project": project_id, "since": since_text, "until": until_text}
    try:
        tasks, rejected = conn.execute(_COUNT, asked).fetchone()
    except sqlite3.OperationalError as error:
        if "JSON" not in str(error):
            raise
        tasks, rejected = _counted_here(conn, asked)
    return Approvals(tasks - rejected, tasks) if tasks else None


def compute_validator_approval_rate(
    conn: sqlite3.Connection, project_id: str, since_text: str, until_text: str | None = None
) -> tuple[float, int] | None:
    """The seed's function: the rate, 0 to 1, and how many tasks it is of; None where no task reached validation."""
    approvals = count_approvals(conn, project_id, since_text, until_text)
    return None if approvals is None else (approvals.rate, approvals.tasks)


def compute_baseline_validator_approval_rate(
    conn: sqlite3.Connection, project_id: str, before_text: str, lookback_hours: float = WINDOW_HOURS
) -> tuple[float, int] | None:
    """The same over the hours before `before_text` (the cutover), which itself is not in it; None: nothing to judge by.

    UsageError: `before_text` is no time of SQLite.
    """
    since = moment_of(before_text) - timedelta(hours=lookback_hours)
    return compute_validator_approval_rate(conn, project_id, since.strftime(_FORMAT), before_text)


def moment_of(text: str) -> datetime:
    """A time as SQLite's CURRENT_TIMESTAMP writes it, which is in UTC. UsageError for any other text."""
    try:
        return datetime.strptime(text, _FORMAT).replace(tzinfo=UTC)
    except (TypeError, ValueError):
        raise UsageError(
            f"{text!r} is no time that the classic profile reads: write 2026-05-28 06:30:00, in UTC"
        ) from None


def tasks_since(conn: sqlite3.Connection, project_id: str, since_text: str) -> int:
    """How many tasks were created since a time, whatever became of them."""
    rows = conn.execute("SELECT count(*) FROM task WHERE project_id = ? AND created_at >= ?", (project_id, since_text))
    number: int = rows.fetchone()[0]
    return number


def _counted_here(conn: sqlite3.Connection, asked: dict[str, Any]) -> tuple[int, int]:
    """The same counts with Python's JSON, which reads more than SQLite's (NaN, bytes); still one query."""
    validated: dict[str | None, bool] = {}
    for task_id, payload, rejected in conn.execute(_PAYLOADS, asked):
        try:
            said = json.loads(payload) if payload is not None else None
        except ValueError:
            raise OutsideError(
                f"an execution_event of task {task_id} has a payload that is not JSON: mend it, or leave the event out"
            ) from None
        if isinstance(said, dict) and said.get("to_status") == "validating":
            validated[task_id] = bool(rejected)
    return len(validated), sum(validated.values())
