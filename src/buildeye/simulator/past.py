"""Builds the scripted past of the simulated repository from a seed and the present moment."""

from datetime import UTC, datetime

from buildeye.simulator.cast import FORKS
from buildeye.simulator.chronicle import tell
from buildeye.simulator.facts import Past
from buildeye.simulator.last_day import last_day
from buildeye.simulator.scenes import broken_trunk, concurrent_merges, flaky_test, index_outage, schedules
from buildeye.simulator.weeks import Pace, ordinary_weeks

OWNER, NAME = "example-org", "vllm-ascend-sim"
LOG_DAYS = 14


def build_past(seed: int, now: datetime, owner: str = OWNER, name: str = NAME, *, log_days: int = LOG_DAYS) -> Past:
    """Three weeks up to `now` (aware, cut to the second); equal arguments give an equal past.

    Logs of jobs that ended more than `log_days` days ago have expired.
    """
    scenes = (
        ordinary_weeks(seed),
        broken_trunk(),
        concurrent_merges(),
        flaky_test(),
        index_outage(),
        schedules(),
        last_day(),
    )
    return tell(seed, now.astimezone(UTC).replace(microsecond=0), owner, name, scenes, FORKS, log_days)


def build_busy_day(seed: int, now: datetime, pulls: int, owner: str = OWNER, name: str = NAME) -> Past:
    """One day up to `now` in which so many pull requests begin, each of some four runs; equal arguments, equal past.

    One run in ten fails.
    """
    scene = ordinary_weeks(seed, Pace(pulls, first=23.0, last=6.5, merged=1.5, troubled=0.72))
    return tell(seed, now.astimezone(UTC).replace(microsecond=0), owner, name, (scene,), FORKS, LOG_DAYS)
