"""`build-eye monitor --watch`: passes without an end, told as plain lines with times."""

import os
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from buildeye.cli.apart import run_apart
from buildeye.cli.setup import PlainProgress, now
from buildeye.cli.signals import signalled_stop
from buildeye.cli.voice import complain, listen, sentence, tell

if TYPE_CHECKING:
    from buildeye.config import Settings


def watch_passes(settings: "Settings", *, dry_run: bool) -> None:
    """Do a pass at once and one each `monitoring.polling_interval_hours` until SIGTERM or SIGINT."""
    from buildeye.cli.monitor import do_pass
    from buildeye.pipeline.watch import StoppingProgress, keep_last_good, only_watcher, sleeper, watch

    listen(settings, times=True)
    hours = settings.monitoring.polling_interval_hours
    with only_watcher(settings.storage.data_dir), signalled_stop() as stop:
        tell(f"watching {settings.target_repository.full_name}, a pass every {hours} h (PID {os.getpid()})")
        bars = StoppingProgress(PlainProgress(), stop)

        def one_pass() -> None:
            began = now()
            told = do_pass(_reaching(settings, began), dry_run=dry_run, bars=bars, sleep=sleeper(stop))
            for line in filter(str.strip, told.text.splitlines()):
                tell(line)
            if told.done.archive_error:
                raise told.done.archive_error
            keep_last_good(settings.storage.data_dir, settings.target_repository.full_name, began)

        def apart() -> None:
            run_apart(one_pass, stop)

        watch(apart, timedelta(hours=hours), stop, clock=now, failed=_failed, done=_done)
        tell("stopped as asked; the next start goes on from here")


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
