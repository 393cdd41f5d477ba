"""What is to be told about one pull request, from what the warehouse holds: GitHub is not asked, nothing is judged."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from buildeye.config import Settings, pipeline_type
from buildeye.github.client import of_workflows
from buildeye.model import (
    Cause,
    Diagnosis,
    Finding,
    Job,
    JobFinding,
    Level,
    PullRequest,
    PullRequestFinding,
    Run,
    UsageError,
    Verdict,
)
from buildeye.pipeline.classify import whole_run
from buildeye.pipeline.monitor import advised
from buildeye.pipeline.people import overrule
from buildeye.reports.whose import is_judged
from buildeye.triage.facts import can_hold_failures, is_failure
from buildeye.triage.judge import speak_for_run
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import diagnosis_of, job_of, pull_request_of, run_of, verdict_of

_SILENT = frozenset({"skipped", "neutral", "stale", "action_required"})
"""Conclusions of runs that tried nothing: they count neither as passed nor as failed."""
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


def finding_of_pull_request(
    warehouse: Warehouse, settings: Settings, number: int, *, without_run: int = 0
) -> PullRequestFinding:
    """What failed on the newest commit of a pull request that ran, over all watched workflows.

    `without_run` does not count: the run that asks, which never ends before it has its answer. What people said wins
    over our verdicts; a failed job that nobody judged yet has a verdict of `unknown` without `judged_at`. UsageError:
    the warehouse does not know the pull request.
    """
    repository = settings.target_repository.full_name
    known = warehouse.ask("known_pull_requests", repository=repository, numbers=[number], head_refs=[])
    if not known:
        raise UsageError(
            f"pull request {number} of {repository} is not in the warehouse; run build-eye monitor first, with "
            "--lookback-hours that reach its last run"
        )
    pull = pull_request_of(known[0])
    rows = warehouse.ask("runs_of_pull_request", repository=repository, number=number)
    known_runs = [run_of(row) for row in rows if row["id"] != without_run]
    runs = [run for run in known_runs if of_workflows(run.path, settings.workflows)]
    if not runs:
        return PullRequestFinding(pull, pull.head_sha, None)
    head_sha, jobs = runs[0].head_sha, _failed_jobs(warehouse, repository, runs)
    runs = that_count(runs, jobs.keys())
    findings = _findings(settings, pull, [run for run in runs if run.id in jobs], jobs)
    findings = advised(overrule(findings, warehouse, repository), settings)
    return PullRequestFinding(
        pull,
        head_sha,
        speaks_for(finding.verdict for finding in findings),
        tuple(findings),
        passed=sum(run.conclusion == "success" for run in runs),
        pending=sum(run.status != "completed" and run.id not in jobs for run in runs),
    )


def speaks_for(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The verdict that stands for several: one that was judged before one that was not; None of none."""
    given = list(verdicts)
    judged = [verdict for verdict in given if is_judged(verdict)]
    return speak_for_run(judged or given) if given else None


def that_count(runs: Sequence[Run], failed: Iterable[int]) -> list[Run]:
    """Of the runs of one commit, the newest of each workflow and event that tried something, newest first.

    Skipped runs hide no earlier one, nor do runs that were cancelled before anything `failed` (ids) in them.
    """
    broken = set(failed)
    newest: dict[tuple[int, str, str], Run] = {}
    for run in sorted(runs, key=_age, reverse=True):
        stopped = run.conclusion == "cancelled" and run.id not in broken
        if run.conclusion not in _SILENT and not stopped:
            newest.setdefault((run.workflow_id, run.path, run.event), run)
    return list(newest.values())


def _age(run: Run) -> tuple[datetime, int]:
    return (run.created_at or _BEGINNING, run.id)


def _failed_jobs(warehouse: Warehouse, repository: str, runs: Sequence[Run]) -> dict[int, tuple[JobFinding, ...]]:
    """The failed jobs of each run that has some; a run that failed without a job known stands for one itself."""
    suspects = [run for run in runs if can_hold_failures(run)]
    if not suspects:
        return {}
    asked = {"repository": repository, "runs": [run.id for run in suspects]}
    jobs: dict[int, list[Job]] = {}
    for row in warehouse.ask("failed_jobs_of_runs", **asked):
        jobs.setdefault(row["run_id"], []).append(job_of(row))
    for run in suspects:
        if is_failure(run) and run.id not in jobs:
            jobs[run.id] = [whole_run(run)]
    diagnoses = {row["job_id"]: diagnosis_of(row) for row in warehouse.ask("diagnoses_of_runs", **asked)}
    verdicts = {row["job_id"]: verdict_of(row) for row in warehouse.ask("verdicts_of_runs", **asked)}
    return {run: tuple(_judged(job, diagnoses, verdicts) for job in failed) for run, failed in jobs.items()}


def _judged(job: Job, diagnoses: Mapping[int, Diagnosis], verdicts: Mapping[int, Verdict]) -> JobFinding:
    verdict = verdicts.get(job.id) or Verdict(job.run_id, job.id, Cause.UNKNOWN, "unknown", 0.0, Level.NONE)
    return JobFinding(job, diagnoses.get(job.id) or Diagnosis(f"job {job.id}"), verdict)


def _findings(
    settings: Settings, pull: PullRequest, runs: Sequence[Run], jobs: Mapping[int, tuple[JobFinding, ...]]
) -> list[Finding]:
    findings = []
    for run in runs:
        verdict = speaks_for(job.verdict for job in jobs[run.id])
        assert verdict is not None  # every run here has a failed job
        finding = Finding(run, pipeline_type(settings, run), verdict, jobs[run.id], pull)
        related = verdict.related_pull_requests if verdict.cause is Cause.INTERFERENCE else ()
        findings.append(replace(finding, related_pull_requests=related))
    return findings
