"""Simulated tasks: when they come, when they are judged, and how."""

import math
from bisect import bisect_right
from dataclasses import dataclass
from random import Random
from typing import Final

from buildeye.deploy.simulation.scenario import Scenario
from buildeye.model.deployments import Baseline

MOST: Final = 150
"""Tasks after a cutover that are drawn one by one; what comes later changes no verdict of rate or close any more."""


@dataclass(frozen=True, slots=True)
class Tasks:
    """`entered` and `judged_at` in seconds from the cutover, in order of entering; `approved` as many truths."""

    entered: list[float]
    judged_at: list[float]
    approved: list[bool]
    looks: tuple[tuple[int, int], ...]

    def judged(self, at: float) -> int:
        """How many have a verdict."""
        return bisect_right(self.judged_at, at)

    def unjudged(self, at: float) -> int:
        """How many have entered validation and have none."""
        return bisect_right(self.entered, at) - self.judged(at)

    def good(self, at: float) -> int:
        """How many are approved."""
        judged = self.judged(at)
        return self.looks[judged - 1][0] if judged else 0


def draw_baseline(scenario: Scenario, rng: Random) -> Baseline:
    """The tasks before the cutover."""
    outcomes = _outcomes(scenario.rate_before, scenario.baseline_tasks, scenario, rng)
    return Baseline(sum(outcomes), scenario.baseline_tasks)


def draw_tasks(scenario: Scenario, until: float, rng: Random) -> Tasks:
    """The tasks after the cutover, up to a time or to MOST of them."""
    entered: list[float] = []
    if scenario.tasks_per_hour > 0:
        at = rng.expovariate(scenario.tasks_per_hour / 3600)
        while at < until and len(entered) < MOST:
            entered.append(at)
            at += rng.expovariate(scenario.tasks_per_hour / 3600)
    approved = _outcomes(scenario.rate_after, len(entered), scenario, rng)
    looks: list[tuple[int, int]] = []
    good = 0
    for judged, each in enumerate(approved, 1):
        good += each
        looks.append((good, judged))
    return Tasks(entered, [at + scenario.verdict_seconds for at in entered], approved, tuple(looks))


def _outcomes(rate: float, tasks: int, scenario: Scenario, rng: Random) -> list[bool]:
    """So many outcomes at a rate; overdispersed ones in groups that share a drawn rate (beta-binomial)."""
    if not scenario.rho or not 0 < rate < 1:
        return [rng.random() < rate for _ in range(tasks)]
    weight = 1 / scenario.rho - 1
    outcomes: list[bool] = []
    while len(outcomes) < tasks:
        shared = rng.betavariate(rate * weight, (1 - rate) * weight)
        outcomes += [rng.random() < shared for _ in range(min(scenario.rho_tasks, tasks - len(outcomes)))]
    return outcomes


def next_poll(at: float, interval: float) -> float:
    """The first poll at or after a time."""
    return math.ceil(at / interval) * interval
