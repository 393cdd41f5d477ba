"""Why a run failed: what the warehouse knows of it, else what the logs of its failed jobs say.

A log is read where it is nearest: the one kept in the log archive, else GitHub's. Nothing is written anywhere but to a
folder that is gone afterwards, and the cache of a bucket.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from buildeye.config import Settings
from buildeye.github.client import GitHub
from buildeye.github.facts import LogDownload, LogState
from buildeye.logs.diagnose import LogReading
from buildeye.logs.source import LogFile, open_logs
from buildeye.logstore import LogStore, open_log_store
from buildeye.model import BuildEyeError, Diagnosis, Job, OutsideError, UsageError
from buildeye.pipeline.collect import GONE
from buildeye.pipeline.sync.joblogs import place_of
from buildeye.pipeline.verdicts import JobVerdict, RunVerdicts, verdicts_of
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import diagnosis_of, job_of

MOST_READ: Final = 5
"""Logs of one run that are read."""
PATIENCE_SECONDS: Final = 20
"""How long somebody who waits for an answer waits for GitHub's rate limit."""
NOT_JUDGED: Final = "not judged yet: `build-eye monitor` judges what failed lately"
_FAILED: Final = ("failure", "timed_out", "startup_failure")
_WITHOUT_FAULT: Final = ("success", "skipped", "neutral", None)

Pick = Callable[[Sequence[Job]], Job | None]
"""The one job that is meant among those of a run; None when all that failed are. UsageError: there is no such job."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where it is asked, each opened only when it is needed.

    `read` explains a log of a job. `again`: kept logs of judged jobs are read too, for the lines around the key line.
    `forgiving`: where the warehouse cannot be opened, GitHub is asked; else that is the caller's error.
    """

    warehouse: Callable[[], AbstractContextManager[Warehouse]]
    logs: Callable[[], LogStore | None]
    github: Callable[[], AbstractContextManager[GitHub]]
    read: Callable[[LogFile, Job], LogReading]
    again: bool = False
    forgiving: bool = True


@dataclass(frozen=True, slots=True)
class ExplainedJob:
    """A failed job with all that is known of why.

    `verdict` weighs history too, `diagnosis` is what the log alone says, and `reading` has lines of the log when it was
    read just now. `note` says why something is missing; '' when nothing is.
    """

    job: Job
    verdict: JobVerdict | None = None
    diagnosis: Diagnosis | None = None
    reading: LogReading | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """A run and its failed jobs that were asked about.

    `status` and `conclusion` are the run's, or those of `job` when one that did not fail was named; '' when they do not
    matter, because something failed. `verdicts` is all the warehouse knows, `troubles` why it was not asked.
    """

    repository: str
    run_id: int
    source: Literal["warehouse", "github"]
    jobs: tuple[ExplainedJob, ...] = ()
    status: str = ""
    conclusion: str = ""
    job: Job | None = None
    verdicts: RunVerdicts | None = None
    troubles: tuple[str, ...] = ()
    places: Mapping[int, str] = field(default_factory=dict, repr=False)


def explain_run(
    sources: Sources, repository: str, run_id: int, pick: Pick = lambda _: None, *, named: bool = True
) -> ExplainedRun:
    """Explain the failed jobs of a run of `repository` (`owner/name`), at most MOST_READ of them from their logs.

    When the repository was not `named` by who asks, a run that it does not have may be that of another repository in
    the warehouse. UsageError: no such job, several repositories; OutsideError: neither side can tell.
    """
    troubles: tuple[str, ...] = ()
    try:
        with sources.warehouse() as warehouse:
            whose = repository if named else _whose(warehouse, repository, run_id)
            known = known_run(warehouse, whose, run_id, pick)
    except OutsideError as error:
        if not sources.forgiving:
            raise
        whose, known, troubles = repository, None, (str(error),)
    if known is None:
        return replace(_of_github(sources, whose, run_id, pick), troubles=troubles)
    return _with_logs(sources, known)


def known_run(warehouse: Warehouse, repository: str, run_id: int, pick: Pick) -> ExplainedRun | None:
    """What the warehouse knows; None when that does not tell whether the run, or the job that is meant, failed."""
    run = verdicts_of(warehouse, repository, run_id)
    if run is None or not (run.known or run.jobs):
        return None
    asked = {"repository": repository, "runs": [run_id]}
    failed = {row["id"]: job_of(row) for row in warehouse.ask("failed_jobs_of_runs", **asked)}
    judged = {each.job.id: each for each in run.jobs}
    jobs = {job.id: job for job in run.known} | {number: each.job for number, each in judged.items()} | failed
    try:
        chosen = pick(tuple(jobs.values()))
    except UsageError:
        return None  # it may be of an attempt that is not here
    wanted = sorted({*failed, *judged}) if chosen is None else [chosen.id]
    if chosen is not None and chosen.id not in failed and chosen.id not in judged:
        return None
    if not wanted:
        return _without_failure(warehouse, run)
    read = {row["job_id"]: diagnosis_of(row) for row in warehouse.ask("diagnoses_of_runs", **asked)}
    places = {row["job_id"]: row["place"] for row in warehouse.ask("logs_of_runs", **asked)}
    found = tuple(
        ExplainedJob(jobs[number], judged.get(number), read.get(number), note="" if number in judged else NOT_JUDGED)
        for number in wanted
    )
    return ExplainedRun(repository, run_id, "warehouse", found, job=chosen, verdicts=run, places=places)


def _without_failure(warehouse: Warehouse, run: RunVerdicts) -> ExplainedRun | None:
    rows = warehouse.ask("known_runs", repository=run.repository, runs=[run.run_id])
    status, conclusion = next(((row["status"], row["conclusion"]) for row in rows), ("", ""))
    if status != "completed" or conclusion in _FAILED:
        return None  # it goes on, or what failed is not here
    return ExplainedRun(run.repository, run.run_id, "warehouse", (), status, conclusion, verdicts=run)


def _whose(warehouse: Warehouse, repository: str, run_id: int) -> str:
    """The repository that has a run: that of the settings if it does, or if nobody is known to have it."""
    having = [row["repository_full_name"] for row in warehouse.ask("repositories_of_run", run=run_id)]
    if repository in having or not having:
        return repository
    if len(having) > 1:
        raise UsageError(
            f"{', '.join(having)} each have a run {run_id}; name one with --target-repo, or give the run's address"
        )
    return str(having[0])


def _of_github(sources: Sources, repository: str, run_id: int, pick: Pick) -> ExplainedRun:
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise UsageError(f"repository is {repository[:100]!r}; write OWNER/REPO")
    with sources.github() as github:
        jobs = github.jobs(owner, name, run_id)
        try:
            chosen = pick(jobs)
        except UsageError:
            chosen = pick(github.jobs(owner, name, run_id, all_attempts=True))
        meant = [job for job in jobs if job.conclusion in _FAILED] if chosen is None else [chosen]
        if chosen is not None and chosen.conclusion in _WITHOUT_FAULT:
            return ExplainedRun(
                repository, run_id, "github", (), chosen.status, chosen.conclusion or "", job=chosen
            )  # fmt: skip
        if not meant:
            run = github.run(owner, name, run_id)
            return ExplainedRun(repository, run_id, "github", (), run.status, run.conclusion or "")
        asked = [ExplainedJob(job) for job in meant]
        found = _read(
            sources, repository, asked, {},
            lambda wanted, folder: github.download_job_logs(owner, name, wanted, folder),
        )  # fmt: skip
        return ExplainedRun(repository, run_id, "github", found, job=chosen)


def _with_logs(sources: Sources, known: ExplainedRun) -> ExplainedRun:
    """The same with what logs say of the jobs that were not judged; where none can be had, their note says so."""
    owner, _, name = known.repository.partition("/")

    def fetch(wanted: Sequence[int], folder: Path) -> Iterable[LogDownload]:
        try:
            with sources.github() as github:
                return tuple(github.download_job_logs(owner, name, wanted, folder))
        except BuildEyeError as error:
            return [LogDownload(number, LogState.FAILED, error=str(error)) for number in wanted]

    return replace(known, jobs=_read(sources, known.repository, known.jobs, known.places, fetch))


def _read(
    sources: Sources,
    repository: str,
    jobs: Sequence[ExplainedJob],
    places: Mapping[int, str],
    fetch: Callable[[Sequence[int], Path], Iterable[LogDownload]],
) -> tuple[ExplainedJob, ...]:
    """The jobs with what their logs say: of those without a word so far, and of judged ones whose log is kept."""
    silent = [each.job for each in jobs if each.diagnosis is None and each.verdict is None]
    again = [each.job for each in jobs if each.diagnosis is not None and sources.again and each.job.id in places]
    wanted = [*silent[:MOST_READ], *again[: max(0, MOST_READ - len(silent))]]
    if not wanted:
        return tuple(jobs)
    paths = _kept(sources, repository, wanted, places)
    missing = [job.id for job in silent[:MOST_READ] if job.id not in paths]
    with tempfile.TemporaryDirectory(prefix="build-eye-") as folder:
        fetched = {each.job_id: each for each in fetch(missing, Path(folder))} if missing else {}
        paths |= {number: each.path for number, each in fetched.items() if each.path}
        return tuple(_explained(sources, each, paths.get(each.job.id), fetched.get(each.job.id)) for each in jobs)


def _kept(sources: Sources, repository: str, jobs: Sequence[Job], places: Mapping[int, str]) -> dict[int, Path]:
    """Logs that the archive has, whether the warehouse says so or only their place does."""
    found: dict[int, Path] = {}
    try:
        store = sources.logs()
        for job in jobs if store is not None else ():
            place = places.get(job.id) or (job.completed_at and place_of(repository, job.completed_at, job.id))
            if place and store is not None and (path := _file(store, place)):
                found[job.id] = path
    except OutsideError:
        return found  # GitHub is asked for the others
    return found


def _file(store: LogStore, place: str) -> Path | None:
    try:
        return store.local(place)
    except FileNotFoundError:
        return None


def _explained(sources: Sources, each: ExplainedJob, path: Path | None, fetched: LogDownload | None) -> ExplainedJob:
    if path is None:
        return each if each.diagnosis or each.verdict else replace(each, note=_missing(each.note, fetched))
    reading = None
    try:
        for log in open_logs(str(path)):
            with log:
                log.name = f"{each.job.id}.log"
                reading = sources.read(log, each.job)
            break
    except BuildEyeError as error:
        return each if each.diagnosis else replace(each, note=_joined(each.note, str(error)))
    if reading is None:
        return each if each.diagnosis else replace(each, note=_joined(each.note, "its log is empty"))
    if each.diagnosis is None:
        return replace(each, diagnosis=reading.diagnosis, reading=reading)
    same = reading.diagnosis.key_line == each.diagnosis.key_line  # other rules may read another line first
    return replace(each, reading=LogReading(each.diagnosis, reading.lines)) if same else each


def _missing(note: str, fetched: LogDownload | None) -> str:
    if fetched is None:
        return _joined(note, f"its log was not read: only {MOST_READ} are")
    return _joined(note, fetched.error or GONE)


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def github_of(settings: Settings) -> GitHub:
    """GitHub for somebody who waits for the answer: not for an hour, when its rate limit is used up."""
    api = settings.api.model_copy(update={"rate_limit_wait_seconds": PATIENCE_SECONDS})
    return GitHub.of(settings.model_copy(update={"api": api}))


def log_store_of(settings: Settings) -> LogStore | None:
    """The log archive of the settings; None where there is no such folder, for none is made here."""
    store = settings.storage
    folder = Path(store.log_store) if store.log_store else store.data_dir / "logs"
    if not store.log_store.startswith("s3://") and not folder.is_dir():
        return None
    return open_log_store(store.log_store, store.data_dir)
