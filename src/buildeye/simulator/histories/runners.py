"""Who is free when: the queue before each pool of runners, first come first served as far as the story is told."""

from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from buildeye.simulator.roster import Span
from buildeye.simulator.shapes import Pool


@dataclass(slots=True)
class Runners:
    """The spans in which each runner is busy, in order and never over one another."""

    busy: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))

    def take(self, runner: str, span: Span) -> None:
        """Keep a runner busy, with work of this repository or of others."""
        insort(self.busy[runner], span)

    def wait(self, runner: str, start: datetime, length: timedelta) -> datetime:
        """The first moment from `start` on when a runner is free for so long."""
        spans = self.busy[runner]
        place = bisect_left(spans, (start, start))
        if place and spans[place - 1][1] > start:
            start = spans[place - 1][1]
        while place < len(spans) and spans[place][0] < start + length:
            start = max(start, spans[place][1])
            place += 1
        return start

    def seize(self, pool: Pool, start: datetime, length: timedelta, rng: Random) -> tuple[datetime, str]:
        """The first free runner of a pool, any of those free at once, and when it takes the job."""
        first, chosen = rng.randrange(len(pool.runners)), ""
        soonest = datetime.max.replace(tzinfo=start.tzinfo)
        for runner in (*pool.runners[first:], *pool.runners[:first]):
            at = self.wait(runner, start, length)
            if at < soonest:
                soonest, chosen = at, runner
            if at == start:
                break
        if soonest > start:
            soonest += timedelta(seconds=rng.randint(1, 20))
        self.take(chosen, (soonest, soonest + length))
        return soonest, chosen
