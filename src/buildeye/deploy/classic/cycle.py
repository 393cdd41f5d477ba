"""One pass of the seed's monitor: sample, store, judge; the pass ends at the first anomaly."""

import json
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Final

from buildeye.deploy.classic import checks
from buildeye.deploy.classic.approvals import count_approvals, moment_of, tasks_since
from buildeye.deploy.classic.decisions import (
    HTTP_FAILURES,
    LEAST_TASKS,
    RATE_DEVIATION,
    WINDOW_HOURS,
    Limits,
    Number,
    Signal,
    is_anomaly,
    no_baseline_signal,
    process_signal,
    rate_signal,
    status_after,
)
from buildeye.model.deployments import SignalKind, State

Look = Callable[[], Signal]
_STANDARD = Limits()


def run_monitor_cycle(
    conn: sqlite3.Connection,
    deployment_id: str,
    pid: int,
    port: int,
    project_id: str,
    baseline_validator_rate: Number | None,
    window_start_text: str,
    run_canary: bool = True,
    crash_window_samples: int | None = None,
    consecutive_http_fail_limit: int = HTTP_FAILURES,
    validator_threshold: Number = RATE_DEVIATION,
    min_task_count: int = LEAST_TASKS,
    window_hours: float = WINDOW_HOURS,
    now: Callable[[], float] = time.time,
    *,
    reap_if_exited: Callable[[int], bool] = checks.reap_if_exited,
    check_http_health: Callable[[int], Signal] = checks.check_http_health,
    check_canary_task: Callable[[int], Signal] = checks.check_canary_task,
) -> dict[str, object]:
    """One pass over a deployment, as the seed makes it: `{"status": ..., "latest_signal": ...}`.

    `window_start_text` is the cutover as SQLite writes it, `now` gives epoch seconds. A baseline may be the seed's
    float or an exact fraction; None is no failure. Each sample is committed before it is judged. The deployment's
    status is overwritten whatever it was, as the seed does. UsageError: `window_start_text` is no such time, found out
    after the samples are stored. OutsideError: an event of the application can not be read.
    """
    limits = Limits(
        crash_samples=_STANDARD.crash_samples if crash_window_samples is None else crash_window_samples,
        http_failures=consecutive_http_fail_limit,
        deviation=validator_threshold,
        least_tasks=min_task_count,
        window_hours=window_hours,
    )
    looks: dict[SignalKind, Look] = {
        SignalKind.PROCESS: lambda: process_signal(not reap_if_exited(pid)),
        SignalKind.HTTP: lambda: check_http_health(port),
        SignalKind.CANARY: lambda: check_canary_task(port),
        SignalKind.RATE: lambda: _rate(conn, project_id, baseline_validator_rate, window_start_text, limits),
    }
    if not run_canary:
        del looks[SignalKind.CANARY]
    latest, anomaly = _until_anomaly(conn, deployment_id, looks, limits)
    if anomaly:
        return _left(conn, deployment_id, State.ANOMALY_DETECTED, latest)
    elapsed_hours = (now() - moment_of(window_start_text).timestamp()) / 3600.0
    tasks = tasks_since(conn, project_id, window_start_text)
    return _left(conn, deployment_id, status_after(elapsed_hours, tasks, limits), latest)


def _rate(
    conn: sqlite3.Connection, project_id: str, baseline: Number | None, since_text: str, limits: Limits
) -> Signal:
    if baseline is None:
        return no_baseline_signal()
    return rate_signal(count_approvals(conn, project_id, since_text), baseline, limits.deviation)


def _until_anomaly(
    conn: sqlite3.Connection, deployment_id: str, looks: dict[SignalKind, Look], limits: Limits
) -> tuple[Signal, bool]:
    """Take and store sample after sample up to the first anomaly: the last one, and whether it is one."""
    latest: Signal = {}
    for kind, latest in _taken(looks):
        _store(conn, deployment_id, latest)
        if kind in (SignalKind.PROCESS, SignalKind.HTTP):
            statuses = _newest(conn, deployment_id, kind, limits.counted(kind))
        else:
            statuses = [latest["status"]]
        if is_anomaly(kind, statuses, limits):
            return latest, True
    return latest, False


def _taken(looks: dict[SignalKind, Look]) -> Iterator[tuple[SignalKind, Signal]]:
    return ((kind, look()) for kind, look in looks.items())


def _store(conn: sqlite3.Connection, deployment_id: str, signal: Signal) -> None:
    conn.execute(
        "INSERT INTO deploy_health_signal (signal_id, deployment_id, sampled_at, signal_type, status, detail)"
        " VALUES (?, ?, CURRENT_TIMESTAMP, ?, ?, ?)",
        (str(uuid.uuid4()), deployment_id, signal["signal_type"], signal["status"], signal["detail"]),
    )
    conn.commit()


def _newest(conn: sqlite3.Connection, deployment_id: str, kind: SignalKind, number: int) -> list[str]:
    """The statuses of a signal's newest samples; all of them for a number below 0."""
    rows = conn.execute(
        "SELECT status FROM deploy_health_signal WHERE deployment_id = ? AND signal_type = ?"
        " ORDER BY rowid DESC LIMIT ?",
        (deployment_id, kind.value, number),
    )
    return [status for (status,) in rows]


def _left(conn: sqlite3.Connection, deployment_id: str, status: State, latest: Signal) -> dict[str, object]:
    """Store where the pass leaves the deployment, and tell it."""
    reason = json.dumps(latest) if status is State.ANOMALY_DETECTED else None
    conn.execute(_LEAVING[status], {"reason": reason, "id": deployment_id})
    conn.commit()
    return {"status": status.value, "latest_signal": latest}


_LEAVING: Final = {
    State.ANOMALY_DETECTED: """
        UPDATE deployment SET status = 'anomaly_detected', rollback_reason = :reason WHERE deployment_id = :id
    """,
    State.MONITORING_WINDOW_CLEAN: """
        UPDATE deployment SET status = 'monitoring_window_clean', monitoring_closed_at = CURRENT_TIMESTAMP
        WHERE deployment_id = :id
    """,
    State.MONITORING: "UPDATE deployment SET status = 'monitoring' WHERE deployment_id = :id",
}
