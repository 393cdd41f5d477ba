"""The seed's monitor once more, for comparison: lists and loops, written from the specification, sharing no code.

Rates are pairs of integers and limits are hundredths, so nothing is rounded where something is compared.
"""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

Signal = dict[str, str | None]
Rate = tuple[int, int]


@dataclass
class World:
    """All rows of the seed's tables: events, bug records, tasks, stored signals, and one deployment."""

    events: list[tuple[str | None, str | None, str, str, str | None]] = field(default_factory=list)
    """project, task, type, payload, time"""
    bugs: list[tuple[str | None, str | None]] = field(default_factory=list)
    """task, source"""
    tasks: list[tuple[str | None, str | None]] = field(default_factory=list)
    """project, time"""
    signals: list[tuple[str, str | None, str | None, str | None]] = field(default_factory=list)
    """deployment, type, status, detail"""
    status: str = "monitoring"
    rollback_reason: str | None = None
    closed: bool = False


@dataclass
class Pass:
    """What one pass is given; `deviation` in hundredths, `baseline` as (approved, tasks)."""

    deployment: str
    project: str
    start: str
    alive: bool
    http: Signal
    canary: Signal
    run_canary: bool
    baseline: Rate | None
    deviation: int
    crash_samples: int | None
    http_failures: int
    least_tasks: int
    hours: float
    now: float


def rate_between(world: World, project: str, since: str, until: str | None) -> Rate | None:
    validated = []
    for of_project, task, kind, payload, at in world.events:
        if of_project != project or kind != "task_status_changed" or at is None or at < since:
            continue
        if until is not None and at >= until:
            continue
        if json.loads(payload).get("to_status") == "validating" and task not in validated:
            validated.append(task)
    rejected = [task for task in validated if task is not None and (task, "validator") in world.bugs]
    return (len(validated) - len(rejected), len(validated)) if validated else None


def one_pass(world: World, given: Pass) -> tuple[str, Signal]:
    """What the pass answers: status and latest signal; `world` is changed as the tables would be."""
    world_rows = world.signals

    def stored(kind: str) -> list[str | None]:
        return [row[2] for row in world_rows[::-1] if row[0] == given.deployment and row[1] == kind]

    def keep(signal: Signal) -> None:
        world_rows.append((given.deployment, signal["signal_type"], signal["status"], signal["detail"]))

    def anomaly(signal: Signal) -> tuple[str, Signal]:
        world.status = "anomaly_detected"
        world.rollback_reason = json.dumps(signal)
        return world.status, signal

    latest: Signal = {"signal_type": "process_alive", "status": "ok" if given.alive else "fail", "detail": None}
    keep(latest)
    crash_samples = 2 if given.crash_samples is None else given.crash_samples
    looked_at = stored("process_alive")
    if crash_samples >= 0:
        looked_at = looked_at[:crash_samples]
    if len([status for status in looked_at if status == "fail"]) >= 2:
        return anomaly(latest)

    latest = given.http
    keep(latest)
    looked_at = stored("http_health")
    if given.http_failures >= 0:
        looked_at = looked_at[: given.http_failures]
    if len(looked_at) >= given.http_failures and not [status for status in looked_at if status != "fail"]:
        return anomaly(latest)

    if given.run_canary:
        latest = given.canary
        keep(latest)
        if latest["status"] == "fail":
            return anomaly(latest)

    latest = rate_signal(world, given)
    keep(latest)
    if latest["status"] == "fail":
        return anomaly(latest)

    began = datetime.strptime(given.start, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()
    created = [at for project, at in world.tasks if project == given.project and at is not None and at >= given.start]
    if (given.now - began) / 3600.0 >= given.hours or len(created) >= given.least_tasks:
        world.status = "monitoring_window_clean"
        world.closed = True
    else:
        world.status = "monitoring"
    return world.status, latest


def rate_signal(world: World, given: Pass) -> Signal:
    def said(status: str, detail: str) -> Signal:
        return {"signal_type": "validator_approval_rate", "status": status, "detail": detail}

    if given.baseline is None:
        return said("ok", "no baseline yet -- insufficient history to judge deviation")
    found = rate_between(world, given.project, given.start, None)
    if found is None:
        return said("ok", "no validated tasks in window yet")
    (approved, tasks), (good, total) = found, given.baseline
    beyond = 100 * abs(approved * total - good * tasks) > given.deviation * tasks * total
    rate, before = approved / tasks, good / total
    text = f"rate={rate:.2f} n={tasks} baseline={before:.2f} deviation={abs(rate - before):.2f}"
    return said("fail" if beyond else "ok", text)
