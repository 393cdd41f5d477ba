"""Does the new version answer its health address? Failures in a row, a share of a window, and the old one as control.

A first failure is looked at again soon (`next_probe`), so that a short hiccup and an outage part within half a minute.
A service that flaps is caught by its share of failed probes within a true window of time.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from buildeye.model.deployments import HealthVerdict, Moment, SignalStatus


@dataclass(frozen=True, slots=True)
class Probe:
    """One request to a health address. `error`: it could not be made (then `ok` says nothing)."""

    ok: bool
    at: Moment
    error: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """`failures` in a row fail, or `window_share` of the last `window_probes` or more within `window_seconds`.

    Four in a row 8 s apart span 24 s, more than three 10 s apart, and fail a healthy service that loses 1 % of its
    probes a hundred times more rarely: 0.003 % of days instead of 0.29 %. An outage is seen 24 s after its first probe.
    A share of 0.4 catches what is down half of the time though every probe is a matter of luck or of a common rhythm.
    """

    failures: int = 4
    retry_seconds: float = 8
    window_seconds: float = 600
    window_share: float = 0.4
    window_probes: int = 15
    calm_probes: int = 3


def judge_http(probes: Sequence[Probe], control: Sequence[Probe], settings: HttpSettings, now: Moment) -> HealthVerdict:
    """What the probes of the new version say, oldest first; `control` are probes of the old one, made after failures.

    Every probe is judged with what came before it, so that it does not matter how often it is asked: FAIL when the rule
    was met at any of them. Where it is asked after each probe, those of the last window are all it needs. A failure
    beside which the old version failed too is shared: INSUFFICIENT "both-fail" when at least half of the last failures
    in a row are, or when a window is bad only with them. A failure with no control probe between it and the next probe
    is the new version's own.
    Reasons: no-probes, both-fail, failing (INSUFFICIENT); http-down, http-flaps (FAIL); http-answers (OK);
    http-unknown (ERROR, the last probe could not be made). Numbers: in_a_row; failed, shared and probes of the window.
    """
    verdict = HealthVerdict(SignalStatus.INSUFFICIENT, "no-probes", "the health address was not asked yet")
    row: list[_Seen] = []
    window: deque[_Seen] = deque()
    failed = 0
    pairs = _paired(probes, control)
    for place, seen in enumerate(pairs, 1):
        at = seen.probe.at
        if seen.probe.ok or (row and at.since(row[-1].probe.at) > settings.window_seconds):
            row = []
        if not seen.probe.ok:
            row.append(seen)
            failed += 1
        window.append(seen)
        while at.since(window[0].probe.at) > settings.window_seconds:
            failed -= not window.popleft().probe.ok
        may_fail = len(row) >= settings.failures or failed >= settings.window_share * settings.window_probes
        if may_fail or place == len(pairs):
            verdict = _at(row, window, settings)
            if verdict.status is SignalStatus.FAIL:
                return verdict
    if probes and probes[-1].error:
        says = f"the health address could not be asked: {probes[-1].detail or 'no reason known'}"
        return HealthVerdict(SignalStatus.ERROR, "http-unknown", says, verdict.numbers)
    return verdict


def next_probe(probes: Sequence[Probe], interval: float, settings: HttpSettings) -> float:
    """Seconds from the start of the last probe to the start of the next.

    Soon after one that failed or could not be made, and until `calm_probes` in a row have answered.
    """
    if any(probe.error or not probe.ok for probe in probes[-settings.calm_probes :]):
        return min(interval, settings.retry_seconds)
    return interval


def wants_control(probes: Sequence[Probe]) -> bool:
    """Should the old version be asked now? Beside each failure of the new one."""
    return bool(probes) and not probes[-1].error and not probes[-1].ok


@dataclass(frozen=True, slots=True)
class _Seen:
    """A probe that was made, and how the old version did between it and the next one; None where it was not asked."""

    probe: Probe
    control: bool | None

    @property
    def shared(self) -> bool:
        return not self.probe.ok and self.control is False


def _paired(probes: Sequence[Probe], control: Sequence[Probe]) -> list[_Seen]:
    """Each probe that was made with the last control probe after it and before the next."""
    made = [probe for probe in probes if not probe.error]
    checks = [probe for probe in control if not probe.error]
    pairs: list[_Seen] = []
    place = 0
    for probe, following in zip_longest(made, made[1:]):
        beside: bool | None = None
        while place < len(checks) and (following is None or not _reaches(checks[place].at, following.at)):
            if _reaches(checks[place].at, probe.at):
                beside = checks[place].ok
            place += 1
        pairs.append(_Seen(probe, beside))
    return pairs


def _reaches(moment: Moment, other: Moment) -> bool:
    """Is a moment at or after another?"""
    if moment.boot == other.boot:
        return moment.ticks >= other.ticks
    return moment.wall >= other.wall


def _at(row: Sequence[_Seen], window: Sequence[_Seen], settings: HttpSettings) -> HealthVerdict:
    """The verdict at the last probe of the window."""
    probe, probes = window[-1].probe, len(window)
    failed = sum(not seen.probe.ok for seen in window)
    shared = sum(seen.shared for seen in window)
    numbers = {"in_a_row": len(row), "failed": failed, "shared": shared, "probes": probes}
    told = f" ({probe.detail})" if probe.detail else ""
    if len(row) >= settings.failures:
        says = f"{len(row)} probes in a row failed within {probe.at.since(row[0].probe.at):.0f} s{told}"
        checked = [seen.control for seen in row[-settings.failures :] if seen.control is not None]
        if checked and 2 * checked.count(False) >= len(checked):
            return _both_fail(says, numbers)
        says += "; the old version answers" if checked else ""
        return HealthVerdict(SignalStatus.FAIL, "http-down", says, numbers)
    length = _flapping(window, settings)
    if length:
        bad = [seen for seen in list(window)[-length:] if not seen.probe.ok]
        span = probe.at.since(window[-length].probe.at)
        says = f"{len(bad)} of {length} probes failed within {span / 60:.0f} minutes{told}"
        if sum(not seen.shared for seen in bad) < settings.window_share * length:
            return _both_fail(says, numbers)
        return HealthVerdict(SignalStatus.FAIL, "http-flaps", says, numbers)
    if row:
        says = f"{len(row)} of the {settings.failures} failures in a row that count{told}"
        return HealthVerdict(SignalStatus.INSUFFICIENT, "failing", says, numbers)
    return HealthVerdict(
        SignalStatus.OK, "http-answers", f"answers; {failed} of the last {probes} probes failed", numbers
    )


def _flapping(window: Sequence[_Seen], settings: HttpSettings) -> int:
    """How many of the last probes of the window, at least `window_probes`, are bad by their share; 0 for none.

    The most that are the new version's own failures by themselves, else the most with the shared ones.
    """
    failed = own = 0
    any_, its_own = 0, 0
    for length, seen in enumerate(reversed(window), 1):
        failed, own = failed + (not seen.probe.ok), own + (not seen.probe.ok and not seen.shared)
        if length >= settings.window_probes:
            any_ = length if failed >= settings.window_share * length else any_
            its_own = length if own >= settings.window_share * length else its_own
    return its_own or any_


def _both_fail(says: str, numbers: Mapping[str, object]) -> HealthVerdict:
    says += "; the old version fails as well: not the new version's trouble alone"
    return HealthVerdict(SignalStatus.INSUFFICIENT, "both-fail", says, numbers)
