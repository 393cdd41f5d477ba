"""The profile `classic` decides as the seed's text says, sample for sample, and stores the same rows."""

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from buildeye.deploy.classic import (
    Approvals,
    Limits,
    compute_baseline_validator_approval_rate,
    compute_validator_approval_rate,
    decide,
    rate_signal,
    run_monitor_cycle,
)
from buildeye.deploy.classic.checks import check_canary_task, check_http_health, reap_if_exited
from buildeye.deploy.classic.decisions import exact
from buildeye.deploy.classic.tables import create_tables
from buildeye.model import OutsideError, UsageError
from buildeye.model.deployments import SignalKind, State

from .seed_oracle import Pass, Rate, Signal, World, one_pass, rate_between

CUTOVER = datetime(2026, 5, 28, 6, 30, tzinfo=UTC)
START = f"{CUTOVER:%Y-%m-%d %H:%M:%S}"
OK = {"signal_type": "http_health", "status": "ok", "detail": "status 200"}
CANARY = {"signal_type": "canary_task", "status": "ok", "detail": None}
BASELINES = [None, (9, 10), (9, 10), (45, 50), (8, 10), (7, 10), (1, 2), (1, 3), (2, 3), (0, 5), (199, 200), (1, 1)]
PAYLOADS = [
    *['{"from_status": "running", "to_status": "validating"}'] * 6,
    r'{"to_status": "\u0076alidating"}',
    '{"from_status": "validating", "to_status": "done"}',
    '{"to_status": null, "note": "validating"}',
    '{"to_status": ["validating"]}',
    '{"nested": {"to_status": "validating"}}',
    '{"to_status": "running"}',
    "{}",
]


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(connection)
        yield connection


def add_deployment(conn: sqlite3.Connection, name: str) -> None:
    conn.execute("INSERT INTO deployment VALUES (?, 'monitoring', NULL, ?, NULL)", (name, START))


@cache
def text_at(seconds: float, iso: bool = False) -> str:
    return (CUTOVER + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ" if iso else "%Y-%m-%d %H:%M:%S")


class Trace:
    """One deployment with a random past and a few random passes, told to the tables and to the oracle alike."""

    def __init__(self, rng: random.Random, conn: sqlite3.Connection, name: str) -> None:
        self.rng, self.conn = rng, conn
        self.deployment, self.project = f"deployment-{name}", f"project-{name}"
        self.known = [f"task-{name}-{number}" for number in range(rng.choice([1, 3, 10, 14]))]
        self.world = World()
        self.limits: dict[str, Any] = {
            "crash_window_samples": rng.choice([None, None, 0, 1, 2, 3, 5, -1]),
            "consecutive_http_fail_limit": rng.choice([3, 3, 1, 2, 4, 0, -1]),
            "min_task_count": rng.choice([10, 10, 3, 1, 0]),
            "window_hours": rng.choice([24, 24, 1, 0.5]),
        }
        self.deviation = rng.choice([30, 30, 30, 10, 50, 5, 0])
        add_deployment(conn, self.deployment)

    def at(self) -> str | None:
        rng = self.rng
        if rng.random() < 0.03:
            return None
        seconds = rng.choice([0, -1, 1, -86_400, -86_401, rng.randrange(-90_000, 90_000, 250)])
        return text_at(seconds, iso=rng.random() < 0.1)

    def task(self) -> str | None:
        return self.rng.choice(self.known) if self.rng.random() < 0.97 else None

    def happen(self) -> None:
        """A few more events, bug records and tasks."""
        rng, world = self.rng, self.world
        for _ in range(rng.choice([0, 1, 5, 12])):
            event = (
                self.project if rng.random() < 0.9 else "another",
                self.task(),
                "task_status_changed" if rng.random() < 0.9 else "task_created",
                rng.choice(PAYLOADS),
                self.at(),
            )
            world.events.append(event)
            self.conn.execute("INSERT INTO execution_event VALUES (?, ?, ?, ?, ?)", event)
        for _ in range(rng.choice([0, 0, 1, 4])):
            bug = (self.task(), rng.choice(["validator", "validator", "person", "Validator", None]))
            world.bugs.append(bug)
            self.conn.execute("INSERT INTO bug_record (task_id, source) VALUES (?, ?)", bug)
        for _ in range(rng.choice([0, 0, 0, 1, 4, 10])):
            task = (self.project if rng.random() < 0.9 else "another", self.at())
            world.tasks.append(task)
            row = (uuid.UUID(int=rng.getrandbits(128)).hex, *task)
            self.conn.execute("INSERT INTO task (task_id, project_id, created_at) VALUES (?, ?, ?)", row)

    def baseline(self) -> Rate | None:
        if self.rng.random() < 0.7:
            return self.rng.choice(BASELINES)
        expected = rate_between(self.world, self.project, text_at(-86_400), START)
        found = compute_baseline_validator_approval_rate(self.conn, self.project, START)
        assert found == (None if expected is None else (expected[0] / expected[1], expected[1]))
        return expected

    def passed(self) -> Pass:
        """One pass by both; their answers are compared. Gives what it was given."""
        rng = self.rng
        self.happen()
        http: Signal = {
            "signal_type": "http_health",
            "status": rng.choice(["ok", "fail", "fail", "error"]),
            "detail": rng.choice([None, "status 503", "naïve"]),
        }
        canary: Signal = {
            "signal_type": "canary_task",
            "status": "fail" if rng.random() < 0.15 else rng.choice(["ok", "error"]),
            "detail": rng.choice([None, "two tasks"]),
        }
        given = Pass(
            deployment=self.deployment,
            project=self.project,
            start=START,
            alive=rng.random() < 0.7,
            http=http,
            canary=canary,
            run_canary=rng.random() < 0.6,
            baseline=self.baseline(),
            deviation=self.deviation,
            crash_samples=self.limits["crash_window_samples"],
            http_failures=self.limits["consecutive_http_fail_limit"],
            least_tasks=self.limits["min_task_count"],
            hours=self.limits["window_hours"],
            now=CUTOVER.timestamp() + rng.choice([0, 1_800, 3_599.5, 3_600, 86_399, 86_400, rng.uniform(-10, 90_000)]),
        )
        answer = run_monitor_cycle(
            self.conn,
            self.deployment,
            1,
            2,
            self.project,
            self.said(given.baseline),
            START,
            run_canary=given.run_canary,
            validator_threshold=self.said((given.deviation, 100)) or 0,
            now=lambda: given.now,
            reap_if_exited=lambda pid: not given.alive,
            check_http_health=lambda port: dict(http),
            check_canary_task=lambda port: dict(canary),
            **self.limits,
        )
        status, latest = one_pass(self.world, given)
        assert answer == {"status": status, "latest_signal": latest}, given
        return given

    def said(self, rate: Rate | None) -> float | Fraction | None:
        """A baseline as the seed has it, or exactly."""
        if rate is None:
            return None
        return rate[0] / rate[1] if self.rng.random() < 0.5 else Fraction(*rate)

    def compare(self) -> None:
        """The rows that both left behind are the same."""
        rows = self.conn.execute(
            "SELECT deployment_id, signal_type, status, detail FROM deploy_health_signal WHERE deployment_id = ?"
            " ORDER BY rowid",
            (self.deployment,),
        ).fetchall()
        assert rows == self.world.signals
        left = self.conn.execute(
            "SELECT status, rollback_reason, cutover_at, monitoring_closed_at IS NOT NULL FROM deployment"
            " WHERE deployment_id = ?",
            (self.deployment,),
        ).fetchone()
        assert left == (self.world.status, self.world.rollback_reason, START, self.world.closed)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_ten_thousand_random_traces_leave_the_same_answers_and_rows_as_the_seeds_text(
    conn: sqlite3.Connection, seed: int
) -> None:
    """Scenario 5 is among them, as the seed decides it: tasks that were only created close the window clean."""
    rng = random.Random(seed)
    on_the_line, ends = 0, set()
    for number in range(2_500):
        trace = Trace(rng, conn, f"{seed}-{number}")
        for _ in range(rng.choice([1, 1, 2, 4])):
            given = trace.passed()
            found = rate_between(trace.world, trace.project, START, None)
            if found and given.baseline:
                distance = abs(Fraction(*found) - Fraction(*given.baseline))
                on_the_line += distance == Fraction(given.deviation, 100)
        trace.compare()
        ends.add((trace.world.status, json.loads(trace.world.rollback_reason or "{}").get("signal_type")))
    assert on_the_line > 50
    assert {kind for _, kind in ends} == {None, *SignalKind}
    assert {status for status, _ in ends} == {"monitoring", "monitoring_window_clean", "anomaly_detected"}


def validate(conn: sqlite3.Connection, task: str, rejected: bool = False, at: str = START) -> None:
    row = ("p", task, "task_status_changed", '{"to_status": "validating"}', at)
    conn.execute("INSERT INTO execution_event VALUES (?, ?, ?, ?, ?)", row)
    if rejected:
        conn.execute("INSERT INTO bug_record VALUES (?, 'validator', ?)", (task, at))


def cycle(conn: sqlite3.Connection, baseline: float | Fraction | None = None, **given: Any) -> dict[str, Any]:
    looks: dict[str, Any] = {
        "reap_if_exited": lambda pid: False,
        "check_http_health": lambda port: dict(OK),
        "check_canary_task": lambda port: dict(CANARY),
        "now": CUTOVER.timestamp,
    }
    return run_monitor_cycle(conn, "d", 1, 2, "p", baseline, START, **(looks | given))


@pytest.mark.parametrize(
    ("before", "rejected", "tasks", "deviation", "status"),
    [
        (9 / 10, 4, 10, 0.30, "ok"),
        (Fraction(9, 10), 4, 10, Fraction(3, 10), "ok"),
        (45 / 50, 2, 5, 0.30, "ok"),
        (8 / 10, 5, 10, 0.30, "ok"),
        (7 / 10, 0, 10, 0.30, "ok"),
        (9 / 10, 5, 10, 0.30, "fail"),
        (9 / 10, 401, 1_000, 0.30, "fail"),
        (9 / 10, 400, 1_000, 0.30, "ok"),
        (1 / 3, 0, 1, 2 / 3, "ok"),
        (1 / 3, 0, 1, 0.6666, "fail"),
        (0.0, 0, 1, 0.30, "fail"),
    ],
)  # fmt: skip
def test_exactly_thirty_points_are_not_beyond_thirty_points(
    before: float | Fraction, rejected: int, tasks: int, deviation: float | Fraction, status: str
) -> None:
    """Scenario 2. The floats of the first line say 0.30000000000000004."""
    assert rate_signal(Approvals(tasks - rejected, tasks), before, deviation)["status"] == status


@pytest.mark.parametrize(
    ("number", "fraction"),
    [
        (0.9, Fraction(9, 10)),
        (2 / 3, Fraction(2, 3)),
        (123_457 / 999_983, Fraction(123_457, 999_983)),
        (0.123456789, Fraction(123456789, 10**9)),
        (1, Fraction(1)),
        (Fraction(1, 3), Fraction(1, 3)),
        (float("inf"), float("inf")),
    ],
)
def test_a_float_is_taken_for_the_fraction_it_was_made_from(number: float, fraction: Fraction | float) -> None:
    assert exact(number) == fraction


def test_a_late_pass_overwrites_an_anomaly(conn: sqlite3.Connection) -> None:
    add_deployment(conn, "d")
    assert cycle(conn, check_canary_task=lambda port: CANARY | {"status": "fail"})["status"] == "anomaly_detected"
    assert cycle(conn)["status"] == "monitoring"
    (left,) = conn.execute("SELECT status, rollback_reason FROM deployment").fetchall()
    assert left == ("monitoring", json.dumps(CANARY | {"status": "fail"}))


def test_a_quiet_day_closes_clean(conn: sqlite3.Connection) -> None:
    add_deployment(conn, "d")
    assert cycle(conn, now=lambda: CUTOVER.timestamp() + 86_399)["status"] == "monitoring"
    assert cycle(conn, now=lambda: CUTOVER.timestamp() + 86_400)["status"] == "monitoring_window_clean"


def test_samples_after_an_anomaly_are_not_taken(conn: sqlite3.Connection) -> None:
    add_deployment(conn, "d")
    for _ in range(2):
        answer = cycle(conn, reap_if_exited=lambda pid: True)
    assert answer["status"] == "anomaly_detected"
    taken = [kind for (kind,) in conn.execute("SELECT signal_type FROM deploy_health_signal ORDER BY rowid")]
    assert taken == ["process_alive", "http_health", "canary_task", "validator_approval_rate", "process_alive"]


def test_a_sample_is_on_disk_before_the_next_one_is_taken(tmp_path: Any) -> None:
    seen: list[int] = []
    with closing(sqlite3.connect(tmp_path / "seed.sqlite")) as conn:
        create_tables(conn)

        def looked(port: int) -> Signal:
            with closing(sqlite3.connect(tmp_path / "seed.sqlite")) as other:
                seen.append(other.execute("SELECT count(*) FROM deploy_health_signal").fetchone()[0])
            return dict(OK)

        cycle(conn, check_http_health=looked, check_canary_task=looked)
    assert seen == [1, 2]


def test_a_table_with_more_columns_that_have_defaults_will_do(conn: sqlite3.Connection) -> None:
    conn.executescript(
        """
        DROP TABLE deployment; DROP TABLE deploy_health_signal;
        CREATE TABLE deployment (deployment_id TEXT PRIMARY KEY, service TEXT NOT NULL, status TEXT NOT NULL,
            rollback_reason TEXT NOT NULL DEFAULT '', cutover_at TEXT, monitoring_closed_at TEXT,
            epoch INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE deploy_health_signal (seq INTEGER PRIMARY KEY, signal_id TEXT NOT NULL, deployment_id TEXT,
            sampled_at TEXT, signal_type TEXT, status TEXT, detail TEXT, ticks REAL NOT NULL DEFAULT 0);
        INSERT INTO deployment (deployment_id, service, status) VALUES ('d', 'web', 'monitoring');
        """
    )
    for _ in range(3):
        answer = cycle(conn, check_http_health=lambda port: OK | {"status": "fail"})
    assert answer["status"] == "anomaly_detected"
    for signal_id, sampled_at in conn.execute("SELECT signal_id, sampled_at FROM deploy_health_signal"):
        assert uuid.UUID(signal_id).version == 4
        assert datetime.strptime(sampled_at, "%Y-%m-%d %H:%M:%S")


def test_one_whole_pass_can_be_decided_without_tables() -> None:
    samples = [(SignalKind.PROCESS, {"signal_type": "process_alive", "status": "fail", "detail": None})]
    limits, ok = Limits(), [(SignalKind.HTTP, dict(OK))]
    assert decide({}, samples + ok, 0, 0, limits).status is State.MONITORING
    died = decide({SignalKind.PROCESS: ["fail"]}, samples + ok, 0, 0, limits)
    assert (died.status, died.taken) == (State.ANOMALY_DETECTED, (samples[0][1],))
    assert decide({SignalKind.PROCESS: ["ok", "fail"]}, samples + ok, 0, 10, limits).latest == OK


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ('{"to_status": "validating", "seconds": NaN}', (1.0, 1)),
        (b'{"to_status": "validating"}', (1.0, 1)),
        ("[]", None),
        (None, None),
    ],
)
def test_a_payload_that_only_python_reads_is_read(conn: sqlite3.Connection, payload: Any, expected: Any) -> None:
    conn.execute("INSERT INTO execution_event VALUES ('p', 't', 'task_status_changed', ?, ?)", (payload, START))
    assert compute_validator_approval_rate(conn, "p", START) == expected


def test_what_stopped_the_seed_with_a_traceback_is_one_sentence(conn: sqlite3.Connection) -> None:
    """Scenario 29."""
    broken = '{"to_status": "validating"'
    conn.execute("INSERT INTO execution_event VALUES ('p', 't', 'task_status_changed', ?, ?)", (broken, START))
    with pytest.raises(OutsideError, match="execution_event of task t has a payload that is not JSON"):
        cycle(conn, 0.9)
    with pytest.raises(UsageError, match="'2026-05-28T06:30:00Z' is no time that the classic profile reads"):
        compute_baseline_validator_approval_rate(conn, "p", "2026-05-28T06:30:00Z")


def test_a_judgement_over_many_tasks_is_one_query(conn: sqlite3.Connection) -> None:
    for number in range(500):
        validate(conn, f"t{number}", rejected=number % 10 == 0)
        validate(conn, f"t{number}", at=text_at(60))
    asked: list[str] = []
    conn.set_trace_callback(asked.append)
    assert compute_validator_approval_rate(conn, "p", START) == (0.9, 500)
    assert len(asked) == 1


def test_a_process_is_dead_when_it_ended_reaped_or_not() -> None:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert not reap_if_exited(child.pid)
        child.stdin.close()
        ends = time.monotonic() + 20
        while not reap_if_exited(child.pid):
            assert time.monotonic() < ends
            time.sleep(0.01)
        assert reap_if_exited(child.pid)
    assert not reap_if_exited(1)
    assert reap_if_exited(0) and reap_if_exited(-1)


def test_a_strangers_zombie_is_dead() -> None:
    """Scenario 16, as far as a number alone can tell."""
    program = "import subprocess, sys; print(subprocess.Popen(['true']).pid, flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        zombie = int(parent.stdout.readline())
        ends = time.monotonic() + 20
        while not reap_if_exited(zombie):
            assert time.monotonic() < ends
            time.sleep(0.01)
        parent.stdin.close()


@contextmanager
def answering(status: int, dribble: bool = False) -> Iterator[int]:
    """A server on a free port that answers all requests alike; with `dribble` its body never ends."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.send_header("content-length", "1000000" if dribble else "0")
            self.end_headers()
            while dribble and not over.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            over.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "expected"), [(200, "ok"), (204, "ok"), (301, "fail"), (404, "fail"), (503, "fail")]
)
def test_any_2xx_is_healthy_and_redirects_are_not(status: int, expected: str) -> None:
    """Scenario 32."""
    with answering(status) as port:
        for look, kind in ((check_http_health, "http_health"), (check_canary_task, "canary_task")):
            assert look(port) == {"signal_type": kind, "status": expected, "detail": f"status {status}"}


def test_a_body_that_drips_is_cut_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scenario 32."""
    monkeypatch.setattr("buildeye.deploy.classic.checks.HEALTH_SECONDS", 0.3)
    with answering(200, dribble=True) as port:
        assert check_http_health(port)["detail"] == "no whole answer within 0.3 s"


def test_a_port_where_nobody_listens_is_a_failure() -> None:
    with answering(200) as port:
        pass
    answer = check_http_health(port)
    assert answer["status"] == "fail" and answer["detail"]
