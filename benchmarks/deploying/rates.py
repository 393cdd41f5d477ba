"""What one judgement of the rate of approval costs over 10,000 tasks, beside the seed's way of asking, in one run.

    python -m benchmarks.deploying.rates [--tasks N]

Both ask one SQLite file with the same plain indexes. The seed reads every event of the window and then asks one query
a task; here a judgement is one query. Three are measured: the profile classic, which must count all tasks as the seed
does (same numbers); the reading of the default profile, which needs the oldest 150 entries into validation and no more;
and that reading of all tasks, whose numbers must be the seed's, as every task has a verdict. Prints one JSON object.
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import sqlalchemy as sa

from buildeye.deploy.classic import compute_validator_approval_rate
from buildeye.deploy.classic.tables import create_tables
from buildeye.deploy.rates import Serving
from buildeye.deploy.rates.tables import READ_MOST, TablesSource

SEED = 2
CUTOVER = datetime(2026, 5, 28, 6, 30, tzinfo=UTC)
STATUSES = ("ready", "running", "validating")
SERVING = Serving("deployment-2", CUTOVER, None, "v2")

Answer = TypeVar("Answer")


def measure(tasks: int = 10_000, repeats: int = 7) -> dict[str, float]:
    """Milliseconds and queries of each way of asking, the best of `repeats`, and how much faster than the seed's."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/tasks.sqlite"
        with closing(sqlite3.connect(file)) as connection:
            _fill(connection, tasks)
            since = f"{CUTOVER:%Y-%m-%d %H:%M:%S}"
            seed_ms, (approved, total) = _best(lambda: _as_the_seed_asks(connection, since), repeats)
            classic_ms, found = _best(lambda: compute_validator_approval_rate(connection, "p", since), repeats)
            assert found == (approved / total, total) and total == tasks
            seed_queries = _queries(connection, lambda: _as_the_seed_asks(connection, since))
            classic_queries = _queries(connection, lambda: compute_validator_approval_rate(connection, "p", since))
        reading_ms, reading_queries, looks = _read(file, READ_MOST, repeats)
        whole_ms, whole_queries, every_look = _read(file, tasks, repeats)
        assert every_look[-1] == (approved, total) and every_look[: len(looks)] == looks
    return {
        "rate_tasks": tasks,
        "rate_seed_ms": seed_ms,
        "rate_seed_queries": seed_queries,
        "rate_reading_ms": reading_ms,
        "rate_reading_queries": reading_queries,
        "rate_speedup_vs_seed": round(seed_ms / reading_ms, 1),
        "rate_classic_ms": classic_ms,
        "rate_classic_queries": classic_queries,
        "rate_classic_speedup_vs_seed": round(seed_ms / classic_ms, 1),
        "rate_whole_reading_ms": whole_ms,
        "rate_whole_reading_queries": whole_queries,
        "rate_whole_reading_speedup_vs_seed": round(seed_ms / whole_ms, 1),
    }


def _as_the_seed_asks(connection: sqlite3.Connection, since: str) -> tuple[int, int]:
    """(approved, all) by the seed's way: all events of the window, then one question a task."""
    events = connection.execute(
        "SELECT task_id, payload FROM execution_event"
        " WHERE project_id = 'p' AND event_type = 'task_status_changed' AND created_at >= ?",
        (since,),
    ).fetchall()
    validated = {task for task, payload in events if json.loads(payload).get("to_status") == "validating"}
    asked = "SELECT 1 FROM bug_record WHERE task_id = ? AND source = 'validator' LIMIT 1"
    approved = sum(connection.execute(asked, (task,)).fetchone() is None for task in validated)
    return approved, len(validated)


def _read(file: str, most: int, repeats: int) -> tuple[float, int, tuple[tuple[int, int], ...]]:
    """The reading of the default profile: milliseconds, queries, looks."""
    engine = sa.create_engine(f"sqlite:///{file}")
    asked: list[str] = []
    sa.event.listen(engine, "before_cursor_execute", lambda conn, cursor, statement, *rest: asked.append(statement))
    with closing(TablesSource(engine, file, "p", read_most=most)) as source:
        best, reading = _best(lambda: source.read(SERVING, CUTOVER + timedelta(days=2)), repeats)
    return best, len(asked) // repeats, reading.looks


def _fill(connection: sqlite3.Connection, tasks: int) -> None:
    """A day of tasks, eight events in ten naming another status than validating; one in ten is rejected."""
    rng = random.Random(SEED)
    create_tables(connection)
    events, complaints = [], []
    for number in range(tasks):
        task = f"task-{rng.getrandbits(48):012x}-{number}"
        at = CUTOVER + timedelta(seconds=number * 86_400 / tasks)
        rejected = rng.random() < 0.1
        statuses = (*STATUSES, "fixing" if rejected else "done")
        for step, (before, after) in enumerate(zip(("created", *statuses), statuses, strict=False)):
            payload = {"from_status": before, "to_status": after, "deployment_id": "deployment-2", "node": "worker-17"}
            events.append(("p", task, "task_status_changed", json.dumps(payload), _text(at, 20 * step)))
        if rejected:
            complaints.append((task, "validator", _text(at, 60)))
        if rng.random() < 0.2:
            complaints.append((task, "person", _text(at, 600)))
    events.sort(key=lambda event: event[-1])
    connection.executemany("INSERT INTO execution_event VALUES (?, ?, ?, ?, ?)", events)
    connection.executemany("INSERT INTO bug_record VALUES (?, ?, ?)", complaints)
    connection.commit()


def _text(at: datetime, seconds: int) -> str:
    return (at + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")


def _best(ask: Callable[[], Answer], repeats: int) -> tuple[float, Answer]:
    """The fewest milliseconds of some tries, and the answer."""
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        answer = ask()
        took.append(time.perf_counter() - began)
    return round(min(took) * 1000, 3), answer


def _queries(connection: sqlite3.Connection, ask: Callable[[], object]) -> int:
    asked: list[str] = []
    connection.set_trace_callback(asked.append)
    ask()
    connection.set_trace_callback(None)
    return len(asked)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=10_000)
    print(json.dumps(measure(parser.parse_args().tasks), indent=1))
