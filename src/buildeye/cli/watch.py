"""`build-eye monitor --watch`: passes without an end, told as plain lines with times."""

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from buildeye.cli.apart import run_apart
from buildeye.cli.setup import PlainProgress, now
from buildeye.cli.signals import signalled_stop
from buildeye.cli.voice import complain, listen, sentence, tell
from buildeye.model import UsageError

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.pipeline.watch import Stop
    from buildeye.warehouse import Warehouse


def watch_passes(settings: "Settings", *, dry_run: bool) -> None:
    """Do a pass at once and one each `monitoring.polling_interval_hours` until SIGTERM or SIGINT."""
    from buildeye.pipeline.watch import only_watcher, watch

    listen(settings, times=True)
    with only_watcher(settings.storage.data_dir), signalled_stop() as stop:
        tell(_watching(settings))

        def apart() -> None:
            run_apart(lambda: _one_pass(settings, stop, dry_run=dry_run), stop)

        watch(apart, _interval(settings), stop, clock=now, failed=_failed, done=_done)
        tell("stopped as asked; the next start goes on from here")


def watch_beside(settings: "Settings", warehouse: "Warehouse", stop: "Stop") -> None:
    """The same in a thread of a process that owns the warehouse, until `stop` is asked for.

    Settings that are wrong end it with one sentence; the process goes on.
    """
    from buildeye.pipeline.watch import watch

    def one_pass() -> None:
        _one_pass(settings, stop, dry_run=False, warehouse=warehouse)

    tell(_watching(settings))
    try:
        watch(one_pass, _interval(settings), stop, clock=now, failed=_failed, done=_done)
    except UsageError as error:
        complain(f"no more passes: {sentence(error)}")


def _watching(settings: "Settings") -> str:
    hours = settings.monitoring.polling_interval_hours
    return f"watching {settings.target_repository.full_name}, a pass every {hours} h (PID {os.getpid()})"


def _interval(settings: "Settings") -> timedelta:
    return timedelta(hours=settings.monitoring.polling_interval_hours)


def _one_pass(settings: "Settings", stop: "Stop", *, dry_run: bool, warehouse: "Warehouse | None" = None) -> None:
    """A pass that reaches back to the last good one, told as lines. What went wrong is raised at its end."""
    from buildeye.cli.monitor import do_pass
    from buildeye.pipeline.watch import StoppingProgress, keep_last_good, sleeper

    began = now()
    bars = StoppingProgress(PlainProgress(), stop)
    told = do_pass(_reaching(settings, began), dry_run=dry_run, bars=bars, sleep=sleeper(stop), warehouse=warehouse)
    for line in filter(str.strip, told.text.splitlines()):
        tell(line)
    if told.done.archive_error:
        raise told.done.archive_error
    keep_last_good(settings.storage.data_dir, settings.target_repository.full_name, began)


def _reaching(settings: "Settings", began: datetime) -> "Settings":
    """The settings with a look back to the last pass that went well, if that is longer ago than they say."""
    from buildeye.pipeline.watch import last_good, reach

    before = last_good(settings.storage.data_dir, settings.target_repository.full_name)
    hours = reach(settings.monitoring.lookback_hours, before, began)
    monitoring = settings.monitoring.model_copy(update={"lookback_hours": hours})
    return settings.model_copy(update={"monitoring": monitoring})


def _failed(error: Exception, due: datetime) -> None:
    complain(f"this pass failed: {sentence(error)}; next pass at {due:%Y-%m-%d %H:%M} UTC")


def _done(due: datetime) -> None:
    tell(f"next pass at {due:%Y-%m-%d %H:%M} UTC")
