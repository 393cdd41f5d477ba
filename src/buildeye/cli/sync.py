"""`build-eye sync` and `build-eye backfill`: facts from GitHub into the warehouse, without judging anything."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import now, progress, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, HOURS, TARGET
from buildeye.cli.voice import tell, warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.github import Stats
    from buildeye.pipeline.sync import Scope
    from buildeye.pipeline.sync.backfill import DayDone
    from buildeye.pipeline.sync.scope import Progress


def sync(target_repo: str | None = TARGET, lookback_hours: int | None = HOURS, config: Path | None = CONFIG) -> None:
    """Bring the warehouse and the log archive up to date with GitHub; judge nothing.

    Asks only for what is new since the last time, and at least once for the last --lookback-hours.

    \b
    Examples:
      build-eye sync
      build-eye sync --target-repo vllm-project/vllm-ascend --lookback-hours 72
    """
    from buildeye.pipeline.sync import sync as run

    settings = settings_for(config, target_overrides(target_repo) | {"monitoring.lookback_hours": lookback_hours})
    with progress() as bars, _scope(settings, bars) as scope:
        done = run(scope, scope.now - timedelta(hours=settings.monitoring.lookback_hours))
        stats = scope.github.stats
    logs = f"{done.logs.kept} logs" + (f" ({done.logs.expired} expired)" if done.logs.expired else "")
    logs += f", {done.incidents} incidents of GitHub" if done.incidents else ""
    typer.echo(
        f"{settings.target_repository.full_name}: {done.runs.changed} runs new or changed, {done.runs.jobs} jobs, "
        f"{done.pull_requests} pull requests, {done.commits} commits of {settings.target_repository.branch}, {logs} · "
        f"{_requests(stats)}"
    )


def backfill(
    since: str = typer.Option(..., "--since", metavar="DATE", help="From when on, in UTC: 2026-11-01."),
    until: str | None = typer.Option(None, "--until", metavar="DATE", help="Until the end of this day; default now."),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Bring the facts of a longer time, a day at a time, the newest first.

    Stopped or killed, the same command goes on where it was.

    \b
    Examples:
      build-eye backfill --since 2026-11-01
      build-eye backfill --since 2026-10-01 --until 2026-10-31 --target-repo vllm-project/vllm-ascend
    """
    from buildeye.model import OutsideError
    from buildeye.pipeline.sync.backfill import backfill as run
    from buildeye.pipeline.sync.backfill import days_of
    from buildeye.pipeline.sync.scope import Silence

    settings = settings_for(config, target_overrides(target_repo))
    first, last = _time_of(settings, since, until)
    done: list[DayDone] = []
    with progress() as bars, _scope(settings, Silence()) as scope:
        step = bars.start("days", len(days_of(first, last)))
        for day in run(scope, first, last):
            done.append(day)
            step(1)
            if not sys.stderr.isatty():
                tell(_said(day))
        stats = scope.github.stats
    runs, jobs = sum(day.runs.changed for day in done), sum(day.runs.jobs for day in done)
    typer.echo(
        f"{settings.target_repository.full_name}: {len(done)} days, {sum(day.known for day in done)} of them here "
        f"before: {runs} runs new or changed, {jobs} jobs, {sum(day.logs.kept for day in done)} logs, "
        f"{sum(day.logs.expired for day in done)} expired · {_requests(stats)}"
    )
    if torn := sum(not day.whole for day in done):
        raise OutsideError(f"{torn} of {len(done)} days are not whole, see the warnings; give the same command again")


def _said(day: "DayDone") -> str:
    if day.known:
        return f"{day.window.since:%Y-%m-%d}: here before"
    return f"{day.window.since:%Y-%m-%d}: {day.runs.looked_at} runs, {day.runs.jobs} jobs, {day.logs.kept} logs"


def _time_of(settings: "Settings", since: str, until: str | None) -> tuple[datetime, datetime]:
    from buildeye.model import UsageError

    end = now()
    first = _moment("--since", since)
    last = min(end, _moment("--until", until) + timedelta(days=1, seconds=-1)) if until else end
    kept = timedelta(days=settings.storage.retention_days)
    if first > last:
        raise UsageError(f"--since {since} is later than {until or 'now'}; give an earlier date")
    if first < end - kept:
        raise UsageError(
            f"--since {since} is more than {kept.days} days ago, and older facts are not kept; "
            "give a later date or raise storage.retention_days"
        )
    return first, last


def _moment(option: str, text: str) -> datetime:
    from buildeye.model import UsageError

    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise UsageError(f'{option} is "{text}"; write a date such as 2026-11-01') from None


@contextmanager
def _scope(settings: "Settings", bars: "Progress") -> "Iterator[Scope]":
    """What a sync works with, opened and closed."""
    from buildeye.github.client import GitHub
    from buildeye.logstore import open_log_store
    from buildeye.pipeline.sync import Scope
    from buildeye.warehouse import open_warehouse

    store = settings.storage
    with (
        GitHub.of(settings) as github,
        open_warehouse(store.warehouse_dsn, retention_days=store.retention_days, data_dir=store.data_dir) as warehouse,
    ):
        logs = open_log_store(store.log_store, store.data_dir)
        yield Scope.of(github, warehouse, logs, settings, now(), bars, warn)


def _requests(stats: "Stats") -> str:
    left = f" ({stats.remaining:,} left)" if stats.remaining is not None else ""
    return f"{stats.requests} API requests, {stats.not_modified} of them not modified{left}"
