"""`build-eye monitor`: one pass over all stages."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import now, progress, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, HOURS, TARGET
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.pipeline.artifacts import Fetched
    from buildeye.pipeline.monitor import Pass


def monitor(
    target_repo: str | None = TARGET,
    lookback_hours: int | None = HOURS,
    dry_run: bool = typer.Option(False, "--dry-run", help="Judge and report, but archive nothing."),
    output: Path | None = typer.Option(None, "--output", help="The folder of reports; default report.output_dir."),
    config: Path | None = CONFIG,
) -> None:
    """One pass: fetch runs, read the logs of what failed, judge, report, archive.

    \b
    Examples:
      build-eye monitor
      build-eye monitor --target-repo vllm-project/vllm-ascend --lookback-hours 24 --dry-run
    """
    overrides = {"monitoring.lookback_hours": lookback_hours, "report.output_dir": output}
    settings = settings_for(config, target_overrides(target_repo) | overrides)
    typer.echo(run_pass(settings, dry_run=dry_run))


def run_pass(settings: "Settings", *, dry_run: bool) -> str:
    """Do one pass and give back what there is to say at its end.

    When only the archive failed, that is said first and the failure raised after it.
    """
    from buildeye.github.client import GitHub
    from buildeye.pipeline.monitor import monitor as run
    from buildeye.warehouse import open_warehouse

    store = settings.storage
    with (
        GitHub.of(settings) as github,
        open_warehouse(store.warehouse_dsn, retention_days=store.retention_days) as warehouse,
        progress() as bars,
    ):
        done = run(github, warehouse, settings, now(), dry_run=dry_run, progress=bars, warn=warn)
        stats = github.stats
    left = f" ({stats.remaining:,} left)" if stats.remaining is not None else ""
    said = show_pass(settings, done, f"{stats.requests} API requests{left}", dry_run=dry_run)
    if done.archive_error:
        typer.echo(said)
        raise done.archive_error
    return said


def show_pass(settings: "Settings", done: "Pass", requests: str, *, dry_run: bool) -> str:
    """The end of a pass: how many runs, the table of what failed, and where it is told."""
    from buildeye.cli.tables import table
    from buildeye.reports import summary_table

    ended = [r.conclusion for r in done.runs]
    said = [f"{ended.count('success')} passed", f"{ended.count('skipped')} skipped"]
    said += [f"{n} {word}" for n, word in ((done.superseded, "superseded"), (done.stopped, "cancelled")) if n]
    said.append(f"{len(done.findings)} failed")
    unfinished = sum(1 for r in done.runs if r.status != "completed")
    if unfinished:
        said.append(f"{unfinished} not finished")
    hours = settings.monitoring.lookback_hours
    out = [f"{settings.target_repository.full_name} · last {hours} h · {len(done.runs)} runs: {', '.join(said)}", ""]
    rows = summary_table(done.findings)
    if rows:
        out += [table(("cause", "runs", "what", "who"), [(r.cause, str(r.runs), r.what, r.who) for r in rows]), ""]
    reports = done.reports
    told = f"{settings.report.output_dir}/ {len(reports.written)} written, {len(reports.updated)} updated"
    told += f", {len(reports.unchanged)} unchanged" if reports.unchanged else ""
    if done.tests:
        out += [show_tests(done.tests), ""]
    out.append(" · ".join([told, _archived(done, dry_run=dry_run), requests]))
    return "\n".join(out)


def show_tests(fetched: "Fetched") -> str:
    """What the artifacts of a pass held."""
    tally = fetched.tally
    known = f" ({fetched.known} known before)" if fetched.known else ""
    said = f"{fetched.read} artifacts read{known}: {tally.reports} test reports, {tally.cases:,} cases"
    return said + (f", {tally.failed:,} failed" if tally.failed else "")


def _archived(done: "Pass", *, dry_run: bool) -> str:
    if done.archive_error:
        return "not archived"
    if done.archive is None:
        return "nothing archived (dry run)" if dry_run else "no archive set"
    return f"archive pushed {done.archive.commit[:7]}" if done.archive.commit else "archive has them already"
