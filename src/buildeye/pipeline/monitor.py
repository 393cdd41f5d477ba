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
from buildeye.logstore import LogStore, open_log_store
from buildeye.model import BuildEyeError, Finding, PoolLoad, Run, VerdictChange
from buildeye.pipeline.artifacts import Fetched, read_of_pass
from buildeye.pipeline.baselines import keep_baselines, stored_baselines
from buildeye.pipeline.classify import Around, Baselines, Read, cancelled, classify
from buildeye.pipeline.history import history_around, thresholds_of, window_of
from buildeye.pipeline.metadata import Build
from buildeye.pipeline.people import overrule
from buildeye.pipeline.pressure import loads_of_pass
from buildeye.pipeline.recommend import recommend
from buildeye.pipeline.reconsider import keep_diagnoses, keep_verdicts, reconsider
from buildeye.pipeline.sync import Scope, sync
from buildeye.pipeline.sync.scope import CLOCKS, Progress
from buildeye.pipeline.window import builds_between
from buildeye.reports import ArchiveResult, WriteResult, archive, write_reports
from buildeye.triage.history import History
from buildeye.triage.templates import load_templates
from buildeye.warehouse import JobDiagnosis, JobEnvironment, Warehouse

AUTHOR = ("Build-Eye", "build-eye@localhost")


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass found and did.

    `archive` is None when nothing was to be archived, and when that failed: then `archive_error` says why. `tests` is
    None when no test reports were asked for. `changed` are verdicts of earlier passes that are judged otherwise now.
    """

    runs: Sequence[Run]
    findings: Sequence[Finding]
    superseded: int
    stopped: int
    reports: WriteResult
    archive: ArchiveResult | None = None
    archive_error: BuildEyeError | None = None
    tests: Fetched | None = None
    changed: Sequence[VerdictChange] = ()


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
    loads = loads_of_pass(settings, now - _longest(settings), now, warn)
    findings = judged(builds, warehouse, settings, now, progress.start("failures", len(builds)), loads)
    changed = _keep_and_reconsider(warehouse, findings, settings, now, loads)
    findings += _changed_before(warehouse, logs, settings, now, changed, findings, loads, warn)
    findings = advised(overrule(findings, warehouse, settings.target_repository.full_name), settings)
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
    stopped = stops.count("superseded"), stops.count("by-user")
    return Pass(runs, findings, *stopped, reports, done, error, tests, changed)


def _longest(settings: Settings) -> timedelta:
    """How far back a pass judges: what it looks at, and what it judges again."""
    hours = max(settings.monitoring.lookback_hours, 24 * settings.classification.reconsider_days)
    return timedelta(hours=hours + settings.classification.related_hours_before)


def _keep_and_reconsider(
    warehouse: Warehouse, findings: Sequence[Finding], settings: Settings, now: datetime, loads: Sequence[PoolLoad]
) -> list[VerdictChange]:
    verdicts = [job.verdict for finding in findings for job in finding.jobs]
    changes = keep_verdicts(warehouse, verdicts, settings.target_repository.full_name, now)
    return changes + reconsider(warehouse, settings, now, {verdict.job_id for verdict in verdicts}, loads)


def _changed_before(
    warehouse: Warehouse,
    logs: LogStore,
    settings: Settings,
    now: datetime,
    changed: Sequence[VerdictChange],
    findings: Sequence[Finding],
    loads: Sequence[PoolLoad],
    warn: Callable[[str], None],
) -> list[Finding]:
    """Findings of earlier runs whose verdict changed, so that their reports change too."""
    missing = {change.run_id for change in changed} - {finding.run.id for finding in findings}
    if not missing:
        return []
    builds = builds_between(warehouse, logs, settings, now - _longest(settings), now, warn, only=missing)
    return judged(builds, warehouse, settings, now, lambda _: None, loads)


def judged(
    builds: Sequence[Build],
    warehouse: Warehouse | None,
    settings: Settings,
    now: datetime,
    progress: Callable[[int], None],
    loads: Sequence[PoolLoad] = (),
) -> list[Finding]:
    """Verdicts on the runs that failed, judged beside what the warehouse holds."""
    rules = load_ruleset(settings.storage.knowledge_dirs)
    target = settings.target_repository
    around: Around | None = None
    green: Baselines | None = None
    if warehouse is not None:
        around = partial(_around, warehouse, settings, now, loads)
        green = partial(stored_baselines, warehouse, target.full_name, target.branch)
    return classify(
        builds,
        rules,
        thresholds_of(settings),
        now,
        around=around,
        baselines=green,
        base_branch=target.branch,
        window=window_of(settings),
        progress=progress,
    )


def advised(findings: Sequence[Finding], settings: Settings) -> list[Finding]:
    """The findings with what to do about them, by the templates that the settings name."""
    return recommend(findings, load_templates(settings.storage.knowledge_dirs), settings.target_repository.branch)


def _around(
    warehouse: Warehouse, settings: Settings, now: datetime, loads: Sequence[PoolLoad], reads: Sequence[Read]
) -> History:
    """What the warehouse knows around these failures; their diagnoses are kept first, since questions go by them."""
    repository = settings.target_repository.full_name
    said = [JobDiagnosis(repository, r.build.run.id, r.job.id, r.diagnosis, now) for r in reads]
    keep_diagnoses(warehouse, repository, said)
    warehouse.write_environments(
        [JobEnvironment(repository, r.build.run.id, r.job.id, r.environment, now) for r in reads if r.environment]
    )
    ends = [r.job.completed_at or r.build.run.updated_at or now for r in reads]
    return history_around(warehouse, settings, min(ends), max(ends), now, loads=loads)


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
