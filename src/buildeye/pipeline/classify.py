"""Judge every failed job of the runs that were collected; runs that did not fail yield nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from buildeye.logs.diagnose import LogReading, read_log
from buildeye.logs.environment import read_environment
from buildeye.logs.ruleset import RuleSet
from buildeye.logs.source import LogFile, open_logs
from buildeye.model import BuildEyeError, Diagnosis, Finding, Job, JobFinding, LogLine, Run, Thing, Verdict
from buildeye.pipeline.metadata import Build, FailedJob
from buildeye.triage.evidence import Window
from buildeye.triage.facts import can_hold_failures, diagnose_facts, diagnose_run, is_failure, is_superseded
from buildeye.triage.history import History
from buildeye.triage.judge import WINDOW, judge, speak_for_run
from buildeye.triage.results import ENDED, Subject, merge_of, result_of, subject_of
from buildeye.triage.thresholds import Thresholds

MAX_SHOWN = 50
"""Lines of a log that a finding carries for its report."""


@dataclass(frozen=True, slots=True)
class Read:
    """A failed job whose log has been read."""

    build: Build
    job: Job
    diagnosis: Diagnosis
    lines: tuple[LogLine, ...]
    environment: tuple[Thing, ...] = ()


Around = Callable[[Sequence[Read]], History]
"""What else is known around the failures of a pass; asked once."""
Baselines = Callable[[Sequence[str]], Mapping[str, Set[int]]]
"""The line sets of the last green runs by job name; asked once for all failed jobs of a pass."""


def classify(
    builds: Sequence[Build],
    rules: RuleSet,
    thresholds: Thresholds,
    now: datetime,
    *,
    around: Around | None = None,
    baselines: Baselines | None = None,
    base_branch: str = "main",
    window: Window = WINDOW,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Finding]:
    """Findings for the runs that failed, in the order given.

    Failures are judged beside all that ran in `builds` (what other pull requests and `base_branch` show) and what
    `around` knows besides; their logs are compared with `baselines`. Cancelled runs are no failures (see `cancelled`),
    except those in which a job had failed before.
    """
    reads: list[Read] = []
    all_failed = [(build, _failed_jobs(build)) for build in builds]
    names = sorted({failed.job.name for _, jobs in all_failed for failed in jobs})
    green_lines = baselines(names) if baselines is not None and names else {}
    for build, failed_jobs in all_failed:
        reads += [_read(build, failed, rules, green_lines.get(failed.job.name)) for failed in failed_jobs]
        if is_failure(build.run) and not failed_jobs:
            reads.append(Read(build, whole_run(build.run), diagnose_run(build.run), ()))
        progress(1)
    history = _history(builds, reads, around(reads) if around is not None and reads else History(), base_branch)
    judged = [
        (read, judge(subject_of_read(read, base_branch), history, thresholds, now, window=window)) for read in reads
    ]
    return list(_findings(judged))


def subject_of_read(read: Read, base_branch: str) -> Subject:
    """A job whose log was read, as judging takes it."""
    return subject_of(read.build.run, read.job, read.diagnosis, read.build.pull_request, base_branch)


def _history(builds: Sequence[Build], reads: Sequence[Read], more: History, base_branch: str) -> History:
    """What the builds themselves show, joined with what else is known."""
    diagnosed = {read.job.id: read.diagnosis for read in reads}
    results = [
        result_of(build.run, job, diagnosed.get(job.id), build.pull_request, base_branch)
        for build in builds
        for job in build.jobs
        if job.conclusion in ENDED
    ]
    results += [subject_of_read(read, base_branch).own for read in reads]
    pulls = {build.pull_request.number: build.pull_request for build in builds if build.pull_request is not None}
    merges = [merge for pull in pulls.values() if (merge := merge_of(pull)) is not None]
    return replace(more, results=[*more.results, *results], merges=[*merges, *more.merges])


def cancelled(builds: Sequence[Build]) -> list[tuple[Build, str]]:
    """Runs stopped before anything failed, each with its category: `superseded` by a newer run, or `by-user`."""
    runs = [b.run for b in builds]
    return [
        (b, "superseded" if is_superseded(b.run, runs) else "by-user")
        for b in builds
        if b.run.conclusion == "cancelled" and not _failed_jobs(b)
    ]


def _failed_jobs(build: Build) -> list[FailedJob]:
    """The jobs to judge: those that failed in the last attempt of a run that failed, or was cancelled after that."""
    if not can_hold_failures(build.run):
        return []
    if build.failed:
        return list(build.failed)
    last = max((j.run_attempt for j in build.jobs), default=1)
    return [FailedJob(j) for j in build.jobs if j.conclusion in ("failure", "timed_out") and j.run_attempt == last]


def whole_run(run: Run) -> Job:
    """A run in the form of a job, for a failure of which no job is known."""
    return Job(
        run.id, run.id, run.name, run.status, run.conclusion, run_attempt=run.run_attempt, workflow_name=run.name,
        head_sha=run.head_sha, head_branch=run.head_branch, repository_full_name=run.repository_full_name,
        html_url=run.html_url, started_at=run.run_started_at,
    )  # fmt: skip


def _read(build: Build, failed: FailedJob, rules: RuleSet, baseline: Set[int] | None) -> Read:
    """Read one failed job's log; a log that cannot be read leaves what the job's own facts say, and the reason."""
    environment: tuple[Thing, ...] = ()
    try:
        with _open(failed) as log:
            reading = read_log(log, rules, baseline=baseline, job=failed.job, show=MAX_SHOWN)
            with suppress(BuildEyeError):
                environment = read_environment(log)
    except (_NoLog, BuildEyeError) as e:
        reading = LogReading(diagnose_facts(failed.job, str(e)))
    return Read(build, failed.job, reading.diagnosis, reading.lines, environment)


class _NoLog(Exception):
    pass


def _open(failed: FailedJob) -> LogFile:
    """The log under the name of its job: where this machine keeps it is nothing for a report."""
    name = f"job {failed.job.id}"
    if failed.log_file is not None:
        log = next(iter(open_logs(str(failed.log_file))))
        log.name = name
        return log
    if failed.log_excerpt:
        return LogFile.of(name, failed.log_excerpt.encode())
    raise _NoLog(failed.log_state)


def _findings(judged: Iterable[tuple[Read, Verdict]]) -> Iterator[Finding]:
    by_run: dict[int, list[tuple[Read, Verdict]]] = {}
    for read, verdict in judged:
        by_run.setdefault(read.build.run.id, []).append((read, verdict))
    for pairs in by_run.values():
        yield _finding(pairs)


def _finding(pairs: Sequence[tuple[Read, Verdict]]) -> Finding:
    build = pairs[0][0].build
    verdict = speak_for_run(v for _, v in pairs)
    return Finding(
        run=build.run,
        pipeline_type=build.pipeline_type,
        verdict=verdict,
        jobs=tuple(JobFinding(r.job, r.diagnosis, v, r.lines, r.environment) for r, v in pairs),
        pull_request=build.pull_request,
        related_pull_requests=verdict.related_pull_requests,
    )
