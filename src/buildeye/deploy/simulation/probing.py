"""Simulated health probes: the rhythm of the supervisor, the real judge, and stretches of good answers in one draw."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
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
    probes: list[Probe] = []
    control: list[Probe] = []
    held = False
    at = rng.random() * rules.http_interval
    while at < until or (probes and not probes[-1].ok):
        at, due = _skip(probes, at, until, scenario, rules, rng)
        if at >= until and (not probes or probes[-1].ok):
            break
        ok = not due and not is_down(scenario, at) and rng.random() >= scenario.http_flake
        probes.append(Probe(ok, moment(at)))
        if wants_control(probes):
            down = scenario.shared and is_down(scenario, at)
            control.append(Probe(not down and rng.random() >= scenario.http_flake, moment(at + _BESIDE)))
            _forget(probes, control, at - rules.http.window_seconds)
            verdict = judge_http(probes, control, rules.http, moment(at))
            held = held or verdict.reason == "both-fail"
            if verdict.status is SignalStatus.FAIL:
                return Probing(at, at, held)
        at += next_probe(probes, rules.http_interval, rules.http)
    return Probing(None, max(until, probes[-1].at.ticks if probes else 0.0), held)


def _skip(
    probes: list[Probe], at: float, until: float, scenario: Scenario, rules: Rules, rng: Random
) -> tuple[float, bool]:
    """Add the probes that answer before the next flake or trouble; (the time of the probe after them, is it a flake?)

    The number of good probes before a flake is geometric. Only those that a window can hold are kept.
    """
    limit = min(until, _next_trouble(scenario, at))
    if limit <= at:
        return at, False
    left = _good_probes(scenario.http_flake, rng)
    while left and at < limit:
        pause = next_probe(probes, rules.http_interval, rules.http)
        many = min(left, math.ceil((limit - at) / pause)) if pause == rules.http_interval else 1
        shown = min(many, int(rules.http.window_seconds / pause) + 1)
        first = at + (many - shown) * pause
        probes += [Probe(True, moment(first + k * pause)) for k in range(shown)]
        at += (many - 1) * pause + next_probe(probes, rules.http_interval, rules.http)
        left -= many
    return at, not left and at < limit


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
