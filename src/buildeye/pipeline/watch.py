"""Pass after pass for as long as the process lives: when the next one is due, what a failure means, when to stop."""

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Final, Protocol

from buildeye.model import OutsideError, UsageError
from buildeye.pipeline.sync.scope import Progress
from buildeye.reports.disk import write_whole

LOOK_AGAIN: Final = 60.0
"""Seconds after which the clock is read anew while waiting: it may be set, or the machine may have slept."""
LOCK: Final = "watch.lock"
LAST_GOOD: Final = "watch.json"
FURTHEST: Final = 2160
"""Hours a pass looks back at most."""


class StopAsked(Exception):
    """The process was asked to end; raised between two units of work."""


class Stop(Protocol):
    """Whether the process was asked to end."""

    def asked(self) -> bool:
        """Whether it was."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is asked to end; whether it was."""
        ...


class EventStop:
    """A wish to end that another thread tells of."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def ask(self) -> None:
        """Ask to end."""
        self._event.set()

    def asked(self) -> bool:
        """Whether it was asked to end."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is asked to end; whether it was."""
        return self._event.wait(max(seconds, 0.0))


class StoppingProgress:
    """Progress that ends the pass between two units of work when the process was asked to end.

    What a pass did before is kept, and the next pass goes on from there.
    """

    def __init__(self, inner: Progress, stop: Stop) -> None:
        self._inner = inner
        self._stop = stop

    def start(self, what: str, total: int) -> Callable[[int], None]:
        """Begin a stage; the returned function counts a unit of work. StopAsked from either."""
        self._check()
        step = self._inner.start(what, total)

        def count(done: int) -> None:
            step(done)
            self._check()

        return count

    def _check(self) -> None:
        if self._stop.asked():
            raise StopAsked


def sleeper(stop: Stop) -> Callable[[float], None]:
    """A `sleep` that ends with StopAsked when the process is asked to end."""

    def sleep(seconds: float) -> None:
        if stop.wait(seconds):
            raise StopAsked

    return sleep


def watch(
    one_pass: Callable[[], None],
    every: timedelta,
    stop: Stop,
    *,
    clock: Callable[[], datetime],
    failed: Callable[[Exception, datetime], None],
    done: Callable[[datetime], None],
) -> None:
    """Do a pass at once and then one each `every`, until `stop` is asked for; a pass that takes longer delays the next.

    `failed` is told of a pass that an outside system, the disk or a bug ended, `done` of one that went well; both with
    the time of the next one. UsageError: the settings are wrong, which no waiting mends.
    """
    while not stop.asked():
        due = clock() + every
        try:
            one_pass()
        except StopAsked:
            return
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - a watcher that dies of one pass watches nothing
            failed(error, due)
        else:
            done(due)
        _wait_until(due, every, stop, clock)


def _wait_until(due: datetime, every: timedelta, stop: Stop, clock: Callable[[], datetime]) -> None:
    """Wait for a time, though never longer than `every` by a clock that was set back."""
    while (left := due - clock()) > timedelta():
        if left > every:
            due = clock() + every
        if stop.wait(min(left.total_seconds(), LOOK_AGAIN)):
            return


def reach(lookback_hours: int, last_good: datetime | None, now: datetime) -> int:
    """Hours a pass looks back: as set, and at least to an hour before the last pass that went well began."""
    if last_good is None:
        return lookback_hours
    missed = ceil((now - last_good) / timedelta(hours=1)) + 1
    return max(lookback_hours, min(missed, FURTHEST))


def last_good(data_dir: Path, repository: str) -> datetime | None:
    """When the last pass over a repository that went well began; None when that is not known."""
    try:
        kept = json.loads((data_dir / LAST_GOOD).read_text("utf-8"))
        moment = datetime.fromisoformat(kept[repository])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return moment if moment.tzinfo else None


def keep_last_good(data_dir: Path, repository: str, began: datetime) -> None:
    """Remember that a pass over a repository that began then went well. OSError: the disk refuses."""
    write_whole(data_dir / LAST_GOOD, json.dumps({repository: began.isoformat()}).encode())


@contextmanager
def only_watcher(data_dir: Path) -> Iterator[None]:
    """Hold the data folder as its one watcher. OutsideError: another process does, or the disk refuses."""
    path = data_dir / LOCK
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise OutsideError(f"{path} cannot be written ({error.strerror}); mend storage.data_dir") from error
    with os.fdopen(descriptor, "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            number = file.read(20).strip()
            holder = f" (PID {number})" if number.isdigit() else ""
            raise OutsideError(
                f"another build-eye watches with {data_dir}{holder}: stop that one, or set another storage.data_dir "
                "and storage.warehouse_dsn"
            ) from None
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
