"""One pass over all stages: what `build-eye monitor` does.

Facts are in the warehouse before anything is judged, verdicts before anything is reported, reports before anything is
archived: a pass that dies is finished by the next one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from buildeye.config import Settings
from buildeye.github.client import GitHub
from buildeye.logs.ruleset import load_ruleset
from buildeye.logstore import open_log_store
from buildeye.model import BuildEyeError, Finding, Run
from buildeye.pipeline.artifacts import Fetched, read_of_pass
from buildeye.pipeline.baselines import keep_baselines, stored_baselines
from buildeye.pipeline.classify import Baselines, History, cancelled, classify
from buildeye.pipeline.metadata import Build
from buildeye.pipeline.recommend import recommend
from buildeye.pipeline.sync import Scope, sync
from buildeye.pipeline.sync.scope import CLOCKS, Progress
from buildeye.pipeline.window import builds_between
from buildeye.reports import ArchiveResult, WriteResult, archive, write_reports
from buildeye.triage.judge import Sighting, Thresholds, Window
from buildeye.triage.templates import load_templates
from buildeye.warehouse import JobDiagnosis, Warehouse

AUTHOR = ("Build-Eye", "build-eye@localhost")


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found and did.

    `archive` is None when nothing was to be archived, and when that failed: then `archive_error` says why. `tests` is
    None when no test reports were asked for.
    """

    runs: Sequence[Run]
    findings: Sequence[Finding]
    superseded: int
    stopped: int
    reports: WriteResult
    archive: ArchiveResult | None = None
    archive_error: BuildEyeError | None = None
    tests: Fetched | None = None


def monitor(
    github: GitHub,
    warehouse: Warehouse,
    settings: Settings,
    now: datetime,
    *,
    dry_run: bool,
    progress: Progress,
    warn: Callable[[str], None],
) -> Pass:
    """Sync, classify, recommend, report, archive. A dry run judges and reports but archives nothing."""
    since = now - timedelta(hours=settings.monitoring.lookback_hours)
    logs = open_log_store(settings.storage.log_store, settings.storage.data_dir)
    sync(Scope.of(github, warehouse, logs, settings, now, progress, warn), since)
    keep_baselines(warehouse, logs, settings.target_repository.full_name, since)
    builds = builds_between(warehouse, logs, settings, since, now + CLOCKS, warn)
    findings = judged(builds, warehouse, settings, now, progress.start("failures", len(builds)))
    _keep_verdicts(warehouse, findings, settings.target_repository.full_name, now)
    stops = [kind for _, kind in cancelled(builds)]
    reports = write_reports(
        findings,
        settings.report.output_dir,
        language=settings.report.language.value,
        now=now,
        max_log_lines=settings.report.max_log_lines,
    )
    done, error = (None, None) if dry_run or not archive_address(settings) else _archive(settings)
    runs = [b.run for b in builds]
    tests = read_of_pass(github, warehouse, settings, runs, now, warn=warn, start=progress.start)
    return Pass(runs, findings, stops.count("superseded"), stops.count("by-user"), reports, done, error, tests)


def judged(
    builds: Sequence[Build],
    warehouse: Warehouse | None,
    settings: Settings,
    now: datetime,
    progress: Callable[[int], None],
) -> list[Finding]:
    """Verdicts with advice for the runs that failed, compared with the history that the warehouse holds."""
    rules = load_ruleset(settings.storage.knowledge_dirs)
    given = settings.classification.confidence_thresholds
    target = settings.target_repository
    history: History | None = None
    green: Baselines | None = None
    if warehouse is not None:
        history = partial(sightings, warehouse, settings, now=now)
        green = partial(stored_baselines, warehouse, target.full_name, target.branch)
    found = classify(
        builds,
        rules,
        Thresholds(given.high, given.medium, given.low),
        now,
        history=history,
        baselines=green,
        base_branch=target.branch,
        window=Window(
            timedelta(hours=settings.classification.related_hours_before),
            timedelta(hours=settings.classification.related_hours_after),
        ),
        progress=progress,
    )
    return recommend(found, load_templates(settings.storage.knowledge_dirs), target.branch)


def sightings(warehouse: Warehouse, settings: Settings, signatures: Sequence[str], *, now: datetime) -> list[Sighting]:
    """Where the same signatures were seen within `classification.known_flaky_window_days`, in one question."""
    if not signatures:
        return []
    rows = warehouse.ask(
        "signature_history",
        repository=settings.target_repository.full_name,
        signatures=list(signatures),
        base_branch=settings.target_repository.branch,
        since=now - timedelta(days=settings.classification.known_flaky_window_days),
        until=now,
    )
    return [
        Sighting(
            row["signature"], row["run_id"], row["head_sha"], row["completed_at"],
            next(iter(row["pull_requests"]), None), row["actor"], on_base=bool(row["on_base"]),
            passed_at=row["passed_at"] if row["passed_at"].year > 1970 else None,
        )
        for row in rows
    ]  # fmt: skip


def _keep_verdicts(warehouse: Warehouse, findings: Sequence[Finding], repository: str, now: datetime) -> None:
    jobs = [(f, j) for f in findings for j in f.jobs]
    warehouse.write_diagnoses([JobDiagnosis(repository, f.run.id, j.job.id, j.diagnosis, now) for f, j in jobs])
    warehouse.write_verdicts([j.verdict for _, j in jobs], repository)


def archive_address(settings: Settings) -> str:
    """Where git pushes reports to; empty when no archive is set. A folder is meant from the current one."""
    place = settings.archive_repository
    if place.url and Path(place.url).is_dir():
        return str(Path(place.url).absolute())
    return place.url or (f"https://github.com/{place.full_name}.git" if place.full_name else "")


def _archive(settings: Settings) -> tuple[ArchiveResult | None, BuildEyeError | None]:
    """What was archived, or why that failed: what the pass found is told all the same."""
    try:
        done = archive(
            Path(settings.report.output_dir),
            archive_address(settings),
            branch=settings.archive_repository.branch,
            token=settings.archive_token,
            author=AUTHOR,
            workdir=settings.storage.data_dir / "archive",
        )
    except BuildEyeError as error:
        return None, error
    return done, None
