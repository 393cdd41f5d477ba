"""Judge every failed job of the runs that were collected; runs that did not fail yield nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from buildeye.logs.diagnose import LogReading, read_log
from buildeye.logs.environment import read_environment
from buildeye.logs.ruleset import RuleSet
from buildeye.logs.source import LogFile, open_logs
from buildeye.model import BuildEyeError, Cause, Diagnosis, Finding, Job, JobFinding, LogLine, Run, Thing, Verdict
from buildeye.pipeline.metadata import Build, FailedJob
from buildeye.triage.facts import can_hold_failures, diagnose_facts, diagnose_run, is_failure, is_superseded
from buildeye.triage.judge import WINDOW, Case, Sighting, Thresholds, Window, judge, speak_for_run

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


History = Callable[[Sequence[str]], Sequence[Sighting]]
"""Where the same signatures were seen before; asked once for all failures of a pass."""
Baselines = Callable[[Sequence[str]], Mapping[str, Set[int]]]
"""The line sets of the last green runs by job name; asked once for all failed jobs of a pass."""


def classify(
    builds: Sequence[Build],
    rules: RuleSet,
    thresholds: Thresholds,
    now: datetime,
    *,
    history: History | None = None,
    baselines: Baselines | None = None,
    base_branch: str = "main",
    window: Window = WINDOW,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Finding]:
    """Findings for the runs that failed, in the order given.

    Failures are compared with each other (what other pull requests and `base_branch` show in the same pass) and with
    `history`, which adds runs that are not in this pass; their logs are compared with `baselines`. Cancelled runs are
    no failures (see `cancelled`), except those in which a job had failed before.
    """
    reads: list[Read] = []
    all_failed = [(build, _failed_jobs(build)) for build in builds]
    names = sorted({failed.job.name for _, jobs in all_failed for failed in jobs})
    green_lines = baselines(names) if baselines is not None and names else {}
    for build, failed_jobs in all_failed:
        reads += [_read(build, failed, rules, green_lines.get(failed.job.name)) for failed in failed_jobs]
        if is_failure(build.run) and not failed_jobs:
            reads.append(Read(build, _whole(build.run), diagnose_run(build.run), ()))
        progress(1)
    green = _green_on_base(builds, base_branch)
    seen = [s for r in reads if (s := _sighting(r, base_branch, green)) is not None]
    if history is not None:
        here = {r.build.run.id for r in reads}
        asked = sorted({r.diagnosis.signature for r in reads if r.diagnosis.signature})
        seen += [s for s in history(asked) if s.run_id not in here]
    passed = _passed(builds)

    def verdict(read: Read) -> Verdict:
        run, signature = read.build.run, read.diagnosis.signature
        same = [s for s in seen if s.signature == signature]
        again = (run.head_sha, read.job.name) in passed
        case = Case(run, read.job, read.diagnosis, read.build.pull_request, same, again)
        return judge(case, thresholds, now, window)

    return list(_findings([(r, verdict(r)) for r in reads], seen))


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


def _whole(run: Run) -> Job:
    """A run in the form of a job, for a failure of which no job is known."""
    return Job(
        run.id, run.id, run.name, run.status, run.conclusion, head_sha=run.head_sha, head_branch=run.head_branch,
        repository_full_name=run.repository_full_name, html_url=run.html_url, started_at=run.run_started_at,
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


def _green_on_base(builds: Sequence[Build], base_branch: str) -> Mapping[str, Sequence[datetime]]:
    """When each job passed on the base branch, by its name, in order of time."""
    passed: dict[str, list[datetime]] = {}
    for build in builds:
        if build.pull_request is None and _is_base(build.run, base_branch):
            for job in build.jobs:
                if job.conclusion == "success" and job.completed_at:
                    passed.setdefault(job.name, []).append(job.completed_at)
    return {name: sorted(times) for name, times in passed.items()}


def _sighting(read: Read, base_branch: str, green: Mapping[str, Sequence[datetime]]) -> Sighting | None:
    build = read.build
    at = read.job.completed_at or build.run.run_started_at or build.run.created_at
    if at is None or not read.diagnosis.signature:
        return None
    pr = build.pull_request
    return Sighting(
        read.diagnosis.signature, build.run.id, build.run.head_sha, at, pr.number if pr else None,
        pr.author if pr else "", on_base=pr is None and _is_base(build.run, base_branch),
        passed_at=next((t for t in green.get(read.job.name, ()) if t > at), None),
    )  # fmt: skip


def _is_base(run: Run, base_branch: str) -> bool:
    """Did the run build the base branch? A fork's branch may have the same name, so the event has to be known."""
    return run.head_branch == base_branch and run.event not in ("", "pull_request", "pull_request_target")


def _passed(builds: Sequence[Build]) -> frozenset[tuple[str, str]]:
    """(commit, job name) pairs that passed in some run or attempt."""
    return frozenset(
        (b.run.head_sha, j.name) for b in builds for j in b.jobs if j.conclusion == "success" and b.run.head_sha
    )


def _findings(judged: Iterable[tuple[Read, Verdict]], seen: Sequence[Sighting]) -> Iterator[Finding]:
    by_run: dict[int, list[tuple[Read, Verdict]]] = {}
    for read, verdict in judged:
        by_run.setdefault(read.build.run.id, []).append((read, verdict))
    for pairs in by_run.values():
        yield _finding(pairs, seen)


def _finding(pairs: Sequence[tuple[Read, Verdict]], seen: Sequence[Sighting]) -> Finding:
    build = pairs[0][0].build
    verdict = speak_for_run(v for _, v in pairs)
    related: list[int] = []
    if verdict.cause is Cause.INTERFERENCE:
        own = build.pull_request.number if build.pull_request else None
        alike = (s.pull_request for s in seen if s.signature == verdict.signature)
        related = sorted({number for number in alike if number is not None and number != own})
    return Finding(
        run=build.run,
        pipeline_type=build.pipeline_type,
        verdict=verdict,
        jobs=tuple(JobFinding(r.job, r.diagnosis, v, r.lines, r.environment) for r, v in pairs),
        pull_request=build.pull_request,
        related_pull_requests=tuple(related),
    )
