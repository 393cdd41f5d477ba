"""`build-eye ingest`: facts from outside a pass, into the warehouse."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import now, progress, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, HOURS, TARGET
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.model import Origin
    from buildeye.warehouse import Warehouse

app = typer.Typer(help="Bring test reports into the warehouse.", no_args_is_help=True, rich_markup_mode=None)


@app.command("junit")
def junit(
    files: list[Path] = typer.Argument(..., metavar="FILE...", help="JUnit XML, folders of it, or zip archives."),
    run: int | None = typer.Option(None, "--run", min=1, help="The run they are of; in GitHub Actions: this one."),
    job: int = typer.Option(0, "--job", min=0, help="The job of that run, if known."),
    attempt: int = typer.Option(1, "--attempt", min=1, help="The attempt of that run."),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Keep the test cases of JUnit reports. A report that breaks gives what stood before the break.

    \b
    Examples:
      build-eye ingest junit report.xml --run 26426100000 --job 77790100007
      build-eye ingest junit build/test-results/ --run 26426100000
    """
    from buildeye.model.errors import EXIT_BAD
    from buildeye.pipeline.testreports import read_files
    from buildeye.warehouse import open_warehouse

    run, attempt, target_repo = _of_workflow(run, attempt, target_repo)
    settings = settings_for(config, target_overrides(target_repo))
    store = settings.storage
    with open_warehouse(store.warehouse_dsn, retention_days=store.retention_days, data_dir=store.data_dir) as warehouse:
        origin, is_known = _origin(warehouse, settings, run, attempt, job)
        tally = read_files(warehouse, files, origin, dated_by_file=not is_known)
    for trouble in tally.troubles:
        warn(trouble)
    failed = f", {tally.failed:,} failed" if tally.failed else ""
    place = f"run {run} of {settings.target_repository.full_name}"
    typer.echo(f"{place}: {tally.reports} reports, {tally.cases:,} test cases{failed}")
    if tally.troubles:
        raise typer.Exit(EXIT_BAD)


@app.command("artifacts")
def artifacts(
    runs: list[int] = typer.Argument(None, metavar="[RUN...]", help="Runs by number; none: all of the last hours."),
    target_repo: str | None = TARGET,
    lookback_hours: int | None = HOURS,
    config: Path | None = CONFIG,
) -> None:
    """Fetch artifacts that hold JUnit reports from GitHub and keep their test cases; each artifact once.

    \b
    Examples:
      build-eye ingest artifacts
      build-eye ingest artifacts 26426100000
    """
    from buildeye.cli.monitor import show_tests
    from buildeye.github.client import GitHub
    from buildeye.pipeline import artifacts as stage
    from buildeye.pipeline.fetch import fetch_runs
    from buildeye.warehouse import open_warehouse

    settings = settings_for(config, target_overrides(target_repo) | {"monitoring.lookback_hours": lookback_hours})
    store, target = settings.storage, settings.target_repository
    with (
        GitHub.of(settings) as github,
        open_warehouse(store.warehouse_dsn, retention_days=store.retention_days, data_dir=store.data_dir) as warehouse,
        progress() as bars,
    ):
        if runs:
            listed = [each for run in runs for each in github.artifacts(target.owner, target.repo, run)]
            found = [each for each in listed if stage.may_hold_reports(settings, each.name)]
        else:
            ended = [run for run in fetch_runs(github, settings, now()) if run.status == "completed"]
            found = stage.artifacts_of(github, settings, ended)
        step = bars.start("test reports", len(found))
        done = stage.read_artifacts(github, warehouse, settings, found, now(), warn=warn, progress=step)
    typer.echo(f"{target.full_name}: {show_tests(done)}")


def _of_workflow(run: int | None, attempt: int, repository: str | None) -> tuple[int, int, str | None]:
    """The run meant: the one named, or the one this process is a step of."""
    from buildeye.model import UsageError

    if run is not None:
        return run, attempt, repository
    here = os.environ.get("GITHUB_RUN_ID", "")
    if not here.isdecimal() or repository is not None:
        raise UsageError("no run: say with --run which run these reports are of")
    number = os.environ.get("GITHUB_RUN_ATTEMPT", "")
    return int(here), int(number) if number.isdecimal() else attempt, os.environ.get("GITHUB_REPOSITORY")


def _origin(warehouse: "Warehouse", settings: "Settings", run: int, attempt: int, job: int) -> "tuple[Origin, bool]":
    """Where the reports come from, and whether it is known when the job ended: then they count as made.

    In a step of that run, jobs on two machines may have a report at the same place: they are told apart.
    """
    from buildeye.model import Origin

    repository = settings.target_repository.full_name
    known = warehouse.ask("jobs_of_runs", repository=repository, runs=[run])
    ends = [row["completed_at"] for row in known if row["run_attempt"] == attempt and job in (0, row["job_id"])]
    ended = max((end for end in ends if end.year > 1970), default=None)
    machine = "" if job or os.environ.get("GITHUB_RUN_ID") != str(run) else _machine()
    return Origin(repository, run, machine, ended or now(), attempt, job), ended is not None


def _machine() -> str:
    """The job of a workflow file and the runner that this process is on, as GitHub Actions says."""
    return " on ".join(os.environ[name] for name in ("GITHUB_JOB", "RUNNER_NAME") if os.environ.get(name))
