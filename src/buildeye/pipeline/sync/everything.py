"""One sync as a story: runs with their jobs, pull requests, the base branch, logs."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from buildeye.model import OutsideError
from buildeye.pipeline.sync.commits import sync_commits
from buildeye.pipeline.sync.joblogs import LogsSynced, sync_logs
from buildeye.pipeline.sync.pulls import complete_pull_requests, sync_pull_requests
from buildeye.pipeline.sync.runs import RunsSynced, sync_newest_runs
from buildeye.pipeline.sync.scope import CLOCKS, Scope, Window


@dataclass(frozen=True, slots=True)
class Synced:
    """What a sync brought that was not here before."""

    runs: RunsSynced
    pull_requests: int
    commits: int
    logs: LogsSynced


def sync(scope: Scope, since: datetime) -> Synced:
    """Bring the warehouse and the log archive up to date with GitHub, back to `since` and to the last sync.

    OutsideError: the runs cannot be had. What else GitHub does not give is said through `scope.warn`, and asked for
    again by the next sync.
    """
    runs = sync_newest_runs(scope, since)
    pulls = _told(scope, "pull requests are not known", lambda: sync_pull_requests(scope, since))
    commits = _told(scope, f"commits of {scope.branch} are not known", lambda: sync_commits(scope, since))
    window = Window(since, scope.now + CLOCKS)
    complete_pull_requests(scope, window)
    logs = sync_logs(scope, window)
    scope.logs.forget(scope.repository, (scope.now - timedelta(days=scope.keep_days)).date())
    return Synced(runs, pulls, commits, logs)


def _told(scope: Scope, what: str, bring: Callable[[], int]) -> int:
    try:
        return bring()
    except OutsideError as error:
        scope.warn(f"{what}: {error}")
        return 0
