"""The limits of a service's judges, from its `deploy.yaml`."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from buildeye.deploy.judges import (
    AttentionSettings,
    CanarySettings,
    CleanSettings,
    HttpSettings,
    ProcessSettings,
    RateSettings,
)

if TYPE_CHECKING:
    from buildeye.deploy.spec import ServiceSpec

_KEPT: Final = 120
"""Samples of a signal that are looked at: more than any window holds at the usual intervals."""
_KEPT_AT_MOST: Final = 5000
_HOUR = 3600.0
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of every judge; None where the service has no such signal."""

    process: ProcessSettings
    http: HttpSettings
    canary: CanarySettings | None
    rate: RateSettings | None
    clean: CleanSettings
    errors: AttentionSettings


def limits_of(spec: "ServiceSpec") -> Limits:
    """The limits that a `deploy.yaml` sets."""
    process, health, canary, rate, window = spec.process, spec.health, spec.canary, spec.rate, spec.window
    has_canary, has_rate = canary.given, rate.given
    return Limits(
        process=ProcessSettings(
            process.exits, process.window_seconds, process.slow_exits, process.slow_hours * _HOUR, process.restart
        ),
        http=HttpSettings(
            health.failures,
            health.retry_seconds,
            health.window_minutes * _MINUTE,
            health.window_share,
            health.window_probes,
        ),
        canary=CanarySettings(canary.confirm_seconds) if has_canary else None,
        rate=RateSettings(rate.fail, rate.warn, rate.tasks, rate.margin, rate.least_baseline, rate.most_unjudged)
        if has_rate
        else None,
        clean=CleanSettings(
            window.hours * _HOUR,
            window.deadline_hours * _HOUR,
            canaries=canary.least,
            least_baseline=rate.least_baseline,
            needs_rate=has_rate,
            needs_canary=has_canary,
        ),
        errors=AttentionSettings(window.error_minutes * _MINUTE),
    )


def kept_samples(spec: "ServiceSpec") -> int:
    """How many of the newest samples of a signal its judges are shown: all of their windows, at short intervals too."""
    asked = [spec.health.interval_seconds, spec.health.retry_seconds]
    asked += [spec.rate.interval_seconds] if spec.rate.given else []
    asked += [spec.canary.interval_seconds, spec.canary.confirm_seconds] if spec.canary.given else []
    longest = max(spec.health.window_minutes, spec.window.error_minutes) * _MINUTE
    needed = math.ceil(1.1 * longest / max(1.0, min(asked))) + 2  # probes come a little early
    return min(max(_KEPT, needed), _KEPT_AT_MOST)
