"""What the seed's monitor decides, without a database, a clock or a network.

A signal is a mapping with `signal_type`, `status` and `detail`, as it is stored and as `rollback_reason` shows it.
Statuses are counted newest first, the sample at hand among them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from buildeye.model.deployments import SignalKind, State

Signal = dict[str, Any]
Number = float | Fraction

SAMPLE_INTERVAL: Final = 300
"""Seconds between two passes."""
CANARY_INTERVAL: Final = 3600
"""Seconds between two passes with a canary task."""
CRASHES: Final = 2
"""Failed process samples among those of the crash window."""
CRASH_WINDOW: Final = 600
"""Seconds; counted in samples."""
HTTP_FAILURES: Final = 3
"""Failed http samples in a row."""
RATE_DEVIATION: Final = 0.30
"""Share by which the rate may leave its baseline, up or down; exactly so much is not beyond it."""
WINDOW_HOURS: Final = 24
LEAST_TASKS: Final = 10

_LARGEST_DENOMINATOR: Final = 10**6
_FAIL: Final = "fail"


@dataclass(frozen=True, slots=True)
class Limits:
    """The seed's limits: samples of the crash window, http failures in a row, deviation, tasks, hours."""

    crash_samples: int = max(1, CRASH_WINDOW // SAMPLE_INTERVAL)
    http_failures: int = HTTP_FAILURES
    deviation: Number = RATE_DEVIATION
    least_tasks: int = LEAST_TASKS
    window_hours: float = WINDOW_HOURS

    def counted(self, kind: SignalKind) -> int:
        """How many samples of a signal are looked at, this one among them; below 0: all."""
        match kind:
            case SignalKind.PROCESS:
                return self.crash_samples
            case SignalKind.HTTP:
                return self.http_failures
            case SignalKind.CANARY | SignalKind.RATE:
                return 1


@dataclass(frozen=True, slots=True)
class Approvals:
    """How many tasks reached validation, and how many of them no validator complained of."""

    approved: int
    tasks: int

    @property
    def rate(self) -> float:
        """The share of approved tasks, as the seed's floats have it."""
        return self.approved / self.tasks


@dataclass(frozen=True, slots=True)
class Decision:
    """Where a pass leaves the deployment, the last signal it took, and all that it took, in order."""

    status: State
    latest: Signal
    taken: tuple[Signal, ...]


def decide(
    history: Mapping[SignalKind, Sequence[str]],
    samples: Iterable[tuple[SignalKind, Signal]],
    elapsed_hours: float,
    tasks: int,
    limits: Limits,
) -> Decision:
    """One whole pass: samples are taken in turn until one is an anomaly; `history` holds statuses, newest first.

    `tasks` are those created since the cutover. The caller stores what was `taken`.
    """
    taken: list[Signal] = []
    for kind, signal in samples:
        taken.append(signal)
        statuses = _first([signal["status"], *history.get(kind, ())], limits.counted(kind))
        if is_anomaly(kind, statuses, limits):
            return Decision(State.ANOMALY_DETECTED, signal, tuple(taken))
    return Decision(status_after(elapsed_hours, tasks, limits), taken[-1], tuple(taken))


def is_anomaly(kind: SignalKind, statuses: Sequence[str], limits: Limits) -> bool:
    """Whether a signal's `limits.counted(kind)` newest statuses are an anomaly."""
    match kind:
        case SignalKind.PROCESS:
            return statuses.count(_FAIL) >= CRASHES
        case SignalKind.HTTP:
            return len(statuses) >= limits.http_failures and all(status == _FAIL for status in statuses)
        case SignalKind.CANARY | SignalKind.RATE:
            return statuses[0] == _FAIL


def status_after(elapsed_hours: float, tasks: int, limits: Limits) -> State:
    """Where a pass without an anomaly leaves a deployment, whatever it was before: time or tasks close it clean."""
    if elapsed_hours >= limits.window_hours or tasks >= limits.least_tasks:
        return State.MONITORING_WINDOW_CLEAN
    return State.MONITORING


def process_signal(alive: bool) -> Signal:
    """The signal of a process that was looked at."""
    return {"signal_type": SignalKind.PROCESS.value, "status": "ok" if alive else _FAIL, "detail": None}


def rate_signal(approvals: Approvals | None, baseline: Number, deviation: Number) -> Signal:
    """The signal of the rate of approval; `approvals` None where no task reached validation.

    The comparison is exact (see `exact`): 6 of 10 against a baseline of 9 of 10 is not beyond 0.30, although the
    seed's floats say 0.30000000000000004. The text shows the seed's floats, rounded as it rounds them.
    """
    if approvals is None:
        return _rate_ok("no validated tasks in window yet")
    before, rate = float(baseline), approvals.rate
    beyond = _distance(Fraction(approvals.approved, approvals.tasks), exact(baseline)) > exact(deviation)
    return {
        "signal_type": SignalKind.RATE.value,
        "status": _FAIL if beyond else "ok",
        "detail": f"rate={rate:.2f} n={approvals.tasks} baseline={before:.2f} deviation={abs(rate - before):.2f}",
    }


def no_baseline_signal() -> Signal:
    """The signal of the rate where there is nothing to compare with; that is no failure."""
    return _rate_ok("no baseline yet -- insufficient history to judge deviation")


def exact(number: Number) -> Number:
    """The fraction a float was made from; fractions and integers stay, and so do infinities.

    A float within 0..1 that is the quotient of two numbers up to a million is nearest to that fraction alone: two such
    fractions are 1e-12 apart, a float is within 1e-16. Any other float is the decimal that Python writes for it.
    """
    if not isinstance(number, float):
        return Fraction(number)
    if not math.isfinite(number):
        return number
    nearest = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
    return nearest if float(nearest) == number else Fraction(repr(number))


def _distance(rate: Fraction, before: Number) -> Number:
    return abs(rate - before) if isinstance(before, Fraction) else abs(float(rate) - before)


def _rate_ok(detail: str) -> Signal:
    return {"signal_type": SignalKind.RATE.value, "status": "ok", "detail": detail}


def _first(statuses: Sequence[str], number: int) -> Sequence[str]:
    return statuses if number < 0 else statuses[:number]
