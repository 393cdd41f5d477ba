"""May a monitoring window close as clean? It needs time and evidence; quiet hours alone are not evidence."""

from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log, log1p
from typing import Final

from buildeye.model.deployments import Baseline, HealthVerdict, SignalStatus

_MOST_NEEDED: Final = 10_000


@dataclass(frozen=True, slots=True)
class CleanSettings:
    """The window and its deadline in seconds from the cutover; the drop to exclude, in shares, at which level.

    `least_judged` tasks are enough where there is no earlier rate to compare with: the first version of a service.
    """

    window_seconds: float = 86_400
    deadline_seconds: float = 172_800
    drop: float = 0.30
    level: float = 0.05
    canaries: int = 3
    needs_rate: bool = True
    needs_canary: bool = True
    least_judged: int = 10
    least_baseline: int = 10


@dataclass(frozen=True, slots=True)
class Standing:
    """What a deployment has to show. `http_good`, `process_good` and `rate_good`: their judges say OK now.

    `watched_seconds` is how much of the time somebody looked; None: all of it. The window counts that, the deadline
    counts all.
    """

    elapsed_seconds: float
    good: int
    judged: int
    baseline: Baseline | None
    canaries_passed: int
    http_good: bool
    process_good: bool
    rate_good: bool = True
    watched_seconds: float | None = None


def judge_clean(standing: Standing, settings: CleanSettings) -> HealthVerdict:
    """OK: close as clean. INSUFFICIENT "waits": what is missing. INSUFFICIENT "deadline": close without evidence.

    Numbers: elapsed_seconds, judged, good, canaries_passed and `missing`, the names of what is not there yet: time,
    tasks, canaries, http, process, rate.
    """
    lacks = _lacks(standing, settings)
    numbers: dict[str, object] = {
        "elapsed_seconds": standing.elapsed_seconds,
        "judged": standing.judged,
        "good": standing.good,
        "canaries_passed": standing.canaries_passed,
        "missing": list(lacks),
    }
    if not lacks:
        says = f"{_hours(standing.elapsed_seconds)} without a failure; {_evidence(standing, settings)}"
        return HealthVerdict(SignalStatus.OK, "clean", says, numbers)
    if standing.elapsed_seconds >= settings.deadline_seconds:
        says = f"{_hours(standing.elapsed_seconds)} are over and this is still missing: {'; '.join(lacks.values())}"
        return HealthVerdict(SignalStatus.INSUFFICIENT, "deadline", says, numbers)
    return HealthVerdict(SignalStatus.INSUFFICIENT, "waits", "waits for " + "; ".join(lacks.values()), numbers)


def enough(judged: int, good: int, baseline_rate: float, drop: float, level: float) -> bool:
    """Do `good` of `judged` tasks exclude that the rate is `drop` below the earlier one?

    P(X >= good) of a binomial of `judged` tasks at the rate `baseline_rate - drop` is at most `level`. Where the drop
    would lead to 0 or below, one approved task excludes it.
    """
    return _tail(judged, good, max(0.0, baseline_rate - drop)) <= level


@lru_cache(maxsize=1024)
def needed(judged: int, good: int, baseline_rate: float, drop: float, level: float) -> tuple[int, int] | None:
    """(good, judged) at which it is first enough if every further task is approved; None if that is out of reach."""
    low, high = 0, 1
    while not enough(judged + high, good + high, baseline_rate, drop, level):
        low, high = high, 2 * high
        if high > _MOST_NEEDED:
            return None
    if enough(judged, good, baseline_rate, drop, level):
        return good, judged
    while high - low > 1:
        middle = (low + high) // 2
        if enough(judged + middle, good + middle, baseline_rate, drop, level):
            high = middle
        else:
            low = middle
    return good + high, judged + high


@lru_cache(maxsize=4096)
def _tail(n: int, least: int, p: float) -> float:
    """P(X >= least) of a binomial(n, p)."""
    if least <= 0 or p >= 1:
        return 1.0
    if p <= 0:
        return 0.0
    whole = lgamma(n + 1) + n * log1p(-p)
    odds = log(p) - log1p(-p)
    return min(1.0, sum(exp(whole - lgamma(k + 1) - lgamma(n - k + 1) + k * odds) for k in range(least, n + 1)))


def _lacks(standing: Standing, settings: CleanSettings) -> dict[str, str]:
    """{name: sentence} of what is missing."""
    lacks: dict[str, str] = {}
    watched = standing.elapsed_seconds if standing.watched_seconds is None else standing.watched_seconds
    if watched < settings.window_seconds:
        lacks["time"] = f"{_hours(settings.window_seconds - watched)} more of {_hours(settings.window_seconds)}"
    if settings.needs_rate and (told := _lacks_tasks(standing, settings)):
        lacks["tasks"] = told
    if settings.needs_rate and not standing.rate_good:
        lacks["rate"] = "verdicts on the tasks that have none yet"
    if settings.needs_canary and standing.canaries_passed < settings.canaries:
        lacks["canaries"] = f"{settings.canaries - standing.canaries_passed} more of {settings.canaries} canaries"
    if not standing.http_good:
        lacks["http"] = "a health address that answers"
    if not standing.process_good:
        lacks["process"] = "a process that runs"
    return lacks


def _has_baseline(standing: Standing, settings: CleanSettings) -> bool:
    return standing.baseline is not None and standing.baseline.total >= settings.least_baseline


def _lacks_tasks(standing: Standing, settings: CleanSettings) -> str:
    """What is missing of judged tasks; empty when they are enough."""
    so_far = f"{standing.good} of {standing.judged} approved so far"
    if standing.baseline is None or not _has_baseline(standing, settings):
        if standing.judged >= settings.least_judged:
            return ""
        return f"{settings.least_judged} judged tasks, {so_far}, with no earlier rate to compare with"
    rate = standing.baseline.good / standing.baseline.total
    if enough(standing.judged, standing.good, rate, settings.drop, settings.level):
        return ""
    at_least = needed(standing.judged, standing.good, rate, settings.drop, settings.level)
    target = f"at least {at_least[0]} of {at_least[1]} approved tasks" if at_least else "more approved tasks"
    return f"{target} to exclude a drop of {100 * settings.drop:g} points, {so_far}"


def _evidence(standing: Standing, settings: CleanSettings) -> str:
    parts = []
    if settings.needs_rate:
        parts.append(f"{standing.good} of {standing.judged} approved")
        if standing.baseline is not None and _has_baseline(standing, settings):
            parts[-1] += f", was {standing.baseline.good} of {standing.baseline.total}"
        else:
            parts[-1] += ", the first rate of this service"
    if settings.needs_canary:
        parts.append(f"{standing.canaries_passed} canaries passed")
    return ", ".join([*parts, "health and process good"])


def _hours(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds / 3600:.3g} h"
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
