"""The original rule, to measure against: every 300 s a look, hourly a canary, 30 points, and ten tasks or a day.

A small restatement of its decisions for simulated deployments; the profile that runs them is `deploy.classic`. One
failed canary fails a version, tasks without a verdict count as approved, and a crash restarted between two samples is
not seen.
"""

from bisect import bisect_right
from random import Random
from typing import Final

from buildeye.deploy.simulation.probing import is_down
from buildeye.deploy.simulation.scenario import Ending, Outcome, Scenario
from buildeye.deploy.simulation.tasks import draw_baseline, draw_tasks
from buildeye.model.deployments import SignalKind

SAMPLE_SECONDS: Final = 300
CANARY_SECONDS: Final = 3600
HTTP_FAILURES: Final = 3
POINTS: Final = 30
WINDOW_SECONDS: Final = 24 * 3600
TASKS: Final = 10


def watch_by_seed(scenario: Scenario, rng: Random) -> Ending:
    """Watch one deployment by the original rule to its end."""
    baseline = draw_baseline(scenario, rng)
    tasks = draw_tasks(scenario, WINDOW_SECONDS + SAMPLE_SECONDS, rng)
    rejected = [0]
    for approved in tasks.approved:
        rejected.append(rejected[-1] + (not approved))
    in_a_row, at = 0, 0
    while True:
        at += SAMPLE_SECONDS
        in_a_row = in_a_row + 1 if is_down(scenario, at) or rng.random() < scenario.http_flake else 0
        entered, judged = bisect_right(tasks.entered, at), tasks.judged(at)
        signal: SignalKind | None = None
        if in_a_row >= HTTP_FAILURES:
            signal = SignalKind.HTTP
        elif at % CANARY_SECONDS == 0 and _canary_fails(scenario, at, rng):
            signal = SignalKind.CANARY
        elif entered and baseline.total:
            good = entered - rejected[judged]
            if 100 * abs(good * baseline.total - baseline.good * entered) > POINTS * baseline.total * entered:
                signal = SignalKind.RATE
        if signal is not None:
            return Ending(Outcome.ROLLED_BACK, at, judged, signal)
        if at >= WINDOW_SECONDS or entered >= TASKS:
            return Ending(Outcome.CLEAN, at, judged)


def _canary_fails(scenario: Scenario, at: float, rng: Random) -> bool:
    return (
        scenario.canary_down_at is not None and at >= scenario.canary_down_at
    ) or rng.random() < scenario.canary_flake
