"""Is the share of approved tasks lower than before the cutover? The verdict of `fisher`'s test, and its sentence.

The sequential test looks at the first tasks only, so that it is wrong as seldom as it says. A version may fall later:
the tasks after those are tested too, so many at a time, each group once. All groups together share a small probability
of a false alarm (`LATER`), the kth of them a 1 / k(k+1) of it, whatever their number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from buildeye.deploy.judges import fisher
from buildeye.model.deployments import Baseline, HealthVerdict, SignalStatus

LATER: Final = 0.001
"""The probability of a false alarm that all later groups of tasks share."""


@dataclass(frozen=True, slots=True)
class RateSettings:
    """`fail` and `warn` are false-alarm probabilities, `tasks` the most looks, `margin` a drop in shares (0.10 = 10
    points) that a failure also needs, `most_unjudged` the largest share of tasks without a verdict."""

    fail: float = 0.01
    warn: float = 0.05
    tasks: int = 50
    margin: float = 0.10
    least_baseline: int = 10
    most_unjudged: float = 0.20


@dataclass(frozen=True, slots=True)
class RateReading:
    """What a rate source read: `looks` are (approved, judged), cumulative, one after each judged task in the order of
    entering validation (or one after each poll, where a source knows only counts). `unjudged` tasks have no verdict
    yet and are in no look."""

    looks: tuple[tuple[int, int], ...]
    unjudged: int = 0
    task_ids: tuple[str, ...] = ()

    @property
    def approved(self) -> int:
        """Approved tasks so far."""
        return self.looks[-1][0] if self.looks else 0

    @property
    def judged(self) -> int:
        """Tasks with a verdict so far."""
        return self.looks[-1][1] if self.looks else 0


def judge_rate(reading: RateReading, baseline: Baseline | None, settings: RateSettings) -> HealthVerdict:
    """FAIL at the first look that crosses the boundary; a rise or a crossed line of warning is OK with a reason.

    Every look of at most `settings.tasks` tasks is tested, in order, so that it does not matter how often it is asked;
    after that each further group of `settings.tasks` tasks, once it is whole.
    Reasons: no-baseline, small-baseline, no-tasks, unjudged (all INSUFFICIENT); rate-fell (FAIL); rate-warns,
    rate-rose, rate-holds (OK). Numbers: approved, judged, unjudged, baseline_good, baseline_total, and where the test
    was made p_value, c and `fails_at` [approved, judged], of a crossing `at` [approved, judged].
    """
    numbers: dict[str, object] = {"approved": reading.approved, "judged": reading.judged, "unjudged": reading.unjudged}
    if baseline is not None:
        numbers |= {"baseline_good": baseline.good, "baseline_total": baseline.total}
    lacking = _lacking(reading, baseline, settings)
    if lacking is not None or baseline is None:
        reason, says = lacking if lacking is not None else ("no-baseline", "")
        return HealthVerdict(SignalStatus.INSUFFICIENT, reason, says, numbers)
    good, total = baseline.good, baseline.total
    fails = _line(good, total, settings.fail, settings.tasks, settings.margin)
    crossed = _first(reading.looks, fails)
    if crossed is not None:
        says = (f"{_share(*crossed)}, was {good} of {total}; fails at {fails[crossed[1]]} of {crossed[1]}, "
                f"at least {100 * settings.margin:g} points lower")  # fmt: skip
        return HealthVerdict(SignalStatus.FAIL, "rate-fell", says, numbers | _tested(crossed, baseline, settings))
    late = _later_fall(reading.looks, baseline, settings)
    if late is not None:
        group, p_value = late
        says = (f"{_share(*group)} of a later group of tasks, was {good} of {total}; "
                f"{_share(reading.approved, reading.judged)} in all")  # fmt: skip
        tested = {"p_value": p_value, "c": LATER, "at": [*group]}
        return HealthVerdict(SignalStatus.FAIL, "rate-fell", says, numbers | tested)
    numbers |= _tested(_last_tested(reading.looks, settings.tasks), baseline, settings)
    numbers.pop("at")
    reach = _next_failure(reading.approved, reading.judged, fails)
    if reach is not None:
        numbers["fails_at"] = [*reach]
    lies = _reach(reach, reading.judged, settings.tasks)
    stands = f"{_share(reading.approved, reading.judged)}, was {good} of {total}; {lies}"
    warned = _first(reading.looks, _line(good, total, settings.warn, settings.tasks, 0.0))
    if warned is not None:
        says = f"{stands}; {warned[0]} of {warned[1]} was low enough for a warning"
        return HealthVerdict(SignalStatus.OK, "rate-warns", says, numbers | {"at": [*warned]})
    turned = tuple((judged - approved, judged) for approved, judged in reading.looks)
    risen = _first(turned, _line(total - good, total, settings.warn, settings.tasks, 0.0))
    if risen is not None:
        says = f"{stands}; {risen[1] - risen[0]} of {risen[1]} is suspiciously high: do its checks still check?"
        return HealthVerdict(SignalStatus.OK, "rate-rose", says, numbers | {"at": [risen[1] - risen[0], risen[1]]})
    return HealthVerdict(SignalStatus.OK, "rate-holds", stands, numbers)


def _lacking(reading: RateReading, baseline: Baseline | None, settings: RateSettings) -> tuple[str, str] | None:
    """(reason, sentence) of what is missing for a test; None when it can be made."""
    stands = f"{_share(reading.approved, reading.judged)}" if reading.judged else "no task has been judged yet"
    least = max(settings.least_baseline, fisher.columns()[0])
    if baseline is None or baseline.total == 0:
        return "no-baseline", f"{stands}; there is no earlier rate to compare with"
    if baseline.total < least:
        return "small-baseline", f"{stands}, was {baseline.good} of {baseline.total}: {least} tasks before are needed"
    every = reading.judged + reading.unjudged
    if not every:
        return "no-tasks", "no task has reached validation yet"
    if reading.unjudged > settings.most_unjudged * every or not reading.judged:
        return "unjudged", (f"{stands}; {reading.unjudged} of {every} tasks have no verdict, "
                            f"more than {100 * settings.most_unjudged:g} %")  # fmt: skip
    return None


def _later_fall(
    looks: Sequence[tuple[int, int]], baseline: Baseline, settings: RateSettings
) -> tuple[tuple[int, int], float] | None:
    """The first later group that fell, as (approved, judged) of the group, and its p-value; None when none did."""
    begin: tuple[int, int] | None = None
    groups = 0
    for look in looks:
        if look[1] < settings.tasks or (begin is not None and look[1] < begin[1] + settings.tasks):
            continue
        if begin is not None:
            groups += 1
            group = (look[0] - begin[0], look[1] - begin[1])
            p_value = fisher.p_value(*group, baseline.good, baseline.total)
            lower = group[0] / group[1] <= baseline.good / baseline.total - settings.margin
            if lower and p_value <= LATER / (groups * (groups + 1)):
                return group, p_value
        begin = look
    return None


@lru_cache(maxsize=4096)
def _line(good: int, total: int, alpha: float, tasks: int, margin: float) -> Mapping[int, int]:
    """{judged: the most approved that cross}."""
    return MappingProxyType(dict(fisher.boundary(good, total, alpha, tasks, margin)))


def _first(looks: Sequence[tuple[int, int]], line: Mapping[int, int]) -> tuple[int, int] | None:
    """The first look that crosses a line."""
    return next((look for look in looks if look[0] <= line.get(look[1], -1)), None)


def _last_tested(looks: Sequence[tuple[int, int]], tasks: int) -> tuple[int, int] | None:
    return next((look for look in reversed(looks) if 0 < look[1] <= tasks), None)


def _tested(look: tuple[int, int] | None, baseline: Baseline, settings: RateSettings) -> dict[str, object]:
    """The numbers of the test of one look."""
    c = fisher.threshold(settings.fail, baseline.total, settings.tasks).c
    if look is None:
        return {"c": c, "at": None}
    good, total = fisher.cut(baseline.good, baseline.total)
    return {"c": c, "p_value": fisher.p_value(*look, good, total), "at": [*look]}


def _next_failure(approved: int, judged: int, line: Mapping[int, int]) -> tuple[int, int] | None:
    """(approved, judged) of the earliest look that fails if no further task is approved."""
    return next(((approved, n) for n, most in sorted(line.items()) if n > judged and most >= approved), None)


def _reach(reach: tuple[int, int] | None, judged: int, tasks: int) -> str:
    if reach is None and judged >= tasks:
        return f"by now {tasks} tasks at a time are judged"
    if reach is None:
        return f"cannot fail within {tasks} tasks any more"
    return f"fails at {reach[0]} of {reach[1]}"


def _share(approved: int, judged: int) -> str:
    return f"{approved} of {judged} approved"
