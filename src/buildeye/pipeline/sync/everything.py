"""One sync as a story: runs with their jobs, pull requests, the base branch, incidents, logs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from buildeye.model import OutsideError
from buildeye.pipeline.sync.commits import sync_commits
from buildeye.pipeline.sync.incidents import sync_incidents
from buildeye.pipeline.sync.joblogs import LogsSynced, sync_logs
from buildeye.pipeline.sync.pulls import complete_pull_requests, sync_pull_requests
from buildeye.pipeline.sync.runs import LONGEST_RUN, RunsSynced, run_streams, sync_newest_runs
from buildeye.pipeline.sync.scope import CLOCKS, Scope, Window

FAILURES = "failures"


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync brought that was not here before."""

    runs: RunsSynced
    pull_requests: int
    commits: int
    logs: LogsSynced
    incidents: int = 0


def sync(scope: Scope, since: datetime) -> Synced:
    """Bring the warehouse and the log archive up to date with GitHub, back to `since` and to the last sync.

    OutsideError: the runs cannot be had. What else GitHub does not give is said through `scope.warn`, and asked for
    again by the next sync.
    """
    runs = sync_newest_runs(scope, since)
    pulls = _told(scope, "pull requests are not known", lambda: sync_pull_requests(scope, since))
    commits = _told(scope, f"commits of {scope.branch} are not known", lambda: sync_commits(scope, since))
    incidents = _told(scope, "incidents of GitHub are not known", lambda: sync_incidents(scope))
    logs = sync_failures(scope, since)
    scope.logs.forget(scope.repository, (scope.now - timedelta(days=scope.keep_days)).date())
    return Synced(runs, pulls, commits, logs, incidents)


def sync_failures(scope: Scope, since: datetime) -> LogsSynced:
    """What belongs to runs that failed: pull request, files, logs; also what an earlier sync did not come to.

    The cursor stays while something is owed, for as long as GitHub may still have it.
    """
    cursors = scope.cursors()
    before = cursors.get(FAILURES)
    walked = [cursors[stream] for stream in run_streams(scope) if stream in cursors]
    start = before.reached - CLOCKS if before is not None else min((c.since for c in walked), default=since)
    window = Window(min(since, max(start, scope.now - LONGEST_RUN)), scope.now + CLOCKS)
    warned: list[str] = []

    def warn(what: str) -> None:
        warned.append(what)
        scope.warn(what)

    heard = replace(scope, warn=warn)
    complete_pull_requests(heard, window)
    logs = sync_logs(heard, window)
    if walked and not warned and not logs.failed:
        reached = min(cursor.reached for cursor in walked)
        scope.move(before, FAILURES, before.since if before is not None else window.since, reached, "")
    return logs


def _told(scope: Scope, what: str, bring: Callable[[], int]) -> int:
    try:
        return bring()
    except OutsideError as error:
        scope.warn(f"{what}: {error}")
        return 0
