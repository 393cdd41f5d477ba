"""Does the process stay alive? Exits that nobody asked for, in true sliding windows of time."""

from collections.abc import Sequence
from dataclasses import dataclass

from buildeye.model.deployments import HealthVerdict, Moment, SignalStatus


@dataclass(frozen=True, slots=True)
class Exit:
    """One end of a process. `code` is negative for a signal, None when nobody knows. `expected`: it was stopped."""

    at: Moment
    code: int | None
    expected: bool = False


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """`exits` within `window_seconds` fail, and `slow_exits` within `slow_seconds`; without `restarts` the first."""

    exits: int = 2
    window_seconds: float = 600
    slow_exits: int = 3
    slow_seconds: float = 21_600
    restarts: bool = True


def judge_process(exits: Sequence[Exit], alive: bool, settings: ProcessSettings, now: Moment) -> HealthVerdict:
    """What the exits of a version's process say, in the order they were noted; `alive`: it runs now.

    FAIL when any two (`settings.exits`) lie within the window, its ends included, whenever that was.
    Reasons: crashes, slow-crashes, process-ended (FAIL); restarting (INSUFFICIENT, it is down and will be started
    again); crashed-once, alive (OK). Numbers: exits, and of a failure within, seconds and codes.
    """
    crashes = [each for each in exits if not each.expected]
    numbers: dict[str, object] = {"exits": len(crashes)}
    for most, seconds, reason in (
        (settings.exits if settings.restarts else 1, settings.window_seconds, "crashes"),
        (settings.slow_exits, settings.slow_seconds, "slow-crashes"),
    ):
        group = _within(crashes, most, seconds)
        if group:
            span = group[-1].at.since(group[0].at)
            numbers |= {"within": len(group), "seconds": span, "codes": [each.code for each in group]}
            if most == 1 and not settings.restarts:
                says = f"the process ended {_how(group[-1])} and is not started again"
                return HealthVerdict(SignalStatus.FAIL, "process-ended", says, numbers)
            says = f"the process ended {len(group)} times within {_span(span)}, last {_how(group[-1])}"
            return HealthVerdict(SignalStatus.FAIL, reason, says, numbers)
    if not alive:
        last = _how(exits[-1]) if exits else "without a word"
        return HealthVerdict(SignalStatus.INSUFFICIENT, "restarting", f"the process ended {last} and is down", numbers)
    if crashes:
        ago = _span(now.since(crashes[-1].at))
        says = f"runs; it ended {len(crashes)} times, last {_how(crashes[-1])} {ago} ago"
        return HealthVerdict(SignalStatus.OK, "crashed-once" if len(crashes) == 1 else "crashed", says, numbers)
    return HealthVerdict(SignalStatus.OK, "alive", "runs, and never ended by itself", numbers)


def _within(crashes: Sequence[Exit], most: int, seconds: float) -> Sequence[Exit]:
    """The first so many crashes in a row that lie within so many seconds; empty when there are none."""
    for first in range(len(crashes) - most + 1):
        group = crashes[first : first + most]
        if most >= 1 and group[-1].at.since(group[0].at) <= seconds:
            return group
    return ()


def _how(exit_: Exit) -> str:
    if exit_.code is None:
        return "with an unknown code"
    return f"by signal {-exit_.code}" if exit_.code < 0 else f"with code {exit_.code}"


def _span(seconds: float) -> str:
    """A span of time in its natural unit."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
