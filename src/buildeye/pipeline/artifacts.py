"""Test reports of runs on GitHub: which artifacts are new, fetched one after another, read, and recorded as read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from buildeye.config import Settings
from buildeye.config.settings import TestsOf
from buildeye.github.artifacts import Artifact
from buildeye.github.client import GitHub
from buildeye.github.parallel import in_parallel
from buildeye.model import Origin, OutsideError, Run
from buildeye.pipeline.collect import FAILED
from buildeye.pipeline.testreports import Tally, read_archive
from buildeye.testresults.makers import JobTime, maker_of
from buildeye.warehouse import ReadArtifact, Warehouse

_FETCHED_AHEAD: Final = 2  # archives on the disk at once are at most twice as many
_ABANDONED: Final = timedelta(days=1)
_OLDER_IN_A_ROW: Final = 100
"""GitHub lists artifacts newest first, yet does not promise it: so many old ones in a row end the list."""


@dataclass(slots=True)
class Fetched:
    """What a fetch did: artifacts read now, those read before, and what they held."""

    read: int = 0
    known: int = 0
    tally: Tally = field(default_factory=Tally)


def wanted_runs(settings: Settings, runs: Sequence[Run]) -> list[Run]:
    """The completed runs whose test reports a pass reads (`tests.of_runs`)."""
    match settings.tests.of_runs:
        case TestsOf.NONE:
            return []
        case TestsOf.FAILED:
            return [run for run in runs if run.status == "completed" and run.conclusion in FAILED]
        case TestsOf.ALL:
            return [run for run in runs if run.status == "completed"]


def artifacts_of(github: GitHub, settings: Settings, runs: Sequence[Run]) -> list[Artifact]:
    """Artifacts of these runs that may hold test reports, newest first: one list for all runs, a page for each 100."""
    target = settings.target_repository
    ids = {run.id for run in runs}
    since = min((run.created_at for run in runs if run.created_at), default=None)
    listed = _since(github.artifacts(target.owner, target.repo), since) if ids else ()
    return [each for each in listed if each.run_id in ids and may_hold_reports(settings, each.name)]


def may_hold_reports(settings: Settings, name: str) -> bool:
    """Whether an artifact's name fits `tests.artifact_patterns`."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in settings.tests.artifact_patterns)


def read_of_pass(
    github: GitHub,
    warehouse: Warehouse,
    settings: Settings,
    runs: Sequence[Run],
    now: datetime,
    *,
    warn: Callable[[str], None],
    start: Callable[[str, int], Callable[[int], None]],
) -> Fetched | None:
    """Read the test reports of a pass's runs as `tests.of_runs` wants; None when it wants none.

    What GitHub does not give is told by `warn` and fails nothing. `start` begins a stage of so many steps.
    """
    if not (wanted := wanted_runs(settings, runs)):
        return None
    try:
        artifacts = artifacts_of(github, settings, wanted)
        step = start("test reports", len(artifacts))
        return read_artifacts(github, warehouse, settings, artifacts, now, warn=warn, progress=step)
    except OutsideError as error:
        warn(f"test reports are not read this time: {error}")
        return None


def read_artifacts(
    github: GitHub,
    warehouse: Warehouse,
    settings: Settings,
    artifacts: Sequence[Artifact],
    now: datetime,
    *,
    warn: Callable[[str], None],
    progress: Callable[[int], None] = lambda _: None,
) -> Fetched:
    """Fetch and read those that were not read before. One that cannot be had is told and tried again another time."""
    repository = settings.target_repository.full_name
    done = Fetched()
    new = _new(warehouse, repository, {each.id: each for each in artifacts}, done)
    if len(new) > settings.tests.max_artifacts:
        warn(
            f"{len(new)} artifacts with test reports, the newest {settings.tests.max_artifacts} are read; "
            "raise tests.max_artifacts to read more in one pass"
        )
    new = new[: settings.tests.max_artifacts]
    _tidy(_folder(settings), now)
    jobs = _jobs(github, warehouse, settings, {each.run_id for each in new}, warn)
    new = [each for each in new if each.run_id in jobs]
    progress(len(artifacts) - len(new))
    for artifact, path, trouble in _archives(github, settings, new, warn):
        tally = Tally(troubles=[trouble] if trouble else [])
        if path is not None:
            tally = read_archive(warehouse, path, _origin(repository, artifact, jobs[artifact.run_id], now))
            with suppress(FileNotFoundError):
                path.unlink()
        if path is not None or trouble:
            for each in tally.troubles if path else ():
                warn(f"artifact {artifact.name} of run {artifact.run_id}: {each}")
            warehouse.write_read_artifact(
                ReadArtifact(
                    repository, artifact.run_id, artifact.id, artifact.name, now, tally.reports, tally.cases,
                    tuple(tally.troubles),
                )
            )  # fmt: skip
            done.read += 1
            done.tally.add(tally)
        progress(1)
    return done


def _folder(settings: Settings) -> Path:
    return settings.storage.data_dir / "artifacts"


def _tidy(folder: Path, now: datetime) -> None:
    """Remove what a killed process left, not what another one is fetching right now."""
    for file in folder.glob("*"):
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < (now - _ABANDONED).timestamp():
                file.unlink()


def _since(listed: Iterable[Artifact], since: datetime | None) -> Iterator[Artifact]:
    older = 0
    for artifact in listed:
        older = older + 1 if since and artifact.created_at and artifact.created_at < since else 0
        if older > _OLDER_IN_A_ROW:
            return
        yield artifact


def _new(warehouse: Warehouse, repository: str, artifacts: dict[int, Artifact], done: Fetched) -> list[Artifact]:
    """Those that are not recorded as read, in their order."""
    known: set[int] = set()
    numbers = iter(artifacts)
    while asked := list(islice(numbers, 1000)):
        rows = warehouse.ask("test_artifacts_read", repository=repository, artifacts=asked)
        known |= {row["artifact_id"] for row in rows}
    done.known = len(known)
    return [each for number, each in artifacts.items() if number not in known]


def _jobs(
    github: GitHub, warehouse: Warehouse, settings: Settings, runs: set[int], warn: Callable[[str], None]
) -> dict[int, tuple[JobTime, ...]]:
    """The jobs of runs, from the warehouse, and from GitHub for runs it does not hold; none of a run GitHub refuses."""
    found: dict[int, list[JobTime]] = {}
    for row in warehouse.ask("jobs_of_runs", repository=settings.target_repository.full_name, runs=sorted(runs)):
        times = (_known(row["started_at"]), _known(row["completed_at"]))
        found.setdefault(row["run_id"], []).append(JobTime(row["job_id"], row["run_attempt"], row["name"], *times))
    target = settings.target_repository
    for run in sorted(runs - set(found)):
        try:
            jobs = github.jobs(target.owner, target.repo, run, all_attempts=True)
        except OutsideError as error:
            warn(f"artifacts of run {run} are not read this time: {error}")
            continue
        found[run] = [JobTime(j.id, j.run_attempt, j.name, j.started_at, j.completed_at) for j in jobs]
    return {run: tuple(jobs) for run, jobs in found.items()}


def _known(moment: datetime) -> datetime | None:
    return moment if moment.year > 1970 else None


def _origin(repository: str, artifact: Artifact, jobs: Sequence[JobTime], now: datetime) -> Origin:
    job, attempt = maker_of(artifact.name, artifact.created_at, jobs)
    return Origin(repository, artifact.run_id, f"artifact {artifact.id}", artifact.created_at or now, attempt, job)


def _archives(
    github: GitHub, settings: Settings, artifacts: Sequence[Artifact], warn: Callable[[str], None]
) -> Iterator[tuple[Artifact, Path | None, str]]:
    """Each artifact with its zip on the disk, or why there will never be one; neither when not this time."""
    target = settings.target_repository
    folder = _folder(settings)

    def fetch(artifact: Artifact) -> tuple[Artifact, Path | None, str]:
        if artifact.expired:
            return artifact, None, "it has expired"
        if artifact.size_bytes > settings.tests.max_artifact_mib * 1024 * 1024:
            size = f"{artifact.size_bytes // (1024 * 1024)} MiB"
            warn(
                f"artifact {artifact.name} of run {artifact.run_id} is not read ({size}); raise tests.max_artifact_mib"
            )
            return artifact, None, ""
        try:
            path = github.download_artifact(target.owner, target.repo, artifact, folder)
        except OutsideError as error:
            warn(f"artifact {artifact.name} of run {artifact.run_id} is not read this time: {error}")
            return artifact, None, ""
        if path is None:
            warn(f"artifact {artifact.name} of run {artifact.run_id} is not read: GitHub does not hand it out")
        return artifact, path, ""

    return in_parallel(fetch, artifacts, _FETCHED_AHEAD)
