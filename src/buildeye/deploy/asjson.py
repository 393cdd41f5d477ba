"""Deployments as JSON: the same facts as on a terminal, under names that stay."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from buildeye.deploy.explain import limit_text, rejections_left
from buildeye.deploy.standing import PastDeployment, SignalStanding, Standing
from buildeye.logs.secrets import mask
from buildeye.model.boundary import RateBoundary
from buildeye.model.deployments import DeployEvent, Deployment, Moment


def status_json(standing: Standing) -> dict[str, Any]:
    """A deployment as it stands, for `status` and `explain`; durations are seconds, moments ISO 8601 in UTC or null."""
    deployment = standing.deployment
    return {
        **deployment_json(deployment),
        "elapsed_seconds": standing.elapsed,
        "window_seconds": standing.window,
        "deadline_seconds": standing.deadline,
        "previous": {"version": standing.previous_version, "warm": standing.previous_warm},
        "signals": [_signal(each, deployment) for each in standing.signals],
        "clean_when": [{"says": each.says, "met": each.met} for each in standing.conditions],
        "boundary": _boundary(standing.boundary) if standing.boundary else None,
        "process": {"pid": standing.process.pid, "up_seconds": standing.process.up, "exits": standing.process.exits},
        "next_look_seconds": standing.next_look,
        "ci": {"green": standing.ci_green, "says": standing.ci},
        "supervisor": standing.supervisor,
        "report": standing.report,
        "stopped": standing.stopped,
        "warnings": [mask(each) for each in standing.warnings],
    }


def services_json(standings: Sequence[Standing]) -> list[dict[str, Any]]:
    """All services, for `status` without one."""
    return [status_json(each) for each in standings]


def history_json(past: Sequence[PastDeployment]) -> list[dict[str, Any]]:
    """Past deployments, newest first."""
    return [
        {
            **deployment_json(each.deployment),
            "lasted_seconds": each.lasted,
            "ci": {"green": each.ci_green, "says": each.ci},
            "overruled": list(each.overruled),
            "report": each.report,
        }
        for each in past
    ]


def event_json(event: DeployEvent, deployment: Deployment) -> dict[str, Any]:
    """One step of a deployment, as a line of `start` and `watch`."""
    return {
        "at": _moment(event.at),
        "service": deployment.service,
        "version": deployment.version,
        "deployment_id": event.deployment_id,
        "seq": event.seq,
        "event": event.event,
        "before": event.before.value,
        "state": event.after.value,
        "epoch": event.epoch,
        "reason": mask(event.reason),
        "numbers": _numbers(event.numbers),
        "by": event.by,
    }


def deployment_json(deployment: Deployment) -> dict[str, Any]:
    """What the journal keeps of a deployment, without its `deploy.yaml`."""
    baseline = deployment.baseline
    return {
        "service": deployment.service,
        "version": deployment.version,
        "deployment_id": deployment.id,
        "state": deployment.state.value,
        "epoch": deployment.epoch,
        "commit": deployment.commit,
        "repository": deployment.repository,
        "profile": deployment.profile,
        "kind": deployment.kind,
        "paused": deployment.paused,
        "forced": deployment.forced,
        "by": deployment.by,
        "created": _moment(deployment.created),
        "cutover": _moment(deployment.cutover),
        "closed": _moment(deployment.closed),
        "baseline": {"good": baseline.good, "total": baseline.total} if baseline else None,
        "rollback_reason": mask(deployment.rollback_reason),
        "note": mask(deployment.note),
    }


def _signal(each: SignalStanding, deployment: Deployment) -> dict[str, Any]:
    return {
        "signal": each.signal.value,
        "status": each.status.value,
        "reason": each.reason,
        "says": mask(each.says),
        "numbers": _numbers(each.numbers),
        "fails_when": each.fails_when or limit_text(each.signal, deployment.spec, deployment.profile),
        "needs": each.needs,
        "next_look_seconds": each.next_look,
    }


def _boundary(boundary: RateBoundary) -> dict[str, Any]:
    return {
        "fails": [{"judged": n, "approved_at_most": most} for n, most in boundary.fails],
        "approved": boundary.good,
        "judged": boundary.judged,
        "p_value": boundary.p_value,
        "alpha": boundary.alpha,
        "rejections_left": rejections_left(boundary),
    }


def _numbers(numbers: Mapping[str, object]) -> dict[str, Any]:
    """Numbers of a judge as JSON holds them; what JSON does not know becomes text, and text loses its secrets."""
    return {str(key): _value(value) for key, value in numbers.items()}


def _value(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return _numbers(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(each) for each in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    return mask(str(value))


def _moment(moment: Moment | None) -> str | None:
    return moment.wall.isoformat() if moment else None
