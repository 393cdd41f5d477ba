"""Builds the scripted past of the simulated repository from a seed and the present moment."""

from datetime import UTC, datetime

from buildeye.simulator.cast import FORKS
from buildeye.simulator.chronicle import tell
from buildeye.simulator.facts import Past
from buildeye.simulator.last_day import last_day
from buildeye.simulator.scenes import broken_trunk, concurrent_merges, flaky_test, index_outage, schedules
from buildeye.simulator.weeks import ordinary_weeks

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
