"""The builds of a time window as the warehouse has them: what is judged, without asking GitHub."""

from collections.abc import Callable, Sequence, Set
from datetime import datetime
from typing import Any

from buildeye.config import Settings, pipeline_type
from buildeye.github.client import of_workflows
from buildeye.logstore import LogStore
from buildeye.model import Job, OutsideError, Run
from buildeye.pipeline.collect import FAILED, GONE
from buildeye.pipeline.history import pulls_of
from buildeye.pipeline.metadata import Build, FailedJob
from buildeye.triage.facts import can_hold_failures, is_failure
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import job_of, run_of

EVERY = 2**31
MISSING = "its log could not be had"


def builds_between(
    warehouse: Warehouse,
    logs: LogStore,
    settings: Settings,
    since: datetime,
    until: datetime,
    warn: Callable[[str], None],
    only: Set[int] | None = None,
) -> list[Build]:
    """Runs of the watched workflows created from `since` to `until`, newest first, at most `monitoring.max_runs`.

    With `only`, those runs (ids) alone, however many others there are.
    """
    asked: dict[str, Any] = {"repository": settings.target_repository.full_name, "since": since, "until": until}
    limit = settings.monitoring.max_runs if only is None else EVERY
    rows = warehouse.ask("runs_between", limit=limit, **asked)
    rows = [row for row in rows if only is None or row["id"] in only]
    runs = [run for row in rows if of_workflows((run := run_of(row)).path, settings.workflows)]
    jobs: dict[int, list[tuple[Job, dict[str, Any]]]] = {}
    for row in warehouse.ask("jobs_of_runs_between", **asked):
        jobs.setdefault(row["run_id"], []).append((job_of(row), row))
    failed = {run.id: _failed(run, jobs.get(run.id, ()), logs, warn) for run in runs if can_hold_failures(run)}
    broken = [run for run in runs if is_failure(run) or failed.get(run.id)]
    pulls = pulls_of(warehouse, asked["repository"], broken)
    return [
        Build(
            run,
            pipeline_type(settings, run),
            tuple(job for job, _ in jobs.get(run.id, ())),
            tuple(failed.get(run.id, ())),
            pulls.get(run.id),
        )
        for run in runs
    ]


def _failed(
    run: Run, jobs: Sequence[tuple[Job, dict[str, Any]]], logs: LogStore, warn: Callable[[str], None]
) -> list[FailedJob]:
    """The jobs that failed in the latest attempt, with their logs."""
    return [
        _with_log(job, row["log_place"], row["log_expired"], logs, warn)
        for job, row in jobs
        if job.conclusion in FAILED and job.run_attempt == run.run_attempt
    ]


def _with_log(job: Job, place: str, expired: bool, logs: LogStore, warn: Callable[[str], None]) -> FailedJob:
    if not place:
        return FailedJob(job, log_state=GONE if expired or not job.steps else MISSING)
    try:
        return FailedJob(job, log_file=logs.local(place), log_state="kept")
    except FileNotFoundError:
        warn(f"job {job.id}: its log {place} is no longer in the log archive; was storage.log_store changed?")
    except OutsideError as error:
        warn(f"job {job.id}: {error}")
    return FailedJob(job, log_state=MISSING)
