"""Runs with the jobs of all their attempts: the newest first, until what is known already; then those still owed.

A run's row may be here without its jobs, when a pass was killed or GitHub failed for that one run, or when a webhook
told of it. So what is here is recorded apart (`buildeye.synced_run`), and what is not is asked for again.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from buildeye.github.client import of_workflows
from buildeye.github.parallel import in_parallel
from buildeye.github.wire import NotFoundError
from buildeye.model import Job, OutsideError, Run
from buildeye.pipeline.sync.scope import GIVE_UP, Scope, Window
from buildeye.warehouse import SyncCursor, SyncedRun
from buildeye.warehouse.reading import run_of

STREAM = "runs"
OVERLAP = timedelta(hours=1)  # GitHub may show a run a little late
LONGEST_RUN = timedelta(days=35)  # after that GitHub cancels a run by itself
SETTLED = timedelta(days=1)
NO_JOBS = frozenset({"skipped", "neutral", "action_required", "stale"})


@dataclass(frozen=True, slots=True)
class RunsSynced:
    """What happened: runs looked at, those that were new or had changed, and jobs that were brought."""

    looked_at: int = 0
    changed: int = 0
    jobs: int = 0

    def __add__(self, other: "RunsSynced") -> "RunsSynced":
        return RunsSynced(
            self.looked_at + other.looked_at, self.changed + other.changed, self.jobs + other.jobs
        )  # fmt: skip


def sync_newest_runs(scope: Scope, since: datetime) -> RunsSynced:
    """Runs created from `since` on, and all since the last sync; then runs that were not over, or whose jobs failed.

    With workflows chosen each has a cursor of its own, so one that is added later is read from `since` on.
    """
    streams = run_streams(scope)
    cursors = scope.cursors()
    known = [cursors[stream] for stream in streams if stream in cursors]
    edge = min([since, *(cursor.reached - OVERLAP for cursor in known)]) if len(known) == len(streams) else since
    step = scope.progress.start("runs", 1)
    total, met = RunsSynced(), set[int]()
    first, oldest, reached = "", edge, edge
    for page in scope.github.run_pages(scope.owner, scope.repo, since=edge):
        first = first or _digest(page)
        reached = max([reached, *(run.created_at for run in page if run.created_at)])
        chosen = [run for run in page if of_workflows(run.path, scope.workflows)]
        met.update(run.id for run in chosen)
        total += keep_runs(scope, chosen)
        if len(known) == len(streams) and all(c.seen == first and c.since <= edge for c in known):
            break
        if len(met) >= scope.max_runs:
            oldest = min((run.created_at for run in page if run.created_at), default=edge)
            scope.warn(f"more than {scope.max_runs} runs since {edge:%Y-%m-%d %H:%M} UTC: the older ones are left out; "
                       "raise monitoring.max_runs, or bring them with build-eye backfill")  # fmt: skip
            break
    step(1)
    total += _revisit(scope, met)
    for stream in streams:
        _move(scope, cursors.get(stream), stream, oldest, reached, first)
    return total


def run_streams(scope: Scope) -> list[str]:
    """The names of the cursors of the runs that are watched."""
    return [f"{STREAM} {name}" for name in scope.workflows] or [STREAM]


def sync_runs_of(scope: Scope, window: Window) -> RunsSynced:
    """Runs created in a window, whatever is newer; no cursor moves."""
    total = RunsSynced()
    for page in scope.github.run_pages(scope.owner, scope.repo, since=window.since, until=window.until):
        total += keep_runs(scope, [run for run in page if of_workflows(run.path, scope.workflows)])
    return total


def keep_runs(scope: Scope, runs: Sequence[Run]) -> RunsSynced:
    """Write runs that are new or have changed, after the jobs of those that are over and whose jobs are not here."""
    if not runs:
        return RunsSynced()
    rows = scope.warehouse.ask("known_runs", repository=scope.repository, runs=[run.id for run in runs])
    known = {row["run_id"]: row for row in rows}
    changed = [run for run in runs if run.id not in known or _state(run) != _known_state(known[run.id])]
    owed = [r for r in runs if has_jobs(r) and (r.id not in known or known[r.id]["synced_attempt"] < r.run_attempt)]
    jobs, whole = _jobs(scope, owed)
    scope.warehouse.write_jobs(jobs)
    scope.warehouse.write_runs(changed)
    scope.warehouse.write_synced_runs(
        [SyncedRun(scope.repository, run.id, run.run_attempt, scope.now) for run in whole]
    )
    return RunsSynced(len(runs), len(changed), len(jobs))


def has_jobs(run: Run) -> bool:
    """Is a run over, and did it have jobs that ran?"""
    return run.status == "completed" and run.conclusion not in NO_JOBS


def _jobs(scope: Scope, runs: Sequence[Run]) -> tuple[list[Job], list[Run]]:
    """Jobs of all attempts of these runs, and the runs of which all jobs are here and over."""
    jobs: list[Job] = []
    whole: list[Run] = []
    step = scope.progress.start("jobs", len(runs)) if runs else None
    in_a_row = 0
    for answer in scope.github.jobs_of_runs(scope.owner, scope.repo, runs, all_attempts=True):
        in_a_row = in_a_row + 1 if answer.error else 0
        if in_a_row >= GIVE_UP:
            raise OutsideError(f"the jobs of {in_a_row} runs in a row could not be had; the last time: {answer.error}")
        if answer.error:
            scope.warn(f"run {answer.run.id}: its jobs are not known: {answer.error}")
        elif all(job.status == "completed" for job in answer.jobs) or _settled(answer.run, scope.now):
            whole.append(answer.run)
        jobs += answer.jobs
        if step:
            step(1)
    return jobs, whole


def _settled(run: Run, now: datetime) -> bool:
    """Has a run been over for so long that a job that is not will never be?"""
    return run.updated_at is not None and run.updated_at < now - SETTLED


def _revisit(scope: Scope, met: Iterable[int]) -> RunsSynced:
    """Ask again for runs that were not over, and for jobs that are owed, of runs not met in this pass."""
    rows = scope.warehouse.ask("runs_to_revisit", repository=scope.repository, since=scope.now - LONGEST_RUN)
    seen = set(met)
    owed = [run for row in rows if (run := run_of(row)).id not in seen and of_workflows(run.path, scope.workflows)]

    def ask(run: Run) -> Run | None:
        try:
            found = scope.github.run(scope.owner, scope.repo, run.id) if run.status != "completed" else run
        except NotFoundError:
            return None
        except OutsideError as error:
            scope.warn(f"run {run.id}: whether it is over is not known: {error}")
            return run
        return replace(found, pull_requests=found.pull_requests or run.pull_requests)

    answers = list(zip(owed, in_parallel(ask, owed, scope.width), strict=True))
    gone = [
        SyncedRun(scope.repository, run.id, run.run_attempt, scope.now, gone=True) for run, now in answers if not now
    ]
    scope.warehouse.write_synced_runs(gone)
    return keep_runs(scope, [now for _, now in answers if now is not None])


def _state(run: Run) -> tuple[object, ...]:
    return run.run_attempt, run.status, run.conclusion or "", run.updated_at


def _known_state(row: dict[str, object]) -> tuple[object, ...]:
    return row["run_attempt"], row["status"], row["conclusion"], row["updated_at"]


def _digest(page: Sequence[Run]) -> str:
    """What the newest runs looked like, in a few letters: equal when nothing has begun, changed or ended since."""
    told = repr([(run.id, *_state(run)) for run in page])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _move(scope: Scope, before: SyncCursor | None, stream: str, since: datetime, reached: datetime, seen: str) -> None:
    """Move a cursor after a walk from `reached` back to `since`, joined to what had been read before if they touch."""
    if before is not None and before.reached >= since:
        since, reached = min(before.since, since), max(before.reached, reached)
    scope.move(before, stream, since, reached, seen)
