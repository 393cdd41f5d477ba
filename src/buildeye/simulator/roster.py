"""Who works on what: gives each job a runner that is free, as a pool of machines would."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from buildeye.simulator.shapes import Pool

Span = tuple[datetime, datetime]


_PART = 6 * 3600
"""Busy spans are kept by quarters of a day (seconds), so that a look at one span sees few others."""


@dataclass(slots=True)
class Roster:
    """The spans in which each runner is busy, filled while the story is told.

    From `since` on, the runner `sick` does only what the story orders it to do.
    """

    sick: str
    since: datetime
    busy: dict[tuple[str, int], list[Span]] = field(default_factory=lambda: defaultdict(list))

    def pick(self, pool: Pool, span: Span, rng: Random, ordered: str | None) -> str:
        """The runner that the story ordered, else one of the pool that is free; any one when all are busy."""
        away = self.sick if span[1] > self.since else ""
        candidates = [runner for runner in rng.sample(pool.runners, len(pool.runners)) if runner != away]
        chosen = ordered or next((runner for runner in candidates if self.free(runner, span)), candidates[0])
        self.take(chosen, span)
        return chosen

    def take(self, runner: str, span: Span) -> None:
        """Keep a runner busy."""
        for part in _parts(span):
            self.busy[runner, part].append(span)

    def free(self, runner: str, span: Span) -> bool:
        """Whether a runner does nothing else in a span."""
        return all(
            end <= span[0] or span[1] <= start
            for part in _parts(span)
            for start, end in self.busy.get((runner, part), ())
        )


def _parts(span: Span) -> Iterator[int]:
    return iter(range(int(span[0].timestamp()) // _PART, int(span[1].timestamp()) // _PART + 1))
