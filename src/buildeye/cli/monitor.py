"""`build-eye monitor`: one pass over all stages."""

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import now, progress, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, HOURS, TARGET
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.model import Finding
    from buildeye.pipeline.artifacts import Fetched
    from buildeye.pipeline.monitor import Pass
    from buildeye.pipeline.sync.scope import Progress
    from buildeye.warehouse import Warehouse


def monitor(
    target_repo: str | None = TARGET,
    lookback_hours: int | None = HOURS,
    dry_run: bool = typer.Option(False, "--dry-run", help="Judge and report, but archive nothing."),
    watch: bool = typer.Option(False, "--watch", help="Stay, with a pass each monitoring.polling_interval_hours."),
    output: Path | None = typer.Option(None, "--output", help="The folder of reports; default report.output_dir."),
    config: Path | None = CONFIG,
) -> None:
    """One pass: fetch runs, read the logs of what failed, judge, report, archive.

    \b
    Examples:
      build-eye monitor
      build-eye monitor --target-repo vllm-project/vllm-ascend --lookback-hours 24 --dry-run
      build-eye monitor --watch
    """
    from buildeye.cli import actions
    from buildeye.cli.watch import watch_passes

    overrides = {"monitoring.lookback_hours": lookback_hours, "report.output_dir": output}
    with actions.failures_told(os.environ):
        settings = settings_for(config, target_overrides(target_repo) | overrides)
        if watch:
            watch_passes(settings, dry_run=dry_run)
            return
        told = do_pass(settings, dry_run=dry_run)
        typer.echo(told.text)
        actions.report(os.environ, settings, told.done, told.opening, told.closing)
        if told.done.archive_error:
            raise told.done.archive_error


@dataclass(frozen=True, slots=True)
class Told:
    """A pass and what there is to say at its end: how many runs, what failed, what was done."""

    done: "Pass"
    opening: str
    table: str
    closing: str

    @property
    def text(self) -> str:
        """All of it, for a terminal."""
        table = [self.table, ""] if self.table else []
        return "\n".join([self.opening, "", *table, self.closing])


def run_pass(settings: "Settings", *, dry_run: bool) -> str:
    """Do one pass and give back what there is to say at its end.

    When only the archive failed, that is said first and the failure raised after it.
    """
    told = do_pass(settings, dry_run=dry_run)
    if told.done.archive_error:
        typer.echo(told.text)
        raise told.done.archive_error
    return told.text


def do_pass(
    settings: "Settings",
    *,
    dry_run: bool,
    bars: "Progress | None" = None,
    sleep: Callable[[float], None] = time.sleep,
    warehouse: "Warehouse | None" = None,
) -> Told:
    """Do one pass. `bars` is how far it is told with, `sleep` how it waits for GitHub.

    `warehouse` is one that is open already; without it the one of the settings is opened.
    """
    from buildeye.github.client import GitHub
    from buildeye.pipeline.monitor import monitor as run
    from buildeye.warehouse import open_warehouse

    store = settings.storage
    with (
        GitHub.of(settings, sleep=sleep) as github,
        (
            nullcontext(warehouse)
            if warehouse
            else open_warehouse(store.warehouse_dsn, retention_days=store.retention_days, data_dir=store.data_dir)
        ) as facts,
        nullcontext(bars) if bars else progress() as shown,
    ):
        done = run(github, facts, settings, now(), dry_run=dry_run, progress=shown, warn=warn)
        stats = github.stats
    left = f" ({stats.remaining:,} left)" if stats.remaining is not None else ""
    closing = " · ".join([*_did(settings, done, dry_run=dry_run), f"{stats.requests} API requests{left}"])
    return Told(done, _opening(settings, done), _table(done), closing)


def _opening(settings: "Settings", done: "Pass") -> str:
    ended = [r.conclusion for r in done.runs]
    said = [f"{ended.count('success')} passed", f"{ended.count('skipped')} skipped"]
    said += [f"{n} {word}" for n, word in ((done.superseded, "superseded"), (done.stopped, "cancelled")) if n]
    said.append(f"{len(done.findings) - len(_earlier(done))} failed")
    unfinished = sum(1 for r in done.runs if r.status != "completed")
    if unfinished:
        said.append(f"{unfinished} not finished")
    hours = settings.monitoring.lookback_hours
    return f"{settings.target_repository.full_name} · last {hours} h · {len(done.runs)} runs: {', '.join(said)}"


def _earlier(done: "Pass") -> list["Finding"]:
    """Findings about runs before this pass, which are told again since they are judged otherwise now."""
    changed, runs = {change.run_id for change in done.changed}, {run.id for run in done.runs}
    return [finding for finding in done.findings if finding.run.id in changed - runs]


def _table(done: "Pass") -> str:
    from buildeye.cli.tables import table
    from buildeye.reports import summary_table

    rows = [(row.cause, str(row.runs), row.what, row.who) for row in summary_table(done.findings)]
    return table(("cause", "runs", "what", "who"), rows) if rows else ""


def _did(settings: "Settings", done: "Pass", *, dry_run: bool) -> list[str]:
    reports = done.reports
    told = f"{settings.report.output_dir}/ {len(reports.written)} written, {len(reports.updated)} updated"
    told += f", {len(reports.unchanged)} unchanged" if reports.unchanged else ""
    tests = [show_tests(done.tests)] if done.tests else []
    count = len(done.changed)
    changed = [f"{count} {'verdict' if count == 1 else 'verdicts'} changed"] if count else []
    return [told, _archived(done, dry_run=dry_run), *changed, *tests]


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
