"""Run a supervisor as a process: in the foreground until it is told to end, or in the background for a client."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, SampleWriter, this_holder
from buildeye.deploy.supervisor.supervisor import LEASE_SECONDS, Supervisor
from buildeye.deploy.supervisor.world import Announce, World
from buildeye.model import OutsideError

LOG: Final = "supervisor.log"
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
) -> None:
    """Supervise until SIGTERM or SIGINT; everything that runs goes on running."""
    _allow_many_files()
    writer = SampleWriter(journal)
    world = World(journal, writer, clock, run_root, environ, announce, log)
    if boundary is not None:
        world = World(journal, writer, clock, run_root, environ, announce, log, boundary)
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


def start_in_background(command: Sequence[str], run_root: Path, is_there: Callable[[], bool]) -> None:
    """Start a supervisor that outlives this process, unless one is there, and wait until it is.

    OutsideError: it does not come up; the message names its log.
    """
    if is_there():
        return
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
            return
        if process.poll() is not None and not is_there():
            raise OutsideError(f"the supervisor ended at once ({process.returncode}); see {log}")
        time.sleep(0.05)
    raise OutsideError(f"no supervisor came up within {_STARTED_SECONDS:g} s; see {log}")
