"""The past, day by day: what a sync does for the newest runs, for every day of a longer time.

A day that is whole is recorded, so a backfill that was killed goes on with the day it was in, and doing it again asks
for nothing that is here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from buildeye.pipeline.sync.commits import sync_commits
from buildeye.pipeline.sync.joblogs import LogsSynced, sync_logs
from buildeye.pipeline.sync.pulls import complete_pull_requests, sync_pull_requests
from buildeye.pipeline.sync.runs import RunsSynced, sync_runs_of
from buildeye.pipeline.sync.scope import CLOCKS, Scope, Window
from buildeye.warehouse import SyncCursor

DAY = timedelta(days=1)
LATEST = timedelta(days=3)  # so long after its begin nearly every run is over
LAST = timedelta(seconds=1)  # GitHub counts in whole seconds


@dataclass(frozen=True, slots=True)
class DayDone:
    """One day of a backfill: what was brought, whether it was here before, and whether it is whole now."""

    window: Window
    runs: RunsSynced = field(default_factory=RunsSynced)
    logs: LogsSynced = field(default_factory=LogsSynced)
    known: bool = False
    whole: bool = True


def days_of(since: datetime, until: datetime) -> list[Window]:
    """The days (UTC) from `since` to `until`, the newest first; the first and the last may be parts of a day."""
    days = []
    start = since.replace(microsecond=0)
    while start <= until:
        midnight = start.replace(hour=0, minute=0, second=0) + DAY
        days.append(Window(start, min(midnight - LAST, until)))
        start = midnight
    return days[::-1]


def backfill(scope: Scope, since: datetime, until: datetime) -> Iterator[DayDone]:
    """Bring all facts of the time from `since` to `until`, a day at a time, the newest first.

    OutsideError: GitHub fails as a whole; what was brought stays. What it does not give of one run is said through
    `scope.warn`, and the day is not whole.
    """
    sync_pull_requests(scope, since)
    sync_commits(scope, since)
    for day in days_of(since, until):
        stream = f"day {day.since:%Y-%m-%d}"
        before = scope.cursors().get(stream)
        if before is not None and before.since <= day.since and before.reached >= day.until:
            yield DayDone(day, known=True)
            continue
        yield _day(scope, day, stream, before)


def _day(scope: Scope, day: Window, stream: str, before: SyncCursor | None) -> DayDone:
    warned: list[str] = []

    def warn(what: str) -> None:
        warned.append(what)
        scope.warn(what)

    heard = replace(scope, warn=warn)
    runs = sync_runs_of(heard, day)
    complete_pull_requests(heard, Window(day.since, day.until + LATEST))
    logs = sync_logs(heard, day)
    logs += sync_logs(heard, Window(day.until, day.until + DAY))  # what began this day and ended in the next
    logs += sync_logs(heard, Window(day.until, day.until + LATEST), green=False)
    over = day.until <= scope.now - CLOCKS
    if over and not warned:
        scope.move(before, stream, day.since, day.until, "")
    return DayDone(day, runs, logs, whole=not warned)
