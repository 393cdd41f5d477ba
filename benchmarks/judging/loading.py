"""A generated history in a warehouse, as sync and reading would have left it there; and the truth beside it."""

import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from buildeye.config import Settings
from buildeye.logs.diagnose import read_log
from buildeye.logs.environment import read_environment
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.model import Diagnosis, Job, Run, Thing
from buildeye.simulator.facts import Past
from buildeye.simulator.logs import has_log, render_log
from buildeye.triage.facts import diagnose_facts
from buildeye.triage.results import Subject
from buildeye.warehouse import JobDiagnosis, JobEnvironment, Warehouse

SCALE = 0.05
FAILED = ("failure", "timed_out", "cancelled")


@dataclass(frozen=True)
class Loaded:
    """What was loaded: settings that name the repository, and how much there is."""

    settings: Settings
    runs: int
    jobs: int
    logs: int


def load(past: Past, warehouse: Warehouse) -> Loaded:
    """Write all facts of a past, read its logs, and write what they say."""
    settings = settings_of(past)
    pull_of = {commit.sha: commit.pull for commit in past.commits if commit.pull is not None}
    runs = {run.id: run for run in past.attempts}
    warehouse.write_runs([_named(run, pull_of) for run in runs.values()])
    warehouse.write_jobs(past.jobs)
    warehouse.write_pull_requests(past.pulls)
    warehouse.write_incidents(past.incidents)
    read = list(_read_logs(past))
    said = [(job, diagnosis) for job, diagnosis, _ in read if diagnosis is not None]
    ran = [(job, things) for job, _, things in read if things]
    repository = past.full_name
    warehouse.write_diagnoses([JobDiagnosis(repository, j.run_id, j.id, d, _end(j, past)) for j, d in said])
    warehouse.write_environments([JobEnvironment(repository, j.run_id, j.id, t, _end(j, past)) for j, t in ran])
    return Loaded(settings, len(runs), len(past.jobs), len(read))


def settings_of(past: Past) -> Settings:
    """Settings for the invented repository, all else as by default."""
    return Settings.model_validate({"target_repository": {"owner": past.owner, "repo": past.name, "branch": "main"}})


def _end(job: Job, past: Past) -> datetime:
    return job.completed_at or past.now


def _named(run: Run, pull_of: dict[str, int]) -> Run:
    """Of a fork's run GitHub names no pull request; sync asks for those that failed."""
    number = pull_of.get(run.head_sha)
    if run.pull_requests or number is None or not run.event.startswith("pull_request") or run.conclusion == "success":
        return run
    return replace(run, pull_requests=(number,))


Read = tuple[Job, Diagnosis | None, tuple[Thing, ...]]
_PAST: Past | None = None
_RULES: RuleSet | None = None


def _read_logs(past: Past) -> Iterator[Read]:
    """The logs of all failures, and of one green job a name and day; in two processes."""
    global _PAST, _RULES
    _PAST, _RULES = past, load_ruleset()
    _RULES.find(LogFile.of("warm", b"error: warm\n"))
    jobs = [*wanted_failures(past), *wanted_greens(past)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        yield from pool.imap_unordered(_read, jobs, chunksize=32)


def wanted_failures(past: Past) -> list[Job]:
    """Failed jobs whose log had not expired when a monitor came by, which is soon after."""
    return [job for job in past.jobs if job.conclusion in FAILED and has_log(job) and job.id not in past.lost_logs]


def wanted_greens(past: Past) -> list[Job]:
    """The first green job a name and day, as sync chooses them."""
    seen: dict[tuple[str, str, object], Job] = {}
    for job in past.jobs:
        if job.conclusion == "success" and job.completed_at is not None and has_log(job):
            seen.setdefault((job.workflow_name, job.name, job.completed_at.date()), job)
    return list(seen.values())


def _read(job: Job) -> Read:
    assert _PAST is not None and _RULES is not None
    data = render_log(_PAST, job, scale=SCALE)
    log = LogFile.of(f"job {job.id}", data)
    things = read_environment(log)
    if job.conclusion not in FAILED:
        return job, None, things
    return job, read_log(log, _RULES, job=job).diagnosis, things


def logs_of(past: Past) -> dict[int, str]:
    """The logs of all failures as text, by job."""
    return {job.id: render_log(past, job, scale=SCALE).decode(errors="replace") for job in wanted_failures(past)}


def spans(past: Past, hours: float = 6) -> Iterator[tuple[datetime, datetime]]:
    """The times between two passes of a monitor, from the first job to the end."""
    ends = [job.completed_at for job in past.jobs if job.completed_at is not None]
    since, step = min(ends) - timedelta(seconds=1), timedelta(hours=hours)
    while since < past.now:
        yield since, min(since + step, past.now)
        since += step


def without_log(subject: Subject) -> Subject:
    """The same job when its log was never had."""
    said = diagnose_facts(subject.job, "GitHub no longer has its log")
    own = replace(
        subject.own, signature=said.signature, cause=str(said.cause), category=said.category, tests=said.tests
    )
    return replace(subject, diagnosis=said, own=own)
