"""Which jobs wait for a runner, now and over time, by the labels they ask for; too little capacity, or only a burst?"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Any, Final

from buildeye.model import UsageError
from buildeye.warehouse import Warehouse

MOST_BUCKETS: Final = 2_000
LEAST_DEEP: Final = 1.0
"""Jobs that must wait on average in a stretch of time before it counts as deep: below, somebody waits now and then."""
DEEP_SHARE: Final = 0.1
"""... and at least this share of those that run: one that waits beside a hundred that run is no lack of runners."""
LASTING: Final = timedelta(hours=4)
"""Deep for so long without a break is too little capacity: the burst of a morning is worked off by then."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long `jobs` jobs waited, in seconds: 50, 90 and 99 of 100 no longer than so (interpolated); the longest."""

    jobs: int
    p50: float
    p90: float
    p99: float
    longest: float


@dataclass(frozen=True, slots=True)
class Ghosts:
    """Jobs that wait in name only, each under the first reason that fits.

    Their run is `over`; steps of theirs have `begun`; a job for the same labels that was created ten minutes later has
    started (`overtaken`); nothing happened in their run for 6 hours (`frozen`).
    """

    over: int = 0
    begun: int = 0
    overtaken: int = 0
    frozen: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.over + self.begun + self.overtaken + self.frozen


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Jobs of a repository that ask for one set of labels (sorted, joined by commas), at one moment.

    `assigned` wait or run, `running` run; ghosts are in neither. `waiting`: of the jobs that wait then, None when none
    does. `started`: of those that started within the hour before. `longest_run_id`: the run of the job that waits
    longest; 0 when none does.
    """

    repository: str
    label: str
    assigned: int
    running: int
    ghosts: Ghosts = Ghosts()
    waiting: Waits | None = None
    started: Waits | None = None
    longest_run_id: int = 0

    @property
    def depth(self) -> int:
        """How many wait: assigned less running, never below 0."""
        return max(0, self.assigned - self.running)


@dataclass(frozen=True, slots=True)
class QueueBucket:
    """One stretch of time, `begin` up to `end`.

    `queued` jobs waited at some time in it, so that a long wait counts in many stretches. `assigned` and `running` are
    means over it. `waiting`: of the jobs that still wait at its end; `started`: of those that started in it.
    """

    begin: datetime
    end: datetime
    queued: int = 0
    assigned: float = 0.0
    running: float = 0.0
    waiting: Waits | None = None
    started: Waits | None = None

    @property
    def depth(self) -> float:
        """How many wait on average: assigned less running, never below 0."""
        return max(0.0, self.assigned - self.running)

    @property
    def deep(self) -> bool:
        """Whether so many wait that it is more than chance."""
        return self.depth >= max(LEAST_DEEP, DEEP_SHARE * self.running)


class Pattern(StrEnum):
    """What a queue looks like over time."""

    CALM = "calm"
    BURST = "burst"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class QueueHistory:
    """The queue for one set of labels over time: all buckets, oldest first, also empty ones; ghosts are in none."""

    label: str
    buckets: tuple[QueueBucket, ...]
    ghosts: int = 0

    @property
    def peak(self) -> QueueBucket:
        """The deepest stretch of time, the earliest of equal ones."""
        return max(self.buckets, key=lambda bucket: bucket.depth)

    @property
    def longest_deep(self) -> timedelta:
        """How long it was deep without a break."""
        return longest_deep(self.buckets)

    @property
    def pattern(self) -> Pattern:
        """Too little capacity, a burst, or neither."""
        return pattern(self.buckets)


def longest_deep(buckets: Iterable[QueueBucket]) -> timedelta:
    """The longest time the queue was deep without a break. `buckets` follow each other, oldest first."""
    longest = here = timedelta()
    for bucket in buckets:
        here = here + (bucket.end - bucket.begin) if bucket.deep else timedelta()
        longest = max(longest, here)
    return longest


def pattern(buckets: Iterable[QueueBucket]) -> Pattern:
    """Deep for 4 hours or more without a break: too little capacity. Deep for less: a burst. Never deep: calm."""
    longest = longest_deep(buckets)
    if longest >= LASTING:
        return Pattern.CAPACITY
    return Pattern.BURST if longest else Pattern.CALM


def queue_now(warehouse: Warehouse, repository: str | None, at: datetime, label: str = "") -> tuple[QueueDepth, ...]:
    """The queues at a moment, deepest first; of all repositories for None, for jobs that ask for `label` when given.

    Labels without a job that waits, runs or started within the hour are left out. One question.
    Raises what `Warehouse.ask` raises.
    """
    rows = warehouse.ask("queue_now", repository=repository or "", label=label, at=at)
    return tuple(_depth_of(row) for row in rows)


def queue_over(
    warehouse: Warehouse, repository: str, since: datetime, until: datetime, bucket: timedelta, label: str = ""
) -> tuple[QueueHistory, ...]:
    """The queues of a repository from `since` up to `until` in stretches of `bucket`; those that lasted longest first.

    One question. UsageError: the time has no length, or more than 2,000 stretches. Raises what `Warehouse.ask` raises.
    """
    seconds = int(bucket.total_seconds())
    if until <= since or seconds < 1:
        raise UsageError("the queue needs a time that has passed and stretches of a second or more")
    count = ceil((until - since) / timedelta(seconds=seconds))
    if count > MOST_BUCKETS:
        raise UsageError(
            f"{count:,} stretches of time are more than {MOST_BUCKETS:,}: make --bucket longer or --since later"
        )
    rows = warehouse.ask("queue_over", repository=repository, label=label, since=since, until=until, bucket=seconds)
    return histories(rows, since, until, timedelta(seconds=seconds))


def histories(
    rows: Iterable[Mapping[str, Any]], since: datetime, until: datetime, bucket: timedelta
) -> tuple[QueueHistory, ...]:
    """The answer of `queue_over`, with the stretches in which nothing happened; the order of rows never matters."""
    known: dict[str, dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for row in rows:
        known[row["label"]][row["bucket"]] = row
    edges = [since + bucket * n for n in range(ceil((until - since) / bucket))]
    spans = list(zip(edges, [*edges[1:], until], strict=True))
    told = [
        QueueHistory(
            label,
            tuple(_bucket_of(begin, end, own.get(n)) for n, (begin, end) in enumerate(spans)),
            own[-1]["ghosts"] if -1 in own else 0,
        )
        for label, own in known.items()
    ]
    return tuple(sorted(told, key=lambda each: (-each.longest_deep, -each.peak.depth, each.label)))


def _depth_of(row: Mapping[str, Any]) -> QueueDepth:
    return QueueDepth(
        row["repository"], row["label"], row["queued"] + row["running"], row["running"],
        Ghosts(row["ghosts_over"], row["ghosts_begun"], row["ghosts_overtaken"], row["ghosts_frozen"]),
        _waits(row["queued"], row["waiting"]), _waits(row["started"], row["started_waits"]), row["longest_run_id"],
    )  # fmt: skip


def _bucket_of(begin: datetime, end: datetime, row: Mapping[str, Any] | None) -> QueueBucket:
    if row is None:
        return QueueBucket(begin, end)
    seconds = (end - begin).total_seconds()
    return QueueBucket(
        begin, end, row["queued"], (row["waited_seconds"] + row["ran_seconds"]) / seconds, row["ran_seconds"] / seconds,
        _waits(row["waiting"], row["waits"]), _waits(row["started"], row["started_waits"]),
    )  # fmt: skip


def _waits(jobs: int, seconds: Sequence[float]) -> Waits | None:
    return Waits(jobs, *seconds) if jobs else None
