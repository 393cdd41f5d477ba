"""The stages of a pass as commands of their own, with the original system's flags; JSON in, JSON out."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import now, progress, settings_for, target_overrides
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.config import Settings

CONFIG = typer.Option(None, "--config", help="Configuration file; default config/config.yaml when it exists.")
TARGET = typer.Option(None, "--target-repo", metavar="OWNER/REPO", help="The repository to watch.")
HOURS = typer.Option(None, "--lookback-hours", min=1, max=2160, help="How many hours to look back.")
INPUT = typer.Option(..., "--input", help="What the stage before wrote.")


def fetch_runs(
    output: Path = typer.Option(Path("data/workflow_runs.json"), "--output", help="Where to write the runs."),
    target_repo: str | None = TARGET,
    lookback_hours: int | None = HOURS,
    config: Path | None = CONFIG,
) -> None:
    """Stage 1: which runs there were.

    \b
    Example:
      build-eye fetch-runs --output data/workflow_runs.json
    """
    from buildeye.github.client import GitHub
    from buildeye.pipeline import fetch

    settings = settings_for(config, target_overrides(target_repo) | {"monitoring.lookback_hours": lookback_hours})
    with GitHub.of(settings) as github:
        runs = fetch.fetch_runs(github, settings, now())
    fetch.write_runs(output, runs, settings.target_repository.full_name)
    typer.echo(f"{output}: {len(runs)} runs of {settings.target_repository.full_name}")


def collect_metadata(
    input: Path = INPUT,
    output: Path = typer.Option(Path("data/build_metadata.json"), "--output", help="Where to write the metadata."),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Stage 2: jobs, pull requests, and the logs of failed jobs.

    \b
    Example:
      build-eye collect-metadata --input data/workflow_runs.json --output data/build_metadata.json
    """
    from buildeye.github.client import GitHub
    from buildeye.pipeline import fetch
    from buildeye.pipeline.collect import collect
    from buildeye.pipeline.metadata import write_builds

    runs = fetch.read_runs(input)
    settings = settings_for(config, target_overrides(target_repo or fetch.repository_of(runs)))
    with GitHub.of(settings) as github, progress() as bars:
        builds = collect(
            github, settings, runs, output.parent / "logs", warn=warn, progress=bars.start("jobs", len(runs))
        )
    write_builds(output, builds)
    typer.echo(f"{output}: {len(builds)} runs, {sum(len(b.failed) for b in builds)} failed jobs")


def classify(
    input: Path = INPUT,
    output: Path = typer.Option(Path("data/classifications.json"), "--output", help="Where to write the verdicts."),
    history: bool = typer.Option(False, "--history/--no-history", help="Compare with what the warehouse holds."),
    config: Path | None = CONFIG,
) -> None:
    """Stage 3: why each failed job failed and whose problem it is.

    Reads the metadata of `collect-metadata` and of the original system (JSON or JSON lines, also .gz).

    \b
    Example:
      build-eye classify --input data/build_metadata.json --output data/classifications.json
    """
    from buildeye.model import Cause
    from buildeye.pipeline.findings import write_findings
    from buildeye.pipeline.metadata import read_builds
    from buildeye.pipeline.monitor import judged
    from buildeye.pipeline.people import overrule
    from buildeye.warehouse import open_to_ask

    settings = settings_for(config, {})
    builds = read_builds(input)
    with progress() as bars:
        step = bars.start("failures", len(builds))
        if history:
            store = settings.storage
            with open_to_ask(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days) as warehouse:
                findings = judged(builds, warehouse, settings, now(), step)
                findings = overrule(findings, warehouse, settings.target_repository.full_name)
        else:
            findings = judged(builds, None, settings, now(), step)
    write_findings(output, findings, "classifications")
    causes = [f.verdict.cause for f in findings]
    said = ", ".join(f"{causes.count(c)} {c}" for c in Cause if c in causes) or "nothing failed"
    typer.echo(f"{output}: {len(builds)} runs, {len(findings)} failed: {said}")


def recommend(
    input: Path = INPUT,
    output: Path = typer.Option(Path("data/recommendations.json"), "--output", help="Where to write the advice."),
    config: Path | None = CONFIG,
) -> None:
    """Stage 4: what to do about each failure, cheapest first.

    Advice of your own is read from the folders of storage.knowledge_dirs (docs/advice.md).

    \b
    Example:
      build-eye recommend --input data/classifications.json --output data/recommendations.json
    """
    from buildeye.pipeline import recommend as stage
    from buildeye.pipeline.findings import read_findings, write_findings
    from buildeye.triage.templates import load_templates

    found = read_findings(input, "classifications", "classify")
    settings = settings_for(config, {})
    templates = load_templates(settings.storage.knowledge_dirs)
    findings = stage.recommend(found, templates, settings.target_repository.branch)
    write_findings(output, findings, "recommendations")
    typer.echo(f"{output}: advice for {len(findings)} runs")


def report(
    input: Path = INPUT,
    output: Path | None = typer.Option(None, "--output", help="The folder of reports; default report.output_dir."),
    language: str | None = typer.Option(None, "--language", help="en or zh."),
    config: Path | None = CONFIG,
) -> None:
    """Stage 5: Markdown reports, one a pull request and day.

    \b
    Example:
      build-eye report --input data/recommendations.json --output reports/
    """
    from buildeye.pipeline.findings import read_findings

    settings = settings_for(config, {"report.output_dir": output, "report.language": language})
    findings = read_findings(input, "recommendations", "recommend")
    typer.echo(write(settings, findings, now()))


def write(settings: "Settings", findings: "list", when: datetime) -> str:  # type: ignore[type-arg]  # list[Finding], kept lazy
    """Write reports and say in one line what was written."""
    from buildeye.reports import write_reports

    done = write_reports(
        findings,
        settings.report.output_dir,
        language=settings.report.language.value,
        now=when,
        max_log_lines=settings.report.max_log_lines,
    )
    return (
        f"{settings.report.output_dir}: {len(done.written)} written, {len(done.updated)} updated, "
        f"{len(done.unchanged)} unchanged, {len(done.removed)} removed"
    )


def archive(
    input: Path = typer.Option(Path("reports"), "--input", help="The folder of reports."),
    repo: str | None = typer.Option(None, "--repo", help="Address or folder of the git repository to push to."),
    branch: str | None = typer.Option(None, "--branch", help="The branch to push to."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say what would be pushed."),
    config: Path | None = CONFIG,
) -> None:
    """Stage 6: push the reports to a git repository. The token comes from ARCHIVE_TOKEN.

    \b
    Example:
      build-eye archive --input reports/ --repo https://github.com/OWNER/REPO.git
    """
    from buildeye.model import UsageError
    from buildeye.pipeline.monitor import AUTHOR, archive_address
    from buildeye.reports import archive as push

    settings = settings_for(config, {"archive_repository.url": repo, "archive_repository.branch": branch})
    address = archive_address(settings)
    if not address:
        raise UsageError("no archive: give --repo, or set archive_repository.url in config/config.yaml")
    if not input.is_dir():
        raise UsageError(f"{input}: no such folder; give the folder that `build-eye report` wrote with --input")
    done = push(
        input, address, branch=settings.archive_repository.branch, token=settings.archive_token, author=AUTHOR,
        workdir=settings.storage.data_dir / "archive", dry_run=dry_run,
    )  # fmt: skip
    changes = f"{len(done.added)} added, {len(done.updated)} updated, {len(done.removed)} removed"
    if dry_run:
        typer.echo(f"{address}: would be {changes}")
    elif done.commit is None:
        typer.echo(f"{address}: nothing new")
    else:
        typer.echo(f"{address}: {changes}, pushed {done.commit[:7]}")
