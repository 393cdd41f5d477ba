"""What would make each signal fail, said from the `deploy.yaml` a deployment was made with."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from buildeye.deploy.spec import ServiceSpec
from buildeye.model.deployments import SignalKind
from buildeye.model.spans import lasting


def limit_text(signal: SignalKind, spec: Mapping[str, object], profile: str = "default") -> str:
    """When `signal` fails, in a sentence without an end; `spec` is `Deployment.spec`."""
    match signal:
        case SignalKind.PROCESS:
            return _process(_section(spec, "process"), profile)
        case SignalKind.HTTP:
            return _http(_section(spec, "health"), profile)
        case SignalKind.CANARY:
            return _canary(_section(spec, "canary"), profile)
        case SignalKind.RATE:
            return _rate(_section(spec, "rate"), profile)


def _process(given: Mapping[str, Any], profile: str) -> str:
    if profile == "classic":
        return "2 of the last 2 looks, 5 min apart, find it dead"
    window, slow = lasting(given["window_seconds"]), lasting(given["slow_hours"] * 3600)
    return f"{given['exits']} exits within {window}, or {given['slow_exits']} within {slow}"


def _http(given: Mapping[str, Any], profile: str) -> str:
    if profile == "classic":
        return "3 checks in a row fail"
    row = f"{given['failures']} checks in a row fail ({lasting(given['retry_seconds'])} apart after the first failure)"
    share = f"{given['window_share'] * 100:g} % of at least {given['window_probes']}"
    return f"{row}, or {share} within {lasting(given['window_minutes'] * 60)}"


def _canary(given: Mapping[str, Any], profile: str) -> str:
    if profile == "classic":
        return "one task fails"
    again = lasting(given["confirm_seconds"])
    return f"a task fails, fails again after {again}, and passes on the previous version"


def _rate(given: Mapping[str, Any], profile: str) -> str:
    if profile == "classic":
        return "it is more than 30 points off the baseline, up or down"
    if given["source"] == "none":
        return "never: deploy.yaml names no source of verdicts"
    margin = f"{given['margin'] * 100:g} points below the baseline"
    return f"it crosses its boundary within {given['tasks']} judged tasks, and is at least {margin}"


def _section(spec: Mapping[str, object], name: str) -> Mapping[str, Any]:
    given = spec.get(name)
    return {**_defaults()[name], **(given if isinstance(given, Mapping) else {})}


@cache
def _defaults() -> Mapping[str, Any]:
    """What holds where a stored `deploy.yaml` says nothing."""
    return ServiceSpec().model_dump(mode="json")
