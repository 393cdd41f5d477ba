"""The limits of a service's judges, from its `deploy.yaml`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
