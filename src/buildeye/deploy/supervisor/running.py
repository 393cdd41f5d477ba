"""Run a supervisor as a process: in the foreground until it is told to end, or in the background for a client."""

import asyncio
import contextlib
import fcntl
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, SampleWriter, this_holder
from buildeye.deploy.said import last_line_of
from buildeye.deploy.supervisor.supervisor import LEASE_SECONDS, Supervisor
from buildeye.deploy.supervisor.world import Announce, World
from buildeye.model import OutsideError
from buildeye.model.deployments import DeployEvent, Deployment

LOG: Final = "supervisor.log"
_LOCK: Final = "supervisor.lock"
_STARTED_SECONDS: Final = 20.0


def supervise(
    journal: Journal,
    run_root: Path,
    environ: Mapping[str, str],
    clock: Clock,
    announce: Announce,
    log: Callable[[str], None],
    only: str | None = None,
    boundary: Callable[[str], None] | None = None,
    lease_seconds: float = LEASE_SECONDS,
    show: Callable[[DeployEvent, Deployment], None] | None = None,
    keep_days: int = 90,
) -> None:
    """Supervise until SIGTERM or SIGINT; everything that runs goes on running. `show` gets each step as it is made."""
    _allow_many_files()
    writer = SampleWriter(journal)
    world = World(journal, writer, clock, run_root, environ, announce, log, keep_days=keep_days)
    if boundary is not None:
        world = replace(world, boundary=boundary)
    if show is not None:
        world = replace(world, on_step=show)
    try:
        asyncio.run(_until_told(Supervisor(world, this_holder(uuid.uuid4().hex), only, lease_seconds)))
    finally:
        writer.close()
        world.close()


def _allow_many_files() -> None:
    """A service costs some descriptors (its sockets, its processes): allow as many as this user may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _until_told(supervisor: Supervisor) -> None:
    task = asyncio.get_running_loop().create_task(supervisor.run())
    for which in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(which, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


@contextmanager
def only_supervisor(run_root: Path) -> Iterator[bool]:
    """Be the supervisor of all services of a folder for as long as the block lasts; False where another one is."""
    with _lock_file(run_root) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.truncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield True


def supervisor_pid(run_root: Path) -> int | None:
    """The process that supervises all services of a folder; None: there is none. 0: it is not known which."""
    with _lock_file(run_root) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            written = os.pread(lock, 32, 0)
            return int(written) if written.isdigit() else 0
    return None


@contextmanager
def _lock_file(run_root: Path) -> Iterator[int]:
    """The open lock file; what holds its lock is the supervisor. OutsideError: it cannot be made."""
    path = run_root / _LOCK
    try:
        run_root.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise OutsideError(
            f"{path}: cannot be opened ({e.strerror}); deployments there are another user's, or mend deploy.directory"
        ) from e
    try:
        yield lock
    finally:
        os.close(lock)


def start_in_background(command: Sequence[str], run_root: Path, is_there: Callable[[], bool]) -> int | None:
    """Start a supervisor that outlives this process, unless one is there, and wait until it is.

    Gives its process, None where one was there already. OutsideError: it does not come up; the message names its log.
    """
    if is_there():
        return None
    log = run_root / LOG
    try:
        run_root.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "buildeye", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
    except OSError as e:
        raise OutsideError(f"{log}: no supervisor can be started ({e.strerror})") from e
    ends = time.monotonic() + _STARTED_SECONDS
    while time.monotonic() < ends:
        if is_there():
            return process.pid if process.poll() is None else None
        if process.poll() is not None and not is_there():
            raise OutsideError(f"the supervisor ended at once ({process.returncode}): {_last_line(log)}; see {log}")
        time.sleep(0.05)
    raise OutsideError(f"no supervisor came up within {_STARTED_SECONDS:g} s; see {log}")


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError), log.open("rb") as output:
        return last_line_of(output) or "it said nothing"
    return "it said nothing"
