"""How busy the runners of each pool were, as a watcher of the queue would have noted it."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from buildeye.model import Job, PoolLoad
from buildeye.simulator.roster import Span
from buildeye.simulator.shapes import POOLS

EVERY = timedelta(minutes=15)


def pool_loads(
    jobs: Sequence[Job], elsewhere: Mapping[str, Sequence[Span]], start: datetime, end: datetime
) -> Iterator[PoolLoad]:
    """What each pool had to do every quarter of an hour; `elsewhere` are spans that work of others took."""
    for key, pool in POOLS.items():
        there = [job for job in jobs if job.labels == pool.labels and job.created_at and job.started_at]
        created = sorted(job.created_at for job in there if job.created_at)
        gone = sorted(job.started_at for job in there if job.started_at)
        ran = [job for job in there if job.runner_name]
        started = sorted(
            [job.started_at for job in ran if job.started_at] + [span[0] for span in elsewhere.get(key, ())]
        )
        ended = sorted([job.completed_at or end for job in ran] + [span[1] for span in elsewhere.get(key, ())])
        at = start
        while at <= end:
            waiting = bisect_right(created, at) - bisect_right(gone, at)
            running = bisect_right(started, at) - bisect_right(ended, at)
            yield PoolLoad(",".join(sorted(pool.labels)), at, float(waiting), float(running))
            at += EVERY
