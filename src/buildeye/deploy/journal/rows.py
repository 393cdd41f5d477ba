"""Values as the rows of the journal hold them, and back.

Wall time is text in UTC, `2026-12-01 11:05:00.123`: it sorts, also among what SQLite's CURRENT_TIMESTAMP writes.
Read are that, SQLite's form without a fraction, and ISO 8601 with T and Z or an offset.
"""

import json
import math
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sa

from buildeye.model.deployments import (
    Baseline,
    DeployEvent,
    Deployment,
    HealthSample,
    Moment,
    ProcessRun,
    SignalKind,
    SignalStatus,
    State,
)

Row = sa.Row[Any]
_OURS: Final = uuid.UUID("0f9b1c52-7f3c-4a58-9b5f-6d6f1f0a7c11")  # names ids that follow from what a row says


def wall_text(wall: datetime) -> str:
    """A time as the journal writes it: UTC, to the millisecond."""
    return wall.astimezone(UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")


def wall_of(text: str) -> datetime:
    """A time as it was written, by us or by the seed's statements; without an offset it is UTC."""
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def moment_row(name: str, moment: Moment | None, wall: str = "") -> dict[str, object]:
    """The three columns of a moment."""
    at, boot, ticks = (wall_text(moment.wall), moment.boot, moment.ticks) if moment else (None, "", 0.0)
    return {wall or f"{name}_at": at, f"{name}_boot": boot, f"{name}_ticks": ticks}


def moment_of(row: Row, name: str, wall: str = "") -> Moment | None:
    """The moment in three columns; None where none is."""
    text = getattr(row, wall or f"{name}_at")
    if not text:
        return None
    return Moment(wall_of(text), getattr(row, f"{name}_boot"), getattr(row, f"{name}_ticks"))


def json_text(value: object) -> str:
    """JSON as both databases take it: a number that is none, and infinity, are null; other values are texts."""
    try:
        return json.dumps(value, allow_nan=False, default=str)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, default=str)


def _finite(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_finite(inner) for inner in value]
        case _:
            return value


def told(moment: Moment | None) -> Moment:
    """A moment that a row must have; the beginning of time where a stranger wrote none."""
    return moment or Moment(datetime.fromtimestamp(0, UTC), "", 0.0)


def derived_id(*parts: object) -> str:
    """An id that follows from what it names, so that writing the same again has no effect."""
    named = "\x1f".join(map(str, parts)).encode("utf-8", "backslashreplace").decode()
    return str(uuid.uuid5(_OURS, named))


def deployment_row(deployment: Deployment) -> dict[str, object]:
    """All columns of a deployment but its number."""
    return {
        "deployment_id": deployment.id,
        "service": deployment.service,
        "status": deployment.state.value,
        "epoch": deployment.epoch,
        **moment_row("created", deployment.created),
        **amended_columns({name: getattr(deployment, name) for name in _AMENDED}),
    }


def deployment_of(row: Row) -> Deployment:
    """A deployment as its row says."""
    baseline = None
    if row.baseline_total is not None:
        baseline = Baseline(row.baseline_good or 0, row.baseline_total, row.baseline_ids)
    return Deployment(
        id=row.deployment_id,
        service=row.service,
        version=row.version,
        state=State(row.status),
        epoch=row.epoch,
        created=told(moment_of(row, "created")),
        commit=row.commit_sha,
        repository=row.repository,
        profile=row.profile,
        kind=row.kind,
        spec=row.spec,
        previous=row.previous,
        slot=row.slot,
        baseline=baseline,
        cutover=moment_of(row, "cutover"),
        closed=moment_of(row, "closed", "monitoring_closed_at"),
        rollback_reason=row.rollback_reason or "",
        note=row.note,
        paused=row.paused,
        forced=row.forced,
        by=row.requested_by,
    )


_RENAMED: Final = {"commit": "commit_sha", "by": "requested_by"}
_AMENDED: Final = (
    "version", "commit", "repository", "profile", "kind", "spec", "previous", "slot", "baseline", "cutover", "closed",
    "rollback_reason", "note", "paused", "forced", "by",
)  # fmt: skip
"""Fields of a deployment that may change beside its state."""


def amended_columns(fields: Mapping[str, object]) -> dict[str, object]:
    """Fields of a Deployment by name as columns. TypeError: a name that is none of them, or a value of a wrong kind."""
    columns: dict[str, object] = {}
    for name, value in fields.items():
        if name not in _AMENDED:
            raise TypeError(f"{name} of a deployment cannot be changed")
        match name, value:
            case "baseline", Baseline() | None:
                columns["baseline_good"] = value.good if value else None
                columns["baseline_total"] = value.total if value else None
                columns["baseline_ids"] = value.ids if value else ""
            case "cutover", Moment() | None:
                columns |= moment_row("cutover", value)
            case "closed", Moment() | None:
                columns |= moment_row("closed", value, "monitoring_closed_at")
            case "spec", Mapping():
                columns["spec"] = dict(value)
            case (("baseline" | "cutover" | "closed" | "spec"), _):
                raise TypeError(f"{name} of a deployment cannot be {value!r}")
            case _:
                columns[_RENAMED.get(name, name)] = value
    return columns


def event_row(event: DeployEvent, event_id: str) -> dict[str, object]:
    """All columns of an event but its seq."""
    return {
        "event_id": event_id,
        "deployment_id": event.deployment_id,
        "event": event.event,
        "state_before": event.before.value,
        "state_after": event.after.value,
        "epoch": event.epoch,
        **moment_row("happened", event.at),
        "reason": event.reason,
        "numbers": dict(event.numbers),
        "done_by": event.by,
    }


def event_of(row: Row) -> DeployEvent:
    """An event as its row says."""
    return DeployEvent(
        deployment_id=row.deployment_id,
        event=row.event,
        before=State(row.state_before),
        after=State(row.state_after),
        epoch=row.epoch,
        at=told(moment_of(row, "happened")),
        reason=row.reason,
        numbers=row.numbers,
        by=row.done_by,
        seq=row.seq,
    )


def sample_row(sample: HealthSample, repeat: int = 0) -> dict[str, object]:
    """All columns of a sample but its seq; `repeat` counts samples of one batch that are alike in everything."""
    at = sample.at
    said = (sample.deployment_id, sample.signal, at.boot, repr(at.ticks), wall_text(at.wall), sample.status)
    return {
        "signal_id": derived_id(*said, sample.detail, sorted(map(str, sample.numbers.items())), repeat),
        "deployment_id": sample.deployment_id,
        **moment_row("sampled", at),
        "signal_type": sample.signal.value,
        "status": sample.status.value,
        "detail": sample.detail,
        "numbers": dict(sample.numbers),
    }


def sample_of(row: Row) -> HealthSample:
    """A sample as its row says."""
    return HealthSample(
        deployment_id=row.deployment_id,
        signal=SignalKind(row.signal_type),
        status=SignalStatus(row.status),
        at=told(moment_of(row, "sampled")),
        detail=row.detail or "",
        numbers=row.numbers,
        seq=row.seq,
    )


def run_of(row: Row) -> ProcessRun:
    """A run of a process as its row says."""
    return ProcessRun(
        deployment_id=row.deployment_id,
        number=row.number,
        nonce=row.nonce,
        boot=row.boot,
        pid=row.pid,
        start_time=row.start_time,
        keeper_pid=row.keeper_pid,
        keeper_start_time=row.keeper_start_time,
        started=moment_of(row, "started"),
        ended=moment_of(row, "ended"),
        exit_code=row.exit_code,
        expected=row.expected,
    )
