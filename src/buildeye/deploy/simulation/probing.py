"""Simulated health probes: the rhythm of the supervisor, the real judge, and stretches of good answers in one draw."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from typing import Final

from buildeye.deploy.judges import Probe, judge_http, next_probe, wants_control
from buildeye.deploy.simulation.scenario import Rules, Scenario
from buildeye.model.deployments import Moment, SignalStatus

_WALL: Final = datetime(2026, 1, 1, tzinfo=UTC)  # nothing here reads it: all moments are of one boot
_NEVER: Final = float("inf")
_BESIDE: Final = 0.5  # seconds from a failed probe to the control


def moment(seconds: float) -> Moment:
    """A time of a simulated deployment."""
    return Moment(_WALL, "simulated", seconds)


@dataclass(frozen=True, slots=True)
class Probing:
    """`failed`: when the judge said FAIL. `calm`: when, at or after the end asked for, the version answered."""

    failed: float | None
    calm: float
    held: bool


def probe_until(scenario: Scenario, until: float, rules: Rules, rng: Random) -> Probing:
    """Probe from the cutover to `until`, and on as long as the last probe failed."""
    walk = _Walk(scenario, rules, rng)
    while walk.at < until or walk.is_failing:
        due = walk.skip_good(until)
        if walk.at >= until and not walk.is_failing:
            break
        if walk.probe(due):
            return Probing(walk.at, walk.at, walk.held)
        walk.at += walk.pause
    return Probing(None, max(until, walk.at), walk.held)


class _Walk:
    """Probes one after another, kept as a pattern: what a judge says depends on nothing else of a history.

    `before` good probes, as many as a window reaches; then of each failure (good probes since the one before it, did
    the old version answer); then `good` probes.
    """

    def __init__(self, scenario: Scenario, rules: Rules, rng: Random) -> None:
        self.scenario, self.rng = scenario, rng
        self.judged = judged_patterns(rules)
        self.interval, self.window = rules.http_interval, rules.http.window_seconds
        self.at = rng.random() * self.interval
        self.before = self.good = 0
        self.failures: list[tuple[int, bool]] = []
        self.failed_at: list[float] = []
        self.held = False

    @property
    def is_failing(self) -> bool:
        """Did the last probe fail?"""
        return bool(self.failures) and not self.good

    @property
    def pause(self) -> float:
        """Seconds to the next probe."""
        return self.judged.pause(self.good) if self.failures else self.interval

    def probe(self, due: bool) -> bool:
        """Make one probe, a flake if one is `due`, and ask the judge after a failure: does the version fail?"""
        down, flake = is_down(self.scenario, self.at), self.scenario.http_flake
        if not due and not down and self.rng.random() >= flake:
            self._answered(1)
            return False
        old_answers = not (self.scenario.shared and down) and self.rng.random() >= flake
        self.failures.append((self.good, old_answers))
        self.failed_at.append(self.at)
        self.good = 0
        self._forget()
        status, reason = self.judged.verdict(self.before, tuple(self.failures))
        self.held = self.held or reason == "both-fail"
        return status is SignalStatus.FAIL

    def skip_good(self, until: float) -> bool:
        """Go over the probes that answer up to the next flake, trouble or end: is the probe at `at` a flake?"""
        limit = min(until, _next_trouble(self.scenario, self.at))
        if limit <= self.at:
            return False
        left = _good_probes(self.scenario.http_flake, self.rng)
        while left and self.at < limit:
            pause = self.pause
            many = min(left, math.ceil((limit - self.at) / pause)) if pause == self.interval else 1
            self.at += (many - 1) * pause
            self._answered(many)
            self.at += self.pause
            left -= many
        if self.failures and self.at - self.failed_at[-1] > self.window:
            self.before, self.good = self.judged.most_before, 0
            self.failures.clear()
            self.failed_at.clear()
        return not left and self.at < limit

    def _forget(self) -> None:
        """Drop first failures that no window reaches, where the next one followed at once."""
        while self.at - self.failed_at[0] > self.window and self.failures[1][0] == 0:
            del self.failures[0], self.failed_at[0]
            self.before = 0

    def _answered(self, many: int) -> None:
        if self.failures:
            self.good += many
        else:
            self.before = min(self.before + many, self.judged.most_before)


class _Judged:
    """The real judge's verdicts on patterns of probes, each asked for once."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.most_before = int(rules.http.window_seconds / rules.http_interval)
        self._known: dict[tuple[int, tuple[tuple[int, bool], ...]], tuple[SignalStatus, str]] = {}
        probes, self._pauses = [Probe(False, moment(0))], list[float]()
        while (pause := next_probe(probes, rules.http_interval, rules.http)) != rules.http_interval:
            self._pauses.append(pause)
            probes.append(Probe(True, moment(0)))

    def pause(self, good: int) -> float:
        """Seconds to the next probe, so many good ones after a failure."""
        return self._pauses[good] if good < len(self._pauses) else self.rules.http_interval

    def verdict(self, before: int, failures: tuple[tuple[int, bool], ...]) -> tuple[SignalStatus, str]:
        """Status and reason at the last of these failures."""
        key = before, failures
        if key not in self._known:
            self._known[key] = self._ask(before, failures)
        return self._known[key]

    def _ask(self, before: int, failures: tuple[tuple[int, bool], ...]) -> tuple[SignalStatus, str]:
        interval = self.rules.http_interval
        probes = [Probe(True, moment(-k * interval)) for k in range(before, 0, -1)]
        control: list[Probe] = []
        at = 0.0
        for place, (good, old_answers) in enumerate(failures):
            for k in range(good if place else 0):
                probes.append(Probe(True, moment(at)))
                at += self.pause(k + 1)
            probes.append(Probe(False, moment(at)))
            if wants_control(probes):
                control.append(Probe(old_answers, moment(at + _BESIDE)))
            at += self.pause(0)
        verdict = judge_http(probes, control, self.rules.http, probes[-1].at)
        return verdict.status, verdict.reason


@lru_cache(maxsize=8)
def judged_patterns(rules: Rules) -> _Judged:
    """The verdicts known by now under these rules."""
    return _Judged(rules)


def _good_probes(flake: float, rng: Random) -> int:
    """How many probes answer before one that does not."""
    if flake <= 0:
        return 10**9
    return 0 if flake >= 1 else math.floor(math.log(1 - rng.random()) / math.log1p(-flake))


def _next_trouble(scenario: Scenario, at: float) -> float:
    """From when on probes are made one by one: now in an outage or while it flaps, else at the next beginning."""
    starts = [_NEVER]
    if scenario.outage_at is not None and at < scenario.outage_at + scenario.outage_seconds:
        starts.append(scenario.outage_at)
    if scenario.flap_at is not None:
        starts.append(scenario.flap_at)
    return min(starts)


def is_down(scenario: Scenario, at: float) -> bool:
    """Does nothing answer at this time?"""
    outage, flap = scenario.outage_at, scenario.flap_at
    if outage is not None and outage <= at < outage + scenario.outage_seconds:
        return True
    return flap is not None and at >= flap and (at - flap) % scenario.flap_seconds < (
        scenario.flap_share * scenario.flap_seconds
    )  # fmt: skip
