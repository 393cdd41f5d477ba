"""The tool that says which jobs wait for a runner, now and over time."""

from datetime import datetime
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.insight.queuerows import now_row, over_rows
from buildeye.insight.queues import QueueHistory, queue_now, queue_over
from buildeye.mcp.branches import Repository, known_nothing
from buildeye.mcp.desk import Desk
from buildeye.mcp.quoting import QUOTED, fitting, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model.times import duration

_SAID = {"capacity": "too little capacity", "burst": "a burst", "calm": "calm"}


class QueueRow(Shape):
    """Jobs that ask for one set of labels, at this moment. Waits are seconds, null where no job is."""

    repository: str
    label: str = Field(description="The runner labels the jobs ask for, sorted, joined by commas.")
    depth: int = Field(description="Jobs that wait: assigned less running.")
    assigned: int
    running: int
    waiting_p50: float | None = Field(description="Of the jobs that wait: half waited no longer than so.")
    waiting_p90: float | None
    waiting_p99: float | None
    waiting_longest: float | None
    started: int = Field(description="Jobs that started within the last hour, and how long they had waited.")
    started_p50: float | None
    started_p90: float | None
    started_p99: float | None
    started_longest: float | None
    ghosts: int = Field(description="Jobs that wait in name only; they are in no other number.")
    ghosts_over: int
    ghosts_begun: int
    ghosts_overtaken: int
    ghosts_frozen: int
    longest_run_id: int | None


class QueueBucketRow(Shape):
    """A stretch of time of one queue; depth, assigned and running are means over it."""

    label: str
    begin: datetime
    end: datetime
    depth: float
    queued: int = Field(description="Jobs that waited at some time in it: a long wait counts in many.")
    assigned: float
    running: float
    waiting: int
    waiting_p50: float | None
    waiting_p90: float | None
    waiting_p99: float | None
    waiting_longest: float | None
    started: int
    started_p50: float | None
    started_p90: float | None
    started_p99: float | None
    started_longest: float | None
    ghosts: int
    pattern: Literal["capacity", "burst", "calm"]


class QueueAnswer(Shape):
    """Queues, deepest first: `now` without `since`, else `over_time`, those that lasted longest first."""

    now: list[QueueRow]
    over_time: list[QueueBucketRow]
    left_out: int
    warnings: list[str]


class QueueTools:
    """Tells who waits for a runner."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """The tool."""
        return [tool(self.queue, "queue", "Which jobs wait for a runner?")]

    def queue(
        self,
        repository: Repository = "",
        since: Annotated[
            str, Field(max_length=60, description="Over time, from 24h, 7d (ago) or a date on; '' is this moment.")
        ] = "",
        bucket: Annotated[
            str, Field(min_length=2, max_length=20, description="With since: how long a stretch of time is.")
        ] = "1h",
        label: Annotated[str, Field(max_length=200, description="Only jobs that ask for this runner label.")] = "",
        limit: Annotated[int, Field(ge=1, le=500, description="Rows told at most.")] = 50,
    ) -> Annotated[CallToolResult, QueueAnswer]:
        """Say which CI jobs wait for a runner, by the labels they ask for: how many, how long (percentiles in seconds),
        now or, with `since`, over time.

        Over time each queue has a pattern: capacity (deep for 4 hours or more: too few runners), burst (deep for less),
        calm. Ghosts, jobs that wait in name only because their run is over or frozen, are counted apart. From the jobs
        in the warehouse, as fresh as its last pass or webhook; for live gauges ask promql.
        """
        named = self._desk.repository(repository)
        if not since:
            at = self._desk.now()
            with self._desk.warehouse() as warehouse:
                rows = [now_row(each) for each in queue_now(warehouse, named, at, label)]
                warnings = [] if rows else known_nothing(warehouse, named)
            return _answered("now", named, rows, limit, [_now_line(row) for row in rows], warnings)
        begin, end = self._desk.window(since)
        with self._desk.warehouse() as warehouse:
            queues = queue_over(warehouse, named, begin, end, duration("bucket", bucket), label)
            warnings = [] if queues else known_nothing(warehouse, named)
        lines = [_pattern_line(each) for each in queues]
        rows = [row for each in queues for row in over_rows(each)]
        return _answered("over_time", named, rows, limit, lines, warnings)


def _answered(
    which: str, repository: str, rows: list[dict[str, Any]], limit: int, lines: list[str], warnings: list[str]
) -> CallToolResult:
    kept, cut = fitting(rows[:limit])
    left_out = cut + max(0, len(rows) - limit)
    structured = {"now": [], "over_time": [], "left_out": left_out, "warnings": warnings} | {which: kept}
    head = f"{plain_text(repository)}: {len(lines) or 'no'} {'queue' if len(lines) == 1 else 'queues'}"
    more = f", {left_out} rows left out" if left_out else ""
    said = [f"{head}{more}.", *(f"warning: {each}" for each in warnings)]
    return answer(structured, told([*said, *([QUOTED] if lines else []), *map(quoted, lines)]))


def _pattern_line(each: QueueHistory) -> str:
    peak = each.peak
    return f"{each.label}: {_SAID[each.pattern]}, deepest {peak.depth:.1f} at {peak.begin:%Y-%m-%d %H:%M} UTC"


def _now_line(row: dict[str, Any]) -> str:
    waits = f", longest for {row['waiting_longest']:.0f} s" if row["waiting_longest"] is not None else ""
    return f"{row['label']}: {row['depth']} wait{waits}, {row['running']} run, {row['ghosts']} ghosts"
