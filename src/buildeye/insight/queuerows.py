"""Queues as programs and agents read them: one row a label now, one row a label and stretch of time."""

from typing import Any, Final

from buildeye.insight.queues import QueueBucket, QueueDepth, QueueHistory, Waits

_PERCENTILES: Final = ("p50", "p90", "p99", "longest")

NOW_COLUMNS: Final = (
    "repository", "label", "depth", "assigned", "running",
    "waiting_p50", "waiting_p90", "waiting_p99", "waiting_longest",
    "started", "started_p50", "started_p90", "started_p99", "started_longest",
    "ghosts", "ghosts_over", "ghosts_begun", "ghosts_overtaken", "ghosts_frozen", "longest_run_id",
)  # fmt: skip
OVER_COLUMNS: Final = (
    "label", "begin", "end", "depth", "queued", "assigned", "running",
    "waiting", "waiting_p50", "waiting_p90", "waiting_p99", "waiting_longest",
    "started", "started_p50", "started_p90", "started_p99", "started_longest", "ghosts", "pattern",
)  # fmt: skip


def now_row(queue: QueueDepth) -> dict[str, Any]:
    """A queue at a moment, by NOW_COLUMNS; waits in seconds, None where no job is."""
    return {
        "repository": queue.repository,
        "label": queue.label,
        "depth": queue.depth,
        "assigned": queue.assigned,
        "running": queue.running,
        **_waits("waiting", queue.waiting),
        "started": queue.started.jobs if queue.started else 0,
        **_waits("started", queue.started),
        "ghosts": queue.ghosts.total,
        "ghosts_over": queue.ghosts.over,
        "ghosts_begun": queue.ghosts.begun,
        "ghosts_overtaken": queue.ghosts.overtaken,
        "ghosts_frozen": queue.ghosts.frozen,
        "longest_run_id": queue.longest_run_id or None,
    }


def over_rows(history: QueueHistory) -> list[dict[str, Any]]:
    """A queue over time, by OVER_COLUMNS; `ghosts` and `pattern` are those of the whole time, equal in all rows."""
    pattern = str(history.pattern)
    return [_over_row(history.label, each) | {"ghosts": history.ghosts, "pattern": pattern} for each in history.buckets]


def _over_row(label: str, bucket: QueueBucket) -> dict[str, Any]:
    return {
        "label": label,
        "begin": bucket.begin,
        "end": bucket.end,
        "depth": round(bucket.depth, 2),
        "queued": bucket.queued,
        "assigned": round(bucket.assigned, 2),
        "running": round(bucket.running, 2),
        "waiting": bucket.waiting.jobs if bucket.waiting else 0,
        **_waits("waiting", bucket.waiting),
        "started": bucket.started.jobs if bucket.started else 0,
        **_waits("started", bucket.started),
    }


def _waits(name: str, waits: Waits | None) -> dict[str, float | None]:
    return {f"{name}_{part}": round(getattr(waits, part), 1) if waits else None for part in _PERCENTILES}
