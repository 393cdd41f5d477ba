"""What is known of one run before it is judged, and the file form it has between `collect-metadata` and `classify`.

The form is the original system's (run_id, workflow_run, pipeline_info, pr, jobs, failed_jobs with log_excerpt); what we
know beyond it stands in further fields, and files that lack those are read as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, TypeAdapter

from buildeye.model import Job, PullRequest, Run, Step
from buildeye.pipeline.stagefiles import parse, read_items, write_json


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that failed with what there is of its log: a file, or an excerpt, or why there is neither."""

    job: Job
    log_file: Path | None = None
    log_excerpt: str = ""
    log_state: str = "its log was not kept"


@dataclass(frozen=True, slots=True)
class Build:
    """One run with its jobs, its pull request, and the logs of those that failed."""

    run: Run
    pipeline_type: str
    jobs: tuple[Job, ...] = ()
    failed: tuple[FailedJob, ...] = ()
    pull_request: PullRequest | None = None


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore")


def _in_utc(at: datetime) -> datetime:
    """A time without a zone is in UTC, as all of GitHub's are."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


Text = Annotated[str, BeforeValidator(lambda v: "" if v is None else v)]
Time = Annotated[datetime, AfterValidator(_in_utc)]


class _Step(_Form):
    name: str
    number: int = 0
    status: Text = ""
    conclusion: str | None = None
    started_at: Time | None = None
    completed_at: Time | None = None


class _Job(_Form):
    id: int
    name: str
    status: Text = ""
    conclusion: str | None = None
    run_attempt: int = 1
    created_at: Time | None = None
    started_at: Time | None = None
    completed_at: Time | None = None
    runner_id: int | None = None
    runner_name: str | None = None
    runner_group: str | None = None
    labels: list[str] = []
    steps: list[_Step] = []
    url: Text = ""
    log_excerpt: Text = ""
    log_file: str | None = None
    log_state: Text = ""


class _Run(_Form):
    id: int
    name: str
    workflow_id: int = 0
    status: Text = ""
    conclusion: str | None = None
    started_at: Time | None = None
    completed_at: Time | None = None
    created_at: Time | None = None
    head_sha: Text = ""
    head_branch: Text = ""
    url: Text = ""
    triggering_actor: Text = ""
    event: Text = ""
    path: Text = ""
    run_attempt: int = 1
    run_number: int = 0
    display_title: Text = ""
    repository: Text = ""


class _PullRequest(_Form):
    number: int
    title: Text = ""
    author: Text = ""
    url: Text = ""
    base_ref: Text = ""
    base_sha: Text = ""
    head_ref: Text = ""
    head_sha: Text = ""
    merged_at: Time | None = None
    merge_commit_sha: str | None = None
    changed_files: list[str] = []


class _Pipeline(_Form):
    pipeline_type: Text = ""


class _Build(_Form):
    run_id: int
    workflow_run: _Run
    pipeline_info: _Pipeline = _Pipeline()
    pr: _PullRequest | None = None
    jobs: list[_Job] = []
    failed_jobs: list[_Job] = []


_ADAPTER = TypeAdapter(_Build)
STAGE = "collect-metadata"


def read_builds(path: Path) -> list[Build]:
    """Read a metadata file, ours or the original system's; raises UsageError naming the field that is missing."""
    items = read_items(path, "builds", STAGE)
    return [_build(parse(_ADAPTER, item, path, i, STAGE), path.parent) for i, item in enumerate(items)]


def write_builds(path: Path, builds: Sequence[Build]) -> None:
    """Write a metadata file; log files are named relative to it, so that the folder can move."""
    write_json(path, {"builds": [to_json(build, path.parent) for build in builds]})


def _build(form: _Build, folder: Path) -> Build:
    r = form.workflow_run
    run = Run(
        id=r.id, name=r.name, status=r.status, conclusion=r.conclusion, event=r.event, workflow_id=r.workflow_id,
        path=r.path, head_sha=r.head_sha, head_branch=r.head_branch, run_attempt=r.run_attempt, run_number=r.run_number,
        created_at=r.created_at or r.started_at, run_started_at=r.started_at, updated_at=r.completed_at,
        triggering_actor=r.triggering_actor, display_title=r.display_title, html_url=r.url,
        pull_requests=(form.pr.number,) if form.pr else (), repository_full_name=r.repository or _repository(r.url),
    )  # fmt: skip
    failed = tuple(
        FailedJob(
            _job(j, run),
            (folder / j.log_file) if j.log_file else None,
            j.log_excerpt,
            j.log_state or "its log was not kept",
        )
        for j in form.failed_jobs
    )
    return Build(
        run, form.pipeline_info.pipeline_type, tuple(_job(j, run) for j in form.jobs), failed, _pull(form.pr, run)
    )


def _repository(url: str) -> str:
    parts = url.split("/")
    return "/".join(parts[3:5]) if len(parts) > 4 else ""


def _job(j: _Job, run: Run) -> Job:
    return Job(
        id=j.id, run_id=run.id, name=j.name, status=j.status, conclusion=j.conclusion, run_attempt=j.run_attempt,
        workflow_name=run.name, head_sha=run.head_sha, head_branch=run.head_branch, created_at=j.created_at,
        started_at=j.started_at, completed_at=j.completed_at, runner_id=j.runner_id, runner_name=j.runner_name,
        runner_group_name=j.runner_group, labels=tuple(j.labels), html_url=j.url,
        steps=tuple(Step(s.name, s.number, s.status, s.conclusion, s.started_at, s.completed_at) for s in j.steps),
        repository_full_name=run.repository_full_name,
    )  # fmt: skip


def _pull(form: _PullRequest | None, run: Run) -> PullRequest | None:
    if form is None:
        return None
    return PullRequest(
        number=form.number, title=form.title, author=form.author, base_ref=form.base_ref, base_sha=form.base_sha,
        head_ref=form.head_ref, head_sha=form.head_sha, merged_at=form.merged_at,
        merge_commit_sha=form.merge_commit_sha, html_url=form.url, changed_files=tuple(form.changed_files),
        repository_full_name=run.repository_full_name,
    )  # fmt: skip


def to_json(build: Build, folder: Path) -> dict[str, Any]:
    """One run in the original system's metadata form, with our further fields."""
    run, pr = build.run, build.pull_request
    return {
        "run_id": run.id,
        "workflow_run": {
            "id": run.id, "name": run.name, "workflow_id": run.workflow_id, "status": run.status,
            "conclusion": run.conclusion, "started_at": _time(run.run_started_at),
            "completed_at": _time(run.updated_at), "created_at": _time(run.created_at),
            "head_sha": run.head_sha, "head_branch": run.head_branch,
            "url": run.html_url, "triggering_actor": run.triggering_actor, "event": run.event, "path": run.path,
            "run_attempt": run.run_attempt, "run_number": run.run_number, "display_title": run.display_title,
            "repository": run.repository_full_name,
        },
        "pipeline_info": {"pipeline_type": build.pipeline_type},
        "pr": None if pr is None else {
            "number": pr.number, "title": pr.title, "author": pr.author, "merged_at": _time(pr.merged_at),
            "merge_commit_sha": pr.merge_commit_sha, "url": pr.html_url, "base_ref": pr.base_ref,
            "base_sha": pr.base_sha, "head_ref": pr.head_ref, "head_sha": pr.head_sha,
            "changed_files": list(pr.changed_files),
        },
        "jobs": [_job_json(job) for job in build.jobs],
        "failed_jobs": [
            _job_json(f.job) | {
                "log_excerpt": f.log_excerpt,
                "log_file": str(f.log_file.relative_to(folder)) if f.log_file and f.log_file.is_relative_to(folder)
                else str(f.log_file.absolute()) if f.log_file else None,
                "log_state": f.log_state,
            }
            for f in build.failed
        ],
    }  # fmt: skip


def _job_json(job: Job) -> dict[str, Any]:
    return {
        "id": job.id, "name": job.name, "status": job.status, "conclusion": job.conclusion,
        "run_attempt": job.run_attempt, "created_at": _time(job.created_at), "started_at": _time(job.started_at),
        "completed_at": _time(job.completed_at), "runner_id": job.runner_id, "runner_name": job.runner_name,
        "runner_group": job.runner_group_name, "labels": list(job.labels), "url": job.html_url,
        "steps": [
            {"name": s.name, "number": s.number, "status": s.status, "conclusion": s.conclusion,
             "started_at": _time(s.started_at), "completed_at": _time(s.completed_at)}
            for s in job.steps
        ],
    }  # fmt: skip


def _time(at: datetime | None) -> str | None:
    return at.isoformat().replace("+00:00", "Z") if at else None
