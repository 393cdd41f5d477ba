"""`build-eye queue`: which jobs wait for a runner, now and over time, and whether runners are too few."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, asked, say_why_nothing, written
from buildeye.cli.setup import now
from buildeye.cli.stages import CONFIG, TARGET

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from buildeye.config import Settings
    from buildeye.insight.queues import QueueDepth, QueueHistory, Waits
    from buildeye.warehouse import Warehouse

_MINUTE: Final = 60
_SAID: Final = {"capacity": "too little capacity", "burst": "a burst", "calm": "calm"}


def queue(
    at_once: bool = typer.Option(False, "--now", help="The queues of this moment; so it is without --since."),
    since: str = typer.Option("", "--since", help="Over time, from 24h, 7d or a date (UTC) on."),
    bucket: str = typer.Option(
        "1h", "--bucket", help="With --since: how long a stretch of time is, such as 15m or 1h."
    ),
    label: str = typer.Option("", "--label", help="Only jobs that ask for this label, alone or among others."),
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say which jobs wait for a runner, by the labels they ask for: how many, how long, and since when.

    \b
    Examples:
      build-eye queue
      build-eye queue --since 24h
      build-eye queue --since 7d --bucket 6h --label linux-aarch64-a2-1 -o csv
    """
    from buildeye.model import UsageError
    from buildeye.model.times import duration, moment

    if at_once and since:
        raise UsageError("--now and --since are two questions; ask one")
    at = now()
    begin = moment("--since", since, at) if since else None
    length = duration("--bucket", bucket)
    with asked(target_repo, config) as (warehouse, settings):
        if begin is None:
            answer = _now(warehouse, settings, at, label, form)
        else:
            answer = _over(warehouse, settings, (begin, at), length, label, form)
    typer.echo(answer)


def _now(warehouse: "Warehouse", settings: "Settings", at: "datetime", label: str, form: AnswerForm) -> str:
    from buildeye.insight.queuerows import NOW_COLUMNS, now_row
    from buildeye.insight.queues import queue_now

    repository = settings.target_repository.full_name
    found = queue_now(warehouse, repository, at, label)
    say_why_nothing(warehouse, repository, found)
    if form is not AnswerForm.TABLE:
        return written([now_row(each) for each in found], NOW_COLUMNS, form)
    return depth_table(found) if found else f"{repository}: no job waits, runs or started within the hour{_for(label)}"


def _over(
    warehouse: "Warehouse",
    settings: "Settings",
    span: "tuple[datetime, datetime]",
    bucket: "timedelta",
    label: str,
    form: AnswerForm,
) -> str:
    from buildeye.insight.queuerows import OVER_COLUMNS, over_rows
    from buildeye.insight.queues import queue_over

    repository = settings.target_repository.full_name
    found = queue_over(warehouse, repository, *span, bucket, label)
    say_why_nothing(warehouse, repository, found)
    if form is not AnswerForm.TABLE:
        return written([row for each in found for row in over_rows(each)], OVER_COLUMNS, form)
    return (
        history_table(found)
        if found
        else f"{repository}: no job waited or ran since {span[0]:%Y-%m-%d %H:%M} UTC{_for(label)}"
    )


def _for(label: str) -> str:
    return f" that asks for {label}" if label else ""


def depth_table(found: "Sequence[QueueDepth]") -> str:
    """Queues at a moment for a person, 100 columns at most; waits are p50 / p90 / longest."""
    from buildeye.cli.tables import table
    from buildeye.logs.secrets import strip_controls

    head = ("label", "depth", "running", "waiting for", "ghosts", "started", "after")
    rows = [
        (
            strip_controls(each.label) or "(none)",
            str(each.depth),
            str(each.running),
            _told(each.waiting),
            str(each.ghosts.total),
            str(each.started.jobs if each.started else 0),
            _told(each.started),
        )
        for each in found
    ]
    return table(head, rows) + "\n started: within the last hour; waits: p50 / p90 / longest"


def history_table(found: "Sequence[QueueHistory]") -> str:
    """Queues over time for a person, 100 columns at most: one line a label; the buckets are in the other forms."""
    from buildeye.cli.tables import table
    from buildeye.logs.secrets import strip_controls
    from buildeye.model.spans import lasting

    head = ("label", "looks like", "deep for", "deepest", "at", "longest wait", "started", "ghosts")
    rows = [
        (
            strip_controls(each.label) or "(none)",
            _SAID[each.pattern],
            lasting(each.longest_deep.total_seconds()) if each.longest_deep else "-",
            f"{each.peak.depth:.1f}",
            f"{each.peak.begin:%m-%d %H:%M}" if each.peak.depth else "-",
            lasting(_longest_wait(each)),
            str(sum(bucket.started.jobs for bucket in each.buckets if bucket.started)),
            str(each.ghosts),
        )
        for each in found
    ]
    return table(head, rows)


def _longest_wait(history: "QueueHistory") -> float:
    waits = [waits for bucket in history.buckets for waits in (bucket.waiting, bucket.started) if waits]
    return max((each.longest for each in waits), default=0.0)


def _told(waits: "Waits | None") -> str:
    """p50 / p90 / longest, or the one there is; from two minutes on in whole minutes."""
    if not waits:
        return "-"
    told = (waits.longest,) if waits.jobs == 1 else (waits.p50, waits.p90, waits.longest)
    return " / ".join(_briefly(each) for each in told)


def _briefly(seconds: float) -> str:
    from buildeye.model.spans import lasting

    return lasting(round(seconds) if seconds < 2 * _MINUTE else _MINUTE * round(seconds / _MINUTE))
