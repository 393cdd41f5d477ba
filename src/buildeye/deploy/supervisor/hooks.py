"""The commands a service's owner has run at certain moments."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from buildeye.logs.secrets import mask, strip_controls

_SHOWN = 300  # characters of output that a message repeats


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: `code` is None when it did not end in time or could not be started."""

    code: int | None
    said: str

    @property
    def well(self) -> bool:
        """Whether it ended with 0."""
        return self.code == 0


async def run_command(
    command: Sequence[str], environment: Mapping[str, str], directory: str | None, seconds: float
) -> Ran:
    """Run a command to its end, at most so many true seconds; then its whole group is killed.

    `said` is the last line of what it printed, masked.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=dict(environment),
            cwd=directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as e:
        reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        return Ran(None, f"{command[0]} cannot be started: {reason}")
    try:
        output, _ = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        return Ran(None, f"{command[0]} did not end within {seconds:g} s")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return Ran(process.returncode, _last_line(output))


def _last_line(output: bytes) -> str:
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return mask(strip_controls(lines[-1]))[:_SHOWN] if lines else ""
