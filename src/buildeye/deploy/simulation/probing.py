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
        due = walk.good_stretch(until)
        if walk.at >= until and not walk.is_failing:
            break
        if due is None:
            continue
        if walk.probe(due):
            return Probing(walk.at, walk.at, walk.held)
        walk.at += next_probe(walk.probes, rules.http_interval, rules.http)
    return Probing(None, max(until, walk.at), walk.held)


class _Walk:
    """Probes one after another. `probes` holds what a window reaches, and is empty where all of that answered."""

    def __init__(self, scenario: Scenario, rules: Rules, rng: Random) -> None:
        self.scenario, self.rules, self.rng = scenario, rules, rng
        self.start = self.at = rng.random() * rules.http_interval
        self.probes: list[Probe] = []
        self.control: list[Probe] = []
        self.held = False
        self._good, self._span = _after_flake(rules)
        self._harmless = _is_harmless(rules)
        self._left: int | None = None  # good probes before the next flake, where that is drawn already

    @property
    def is_failing(self) -> bool:
        """Did the last probe fail?"""
        return bool(self.probes) and not self.probes[-1].ok

    def probe(self, due: bool) -> bool:
        """Make one probe, a flake if one is `due`, and ask the judge after a failure: does the version fail?"""
        down, flake = is_down(self.scenario, self.at), self.scenario.http_flake
        if not self.probes:
            self._remember_good()
        self.probes.append(Probe(not due and not down and self.rng.random() >= flake, moment(self.at)))
        if not wants_control(self.probes):
            return False
        old_is_down = self.scenario.shared and down
        self.control.append(Probe(not old_is_down and self.rng.random() >= flake, moment(self.at + _BESIDE)))
        _forget(self.probes, self.control, self.at - self.rules.http.window_seconds)
        verdict = judge_http(self.probes, self.control, self.rules.http, moment(self.at))
        self.held = self.held or verdict.reason == "both-fail"
        return verdict.status is SignalStatus.FAIL

    def good_stretch(self, until: float) -> bool | None:
        """Go over the probes that answer up to the next flake, trouble or end.

        True: the probe at `at` is a flake. False: it is to be drawn. None: all a window reaches has answered by now.
        """
        limit = min(until, _next_trouble(self.scenario, self.at))
        if limit <= self.at:
            return False
        left = self._left if self._left is not None else _good_probes(self.scenario.http_flake, self.rng)
        self._left = None
        if not self.probes:
            interval = self.rules.http_interval
            many = min(left, math.ceil((limit - self.at) / interval))
            self.at += many * interval
            if self.at >= limit:
                return False
            return None if self._passes_lone_flake(limit) else True
        failed = next(probe.at.ticks for probe in reversed(self.probes) if not probe.ok)
        while left and self.at < limit:
            if self.at - failed > self.rules.http.window_seconds:
                self.probes.clear()
                return None
            self.probes.append(Probe(True, moment(self.at)))
            self.at += next_probe(self.probes, self.rules.http_interval, self.rules.http)
            left -= 1
        return not left and self.at < limit

    def _passes_lone_flake(self, limit: float) -> bool:
        """Draw whether the flake at `at` is the only one within a window; if so go to where no window reaches it.

        A lone flake is the same history wherever it is, so the judge is asked about it once.
        """
        if not self._harmless or self.at + self._span >= limit or self.at - self.start < self._span:
            return False
        flake = self.scenario.http_flake
        alone = (1 - flake) ** self._good
        if self.rng.random() < alone:
            self.at += self._span
            return True
        if flake < 1:
            self._left = min(
                self._good - 1, math.floor(math.log(1 - self.rng.random() * (1 - alone)) / math.log1p(-flake))
            )
        return False

    def _remember_good(self) -> None:
        """The probes before `at` that a window reaches; they all answered."""
        interval = self.rules.http_interval
        many = min(int(self.rules.http.window_seconds / interval), round((self.at - self.start) / interval))
        self.probes += [Probe(True, moment(self.at - k * interval)) for k in range(many, 0, -1)]


@lru_cache(maxsize=16)
def _after_flake(rules: Rules) -> tuple[int, float]:
    """(good probes after a lone flake that are in one window with it, seconds from it to the first that is not)."""
    probes, at, good = [Probe(False, moment(0))], 0.0, 0
    while True:
        at += next_probe(probes, rules.http_interval, rules.http)
        if at > rules.http.window_seconds:
            return good, at
        probes.append(Probe(True, moment(at)))
        good += 1


@lru_cache(maxsize=16)
def _is_harmless(rules: Rules) -> bool:
    """Does the judge let a version off that lost one probe in a window of good ones?"""
    interval = rules.http_interval
    good = [Probe(True, moment(-k * interval)) for k in range(int(rules.http.window_seconds / interval), 0, -1)]
    control = [Probe(True, moment(_BESIDE))]
    return judge_http([*good, Probe(False, moment(0))], control, rules.http, moment(0)).status is not SignalStatus.FAIL


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


def _forget(probes: list[Probe], control: list[Probe], before: float) -> None:
    """Drop what no window reaches any more."""
    for kept in (probes, control):
        old = next((k for k, probe in enumerate(kept) if probe.at.ticks >= before), len(kept))
        del kept[:old]
