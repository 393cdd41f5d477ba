"""How busy the pools of runners were: one range of two expressions a pass, whatever the number of jobs.

What is asked is a setting, so any metrics will do that have a series a pool: docs/prometheus.md.
"""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from buildeye.ask import Prometheus, Series, prometheus_of
from buildeye.config import Settings
from buildeye.model import BuildEyeError, PoolLoad

STEP = timedelta(minutes=5)

Loads = dict[tuple[str, datetime], float]


def loads_of_pass(settings: Settings, since: datetime, until: datetime, warn: Callable[[str], None]) -> list[PoolLoad]:
    """What `pool_loads` gives by the Prometheus that the settings name; nothing when they name none. It never fails."""
    try:
        prometheus = prometheus_of(settings)
    except BuildEyeError as error:
        warn(f"the load of runner pools is not known: {error}")
        return []
    if prometheus is None:
        return []
    with prometheus:
        return pool_loads(prometheus, settings, since, until, warn)


def pool_loads(
    prometheus: Prometheus, settings: Settings, since: datetime, until: datetime, warn: Callable[[str], None]
) -> list[PoolLoad]:
    """Waiting and running jobs of every pool each five minutes from `since` to `until`, by pool and time.

    A pool that only one of the two expressions has a number for has none (0) of the other. A server that does not
    answer, and an answer that says nothing of pools, is one warning; then there are no loads.
    """
    asked = settings.prometheus
    start = _on_the_step(since)
    found: list[Loads] = []
    for key, expression in (("waiting", asked.waiting), ("running", asked.running)):
        try:
            series = prometheus.query_range(expression, start, until, STEP)
            reason = _useless(prometheus, series, expression, asked.pool_label, start, until)
        except BuildEyeError as error:
            series, reason = (), str(error)
        if reason:
            warn(f"the load of runner pools is not known (prometheus.{key}): {reason}")
            return []
        found.append(_by_pool(series, asked.pool_label))
    waiting, running = found
    return [
        PoolLoad(pool, at, waiting.get((pool, at), 0.0), running.get((pool, at), 0.0))
        for pool, at in sorted(waiting.keys() | running.keys())
    ]


def _useless(
    prometheus: Prometheus, series: Sequence[Series], expression: str, label: str, since: datetime, until: datetime
) -> str:
    """Why an answer says nothing of pools; empty when it does, and when there is nothing to be said."""
    if not series:
        known = prometheus.metrics_in(expression, since, until)
        return "" if known else f"{prometheus.place} has no metric of those in {expression}; see docs/prometheus.md"
    if not any(each.labels.get(label) for each in series):
        return f"no series has the label {label}; group by it, or name another in prometheus.pool_label"
    return ""


def _by_pool(series: Sequence[Series], label: str) -> Loads:
    """The numbers of each pool at each moment; series of one pool are added up, what is no number is left out."""
    loads: Loads = {}
    for each in series:
        pool = each.labels.get(label)
        if not pool:
            continue
        for point in each.points:
            if math.isfinite(point.value):
                loads[pool, point.at] = loads.get((pool, point.at), 0.0) + max(0.0, point.value)
    return loads


def _on_the_step(moment: datetime) -> datetime:
    """The last step at or before a moment, so that passes ask for the same moments."""
    steps = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // STEP
    return datetime(1970, 1, 1, tzinfo=UTC) + steps * STEP
