"""The warehouse asked for what judging needs: a handful of questions a pass, however many failures there are."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from buildeye.config import Settings
from buildeye.model import Cause, Diagnosis, PoolLoad, PullRequest, Run
from buildeye.triage.evidence import Window
from buildeye.triage.facts import diagnose_facts
from buildeye.triage.history import History
from buildeye.triage.results import EPOCH, Merge, Result, Said, Subject, subject_of, telling
from buildeye.triage.thresholds import Thresholds
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import Row, diagnosis_of, incident_of, job_of, pull_request_of, run_of, things_of

NO_LOG = "its log was not read"
MARGIN = timedelta(hours=1)


def window_of(settings: Settings) -> Window:
    """How far around a failure others count, as the settings say."""
    given = settings.classification
    return Window(
        timedelta(hours=given.related_hours_before),
        timedelta(hours=given.related_hours_after),
        timedelta(days=given.known_flaky_window_days),
    )


def thresholds_of(settings: Settings) -> Thresholds:
    """From which probability on a verdict is high, medium or low, as the settings say."""
    given = settings.classification.confidence_thresholds
    return Thresholds(given.high, given.medium, given.low)


def history_around(
    warehouse: Warehouse,
    settings: Settings,
    since: datetime,
    until: datetime,
    now: datetime,
    *,
    loads: Sequence[PoolLoad] = (),
) -> History:
    """What is known around the failures that ended from `since` to `until`, as of `now`; later facts are left out."""
    window = window_of(settings)
    target = settings.target_repository
    place = {"repository": target.full_name, "base_branch": target.branch}
    known = since - window.known
    rows = warehouse.ask(
        "results_around",
        **place,
        judged_since=since,
        judged_until=min(until, now),
        near_since=since - window.before * 2,
        near_until=min(until + window.before, now),
        known_since=known,
        known_until=now,
    )
    merges = warehouse.ask("merges_between", **place, since=known, until=now)
    results = [result_of_row(row) for row in rows]
    ran = warehouse.ask(
        "environments_around",
        repository=target.full_name,
        judged_since=since,
        judged_until=min(until, now),
        known_since=known,
        known_until=now,
    )
    incidents = warehouse.ask("incidents_between", since=since - window.before, until=now)
    return History(
        results=results,
        merges=[merge_of_row(row) for row in merges],
        incidents=[incident_of(row) for row in incidents],
        loads=loads,
        things={row["job_id"]: things_of(row) for row in ran},
        said=said_between(warehouse, target.full_name, known, now),
        since=min((r.ended for r in results), default=None),
        until=max((r.ended for r in results), default=None),
    )


def said_between(warehouse: Warehouse, repository: str, since: datetime, until: datetime) -> dict[str, list[Said]]:
    """What people said of failures in a span, both ends included, by the signatures of these."""
    found: dict[str, list[Said]] = {}
    for row in warehouse.ask("person_verdicts_since", repository=repository, since=since):
        for job in row["jobs"]:
            if job["signature"] and row["said_at"] <= until:
                said = Said(Cause(row["cause"]), row["category"], row["person"], row["said_at"], row["run_id"])
                found.setdefault(job["signature"], []).append(said)
    return found


def result_of_row(row: Row) -> Result:
    """How a job ended, from a row of the question `results_around`."""
    return Result(
        row["job_id"], row["run_id"], row["attempt"], row["workflow"], row["name"], row["head_sha"], row["conclusion"],
        row["built"], row["ended"], bool(row["on_base"]), row["pull_request"] or None, row["author"],
        telling(row["signature"], row["key_line"]), row["cause"], row["category"], tuple(row["tests"]), row["runner"],
        row["pool"], timedelta(seconds=row["waited_seconds"]),
        row["started"] if row["started"].year > 1970 else None, row["branch"],
    )  # fmt: skip


def merge_of_row(row: Row) -> Merge:
    """A merge, from a row of the question `merges_between`."""
    return Merge(
        row["merge_commit_sha"], row["merged_at"], row["number"], row["author"], row["title"], row["head_sha"],
        tuple(row["changed_files"]),
    )  # fmt: skip


def subjects_between(warehouse: Warehouse, settings: Settings, since: datetime, until: datetime) -> list[Subject]:
    """The jobs that failed or were stopped and ended from `since` to `until`, with what is stored of them."""
    repository = settings.target_repository.full_name
    jobs = [job_of(row) for row in warehouse.ask("judged_jobs", repository=repository, since=since, until=until)]
    if not jobs:
        return []
    runs = runs_of(warehouse, repository, {job.run_id for job in jobs})
    diagnoses = diagnoses_of(warehouse, repository, [job.id for job in jobs])
    pulls = pulls_of(warehouse, repository, runs.values())
    return [
        subject_of(
            run, job, diagnoses.get(job.id) or diagnose_facts(job, NO_LOG), pulls.get(run.id),
            settings.target_repository.branch,
        )
        for job in jobs
        if (run := runs.get(job.run_id)) is not None
    ]  # fmt: skip


def runs_of(warehouse: Warehouse, repository: str, ids: Iterable[int]) -> dict[int, Run]:
    """Runs by id."""
    rows = warehouse.ask("runs_by_id", repository=repository, runs=sorted(set(ids)))
    return {row["id"]: run_of(row) for row in rows}


def diagnoses_of(warehouse: Warehouse, repository: str, jobs: Sequence[int]) -> dict[int, Diagnosis]:
    """Stored diagnoses by job."""
    rows = warehouse.ask("diagnoses_of_jobs", repository=repository, jobs=sorted(set(jobs)))
    return {row["job_id"]: diagnosis_of(row) for row in rows}


def pulls_of(warehouse: Warehouse, repository: str, runs: Iterable[Run]) -> Mapping[int, PullRequest]:
    """The pull request of each run, by run: the one GitHub names, else the newest of its branch by its author."""
    known_runs = list(runs)
    numbers = {run.pull_requests[0] for run in known_runs if run.pull_requests}
    branches = {run.head_branch for run in known_runs if _is_nameless(run)}
    if not numbers and not branches:
        return {}
    asked: dict[str, Any] = {"numbers": sorted(numbers), "head_refs": sorted(branches)}
    known = [pull_request_of(row) for row in warehouse.ask("known_pull_requests", repository=repository, **asked)]
    by_number = {pull.number: pull for pull in known}
    ages = sorted(known, key=lambda pull: (pull.created_at or EPOCH, pull.number))
    by_branch = {(pull.head_ref, pull.author): pull for pull in ages}
    found = {
        run.id: by_branch.get((run.head_branch, run.actor))
        if _is_nameless(run)
        else by_number.get(next(iter(run.pull_requests), 0))
        for run in known_runs
    }
    return {run_id: pull for run_id, pull in found.items() if pull is not None}


def _is_nameless(run: Run) -> bool:
    """Did it build a pull request that GitHub does not name, as it names none of a fork?"""
    return not run.pull_requests and run.event.startswith("pull_request")
