"""What is known of each run: its jobs, its pull request, and the logs of the jobs that failed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from buildeye.config import Settings, pipeline_type
from buildeye.github.client import GitHub
from buildeye.github.facts import LogDownload, LogState
from buildeye.model import Job, OutsideError, PullRequest, Run
from buildeye.pipeline.metadata import Build, FailedJob
from buildeye.pipeline.sync.runs import has_jobs
from buildeye.triage.facts import can_hold_failures, is_failure

FAILED = ("failure", "timed_out")
GONE = "GitHub no longer has its log"


def collect(
    github: GitHub,
    settings: Settings,
    runs: Sequence[Run],
    logs: Path,
    *,
    warn: Callable[[str], None],
    progress: Callable[[int], None] = lambda _: None,
) -> list[Build]:
    """Builds in the order of `runs`; logs of failed jobs are kept in the folder `logs`.

    What GitHub does not give for one run is said through `warn`, and the run is kept with what there is.
    """
    target = settings.target_repository
    jobs = dict(_jobs(github, target.owner, target.repo, runs, warn, progress))
    failed = {run.id: _failed(run, jobs.get(run.id, ())) for run in runs if can_hold_failures(run)}
    wanted = [job.id for of_run in failed.values() for job in of_run]
    kept = {d.job_id: d for d in github.download_job_logs(target.owner, target.repo, wanted, logs)}
    pulls = _pull_requests(
        github, target.owner, target.repo, [r for r in runs if is_failure(r) or failed.get(r.id)], warn
    )
    return [
        Build(
            run,
            pipeline_type(settings, run),
            tuple(jobs.get(run.id, ())),
            tuple(_with_log(job, kept.get(job.id)) for job in failed.get(run.id, ())),
            pulls.get(run.id),
        )
        for run in runs
    ]


def _jobs(
    github: GitHub,
    owner: str,
    repo: str,
    runs: Sequence[Run],
    warn: Callable[[str], None],
    progress: Callable[[int], None],
) -> Iterator[tuple[int, tuple[Job, ...]]]:
    with_jobs = [r for r in runs if has_jobs(r)]
    progress(len(runs) - len(with_jobs))
    for answer in github.jobs_of_runs(owner, repo, with_jobs, all_attempts=True):
        if answer.error:
            warn(f"run {answer.run.id}: its jobs are not known: {answer.error}")
        progress(1)
        yield answer.run.id, answer.jobs


def _failed(run: Run, jobs: Iterable[Job]) -> list[Job]:
    """The jobs that failed in the latest attempt, once each."""
    return [j for j in jobs if j.conclusion in FAILED and j.run_attempt == run.run_attempt]


def _with_log(job: Job, download: LogDownload | None) -> FailedJob:
    if download is None or download.state is LogState.EXPIRED:
        return FailedJob(job, log_state=GONE)
    if download.state is LogState.FAILED:
        return FailedJob(job, log_state=f"its log could not be had: {download.error}")
    return FailedJob(job, log_file=download.path, log_state="kept")


def _pull_requests(
    github: GitHub, owner: str, repo: str, runs: Sequence[Run], warn: Callable[[str], None]
) -> dict[int, PullRequest]:
    """The pull request of each failed run; of a fork's run GitHub names none, so its commit is asked."""
    known: dict[int, PullRequest] = {}
    found: dict[int, PullRequest] = {}
    for run in runs:
        try:
            number = next(iter(run.pull_requests), None) or _of_commit(github, owner, repo, run)
            if number is not None:
                if number not in known:
                    known[number] = github.pull_request(owner, repo, number)
                found[run.id] = known[number]
        except OutsideError as e:
            warn(f"run {run.id}: its pull request is not known: {e}")
    return found


def _of_commit(github: GitHub, owner: str, repo: str, run: Run) -> int | None:
    if not run.event.startswith("pull_request") or not run.head_sha:
        return None
    pulls = github.pull_requests_of_commit(owner, repo, run.head_sha)
    return next((p.number for p in pulls if p.head_sha == run.head_sha or p.head_ref == run.head_branch), None)
