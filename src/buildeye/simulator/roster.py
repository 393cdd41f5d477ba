"""Who works on what: gives each job a runner that is free, as a pool of machines would."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from buildeye.simulator.shapes import Pool

Span = tuple[datetime, datetime]


@dataclass(slots=True)
class Roster:
    """The spans in which each runner is busy, filled while the story is told.

    From `since` on, the runner `sick` does only what the story orders it to do.
    """

    sick: str
    since: datetime
    busy: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))

    def pick(self, pool: Pool, span: Span, rng: Random, ordered: str | None) -> str:
        """The runner that the story ordered, else one of the pool that is free; any one when all are busy."""
        away = self.sick if span[1] > self.since else ""
        candidates = [runner for runner in rng.sample(pool.runners, len(pool.runners)) if runner != away]
        chosen = ordered or next((runner for runner in candidates if self._free(runner, span)), candidates[0])
        self.busy[chosen].append(span)
        return chosen

    def _free(self, runner: str, span: Span) -> bool:
        return all(end <= span[0] or span[1] <= start for start, end in self.busy[runner])
