"""One simulated deployment under the default profile: each signal through its real judge, then the first that acts.

Signals of the simulation do not touch one another, so each is followed by itself to its first FAIL; what comes first in
time is what the deployment ends by.
"""

from collections.abc import Iterator
from itertools import chain
from random import Random

from buildeye.deploy.judges import (
    CanaryRun,
    Exit,
    RateReading,
    Standing,
    judge_canary,
    judge_clean,
    judge_errors,
    judge_process,
    judge_rate,
)
from buildeye.deploy.judges.canary import next_canary
from buildeye.deploy.simulation.probing import moment, probe_until
from buildeye.deploy.simulation.scenario import Ending, Outcome, Rules, Scenario
from buildeye.deploy.simulation.tasks import Tasks, draw_baseline, draw_tasks, next_poll
from buildeye.model.deployments import Baseline, HealthSample, SignalKind, SignalStatus

_NEVER = float("inf")


def watch(scenario: Scenario, rules: Rules, rng: Random) -> Ending:
    """Watch one deployment from its cutover to its end."""
    deadline = rules.clean.deadline_seconds
    baseline = draw_baseline(scenario, rng)
    tasks = draw_tasks(scenario, deadline, rng)
    canaries = _Canaries(scenario, rules, deadline, rng)
    found = {
        SignalKind.PROCESS: _process_fails(scenario, rules),
        SignalKind.CANARY: canaries.failed,
        SignalKind.RATE: _rate_fails(tasks, baseline, scenario, rules),
    }
    asked = _asks(scenario, rules)
    first = min(found, key=lambda kind: found[kind])
    acts = min(found[first], asked)
    closed, verdict = _closes(tasks, baseline, canaries, rules, acts)
    until = min(acts, closed)
    probing = probe_until(scenario, until, rules, rng)
    held = probing.held or canaries.held
    if probing.failed is not None:
        return Ending(Outcome.ROLLED_BACK, probing.failed, tasks.judged(probing.failed), SignalKind.HTTP, held)
    if until == found[first]:
        return Ending(Outcome.ROLLED_BACK, until, tasks.judged(until), first, held)
    if until == asked:
        return Ending(Outcome.ATTENTION, until, tasks.judged(until), SignalKind.RATE, held)
    return Ending(verdict, probing.calm, tasks.judged(closed), None, held)


def _process_fails(scenario: Scenario, rules: Rules) -> float:
    """When the exits of the process fail it; the supervisor knows of an exit at once."""
    exits = [Exit(moment(at), 1) for at in sorted(scenario.crashes)]
    for many, each in enumerate(exits, 1):
        if judge_process(exits[:many], True, rules.process, each.at).status is SignalStatus.FAIL:
            return each.at.ticks
    return _NEVER


def _rate_fails(tasks: Tasks, baseline: Baseline, scenario: Scenario, rules: Rules) -> float:
    """The poll at which the rate fails. All looks are judged at once first: what does not fail then never did."""
    looks = tasks.looks
    whole = judge_rate(RateReading(looks), baseline, rules.rate)
    crossing = whole.numbers.get("at")
    if whole.status is not SignalStatus.FAIL or not isinstance(crossing, list):
        return _NEVER
    seen = next_poll(tasks.judged_at[crossing[1] - 1], rules.rate_interval)
    changes = sorted(next_poll(at, rules.rate_interval) for at in chain(tasks.entered, tasks.judged_at) if at > seen)
    for at in [seen, *changes]:
        if scenario.source_down_at is not None and at >= scenario.source_down_at:
            return _NEVER
        reading = RateReading(looks[: tasks.judged(at)], tasks.unjudged(at))
        if judge_rate(reading, baseline, rules.rate).status is SignalStatus.FAIL:
            return at
    return _NEVER


def _asks(scenario: Scenario, rules: Rules) -> float:
    """When a person is asked because the rate cannot be read."""
    if scenario.source_down_at is None:
        return _NEVER
    samples: list[HealthSample] = []
    at = next_poll(scenario.source_down_at, rules.rate_interval)
    while at < rules.clean.deadline_seconds:
        samples.append(HealthSample("simulated", SignalKind.RATE, SignalStatus.ERROR, moment(at)))
        if judge_errors(samples, rules.attention, moment(at)).reason == "ask":
            return at
        at += rules.rate_interval
    return _NEVER


class _Canaries:
    """The canaries of one deployment up to the deadline: when they failed it, and when each of them passed."""

    def __init__(self, scenario: Scenario, rules: Rules, until: float, rng: Random) -> None:
        self.failed = _NEVER
        self.held = False
        self.passed: list[float] = []
        at, confirms, runs = rules.canary_interval, False, list[CanaryRun]()
        while at <= until:
            ok = self._passes(scenario, at, False, rng)
            control = self._passes(scenario, at, True, rng) if confirms and not ok else None
            if ok:
                self.passed.append(at)
            if ok and not confirms:
                runs.clear()
                at += rules.canary_interval
                continue
            runs.append(CanaryRun(ok, moment(at), control, confirms=confirms))
            verdict = judge_canary(runs, rules.canary, moment(at))
            self.held = self.held or verdict.reason == "environment"
            if verdict.status is SignalStatus.FAIL:
                self.failed = at
                return
            pause, confirms = next_canary(runs, rules.canary_interval, rules.canary)
            at += pause

    @staticmethod
    def _passes(scenario: Scenario, at: float, old: bool, rng: Random) -> bool:
        down = scenario.canary_down_at is not None and at >= scenario.canary_down_at and (scenario.shared or not old)
        return not down and rng.random() >= scenario.canary_flake


def _closes(
    tasks: Tasks, baseline: Baseline, canaries: _Canaries, rules: Rules, until: float
) -> tuple[float, Outcome]:  # fmt: skip
    """When the window closes, if before `until`, and how: asked at its end and whenever evidence has come since."""
    for at in _occasions(tasks, canaries, rules):
        if at >= until:
            break
        judged = tasks.judged(at)
        reading = RateReading(tasks.looks[:judged], tasks.unjudged(at))
        standing = Standing(
            elapsed_seconds=at,
            good=tasks.good(at),
            judged=judged,
            baseline=baseline,
            canaries_passed=sum(passed <= at for passed in canaries.passed),
            http_good=True,
            process_good=True,
            rate_good=judge_rate(reading, baseline, rules.rate).status is SignalStatus.OK,
        )
        verdict = judge_clean(standing, rules.clean)
        if verdict.status is SignalStatus.OK:
            return at, Outcome.CLEAN
        if verdict.reason == "deadline":
            return at, Outcome.INSUFFICIENT
    return _NEVER, Outcome.INSUFFICIENT


def _occasions(tasks: Tasks, canaries: _Canaries, rules: Rules) -> Iterator[float]:
    """The end of the window, every later poll with news, the deadline."""
    start, end = rules.clean.window_seconds, rules.clean.deadline_seconds
    yield start
    news = chain((next_poll(at, rules.rate_interval) for at in tasks.judged_at), canaries.passed)
    yield from sorted(at for at in news if start < at < end)
    yield end
