"""Verdicts as two counters of Prometheus: approved tasks and judged tasks.

`rate.good` and `rate.total` are PromQL for counters, such as `sum(tasks_approved_total{version="{version}"})`, in which
{version} and {deployment} stand for the deployment that is asked about. What counts is their growth since the cutover,
one look a step, so that a supervisor that was started again sees the same looks.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from buildeye.ask import Prometheus, Series
from buildeye.deploy.rates.counts import growth, looks_of, summed, whole
from buildeye.deploy.rates.query import LOOKBACK
from buildeye.deploy.rates.source import Serving, source_failures
from buildeye.deploy.rates.tasks import ids_hash
from buildeye.model.deployments import Baseline

if TYPE_CHECKING:
    from buildeye.deploy.judges.rate import RateReading

_BASELINE_POINTS: Final = 1_000
_MOST_SERVINGS: Final = 10  # clean deployments that a baseline is asked for


class PromqlSource:
    """A pair of expressions at a Prometheus; `step` is the time between two looks."""

    def __init__(
        self,
        prometheus: Prometheus,
        good: str,
        total: str,
        *,
        step: timedelta = timedelta(seconds=30),
        baseline_most: int = 200,
    ) -> None:
        self._prometheus, self._good, self._total = prometheus, good, total
        self._step = max(step, timedelta(seconds=1))
        self._baseline_most = baseline_most

    def read(self, serving: Serving, now: datetime) -> "RateReading":
        """As the protocol says, one look a step; what is pending is not known and counts as nothing."""
        from buildeye.deploy.judges.rate import RateReading

        until = min(now, serving.until or now)
        with source_failures(self._prometheus.place):
            return RateReading(self._looks(serving, serving.since, until, self._step))

    def baseline(self, clean: Sequence[Serving], known: Sequence[Serving], before: datetime) -> Baseline | None:
        """Counts of the newest clean deployments, or of the 30 days before where none is clean nor known.

        Whole steps are taken, newest first, while they fit into the number of tasks; `ids` is a hash of what was asked.
        """
        periods = [each for each in clean if each.since < before] or ([] if known else [_earlier(before)])
        good = total = 0
        asked = []
        with source_failures(self._prometheus.place):
            for serving in sorted(periods, key=lambda each: each.since, reverse=True)[:_MOST_SERVINGS]:
                until = min(before, serving.until or before)
                step = max(self._step, (until - serving.since) / _BASELINE_POINTS)
                newest = _newest(self._looks(serving, serving.since, until, step), self._baseline_most - total)
                good, total = good + newest[0], total + newest[1]
                asked += [f"{expression} {serving.since.isoformat()} {until.isoformat()} {newest[1]}"
                          for expression in self._filled(serving)]  # fmt: skip
                if total >= self._baseline_most:
                    break
        return Baseline(good, total, ids_hash(asked)) if total else None

    def close(self) -> None:
        """Close the connections."""
        self._prometheus.close()

    def _looks(
        self, serving: Serving, since: datetime, until: datetime, step: timedelta
    ) -> tuple[tuple[int, int], ...]:
        since = since.replace(microsecond=0)  # answers are in milliseconds, and must not seem to begin later
        if until <= since:
            return ()
        good, total = (
            summed(_grown(series, since) for series in self._prometheus.query_range(expression, since, until, step))
            for expression in self._filled(serving)
        )
        if total and max(total.values()) > 0 and not good:
            raise ValueError("rate.total counts tasks and rate.good has no series: write `... or vector(0)` "
                             "if that means that none was approved")  # fmt: skip
        return looks_of(good, total)

    def _filled(self, serving: Serving) -> tuple[str, str]:
        good, total = (
            text.replace("{version}", serving.version).replace("{deployment}", serving.deployment_id)
            for text in (self._good, self._total)
        )
        return good, total


def _earlier(before: datetime) -> Serving:
    return Serving("", before - LOOKBACK, before)


def _grown(series: Series, since: datetime) -> dict[datetime, int]:
    return growth([(point.at, whole(point.value, "a counter")) for point in series.points], since)


def _newest(looks: Sequence[tuple[int, int]], most: int) -> tuple[int, int]:
    """(approved, judged) of the newest looks that together hold at most so many tasks; the newest one in any case."""
    if not looks or most <= 0:
        return 0, 0
    good, total = looks[-1]
    before = [(0, 0), *looks[:-1]]
    first = next((look for look in before if total - look[1] <= most), before[-1])
    return good - first[0], total - first[1]
