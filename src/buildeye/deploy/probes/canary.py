"""The canary: one real task through the version, by a request or by a command of yours."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from buildeye.deploy.address import Address
from buildeye.deploy.probes.http import ProbeResult, ask
from buildeye.deploy.routes.commands import last_line

_LAST_BYTES: Final = 4096
_AFTER_SECONDS: Final = 0.5
"""How long a command that has ended may leave its output open, when a child of it still holds it."""


async def run_canary_request(
    address: Address, path: str, timeout: float, *, method: str = "POST", body: str = "", nonce: str | None = None
) -> ProbeResult:
    """Send the task; 2xx within `timeout` true seconds is well. On a failure `detail` ends with the answer's last line.

    Never raises.
    """
    kind = "application/json" if body.lstrip()[:1] in {"{", "["} else "text/plain; charset=utf-8"
    sent = body.encode()
    result, said = await ask(address, method, path, timeout, body=sent, kind=kind if sent else "", nonce=nonce)
    line = "" if result.ok else last_line(said)
    if not line:
        return result
    detail = f"{result.detail}: {line}"
    return ProbeResult(result.ok, result.status, detail, result.nonce, result.seconds, result.error)


async def run_canary_command(
    command: Sequence[str],
    timeout: float,
    *,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> ProbeResult:
    """Run a command; exit code 0 within `timeout` true seconds is well. At the deadline its process group is killed.

    `environment` is added to this process's. `detail` holds the last line it said, masked. A command that cannot be
    started is an error of the check. Never raises but when cancelled, and then the command is killed.
    """
    begun = time.perf_counter()
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=os.environ | dict(environment or {}),
            cwd=directory,
            start_new_session=True,
        )
    except OSError as error:
        detail = f"{command[0]} cannot be started ({error.strerror})"
        return ProbeResult(False, detail=detail, seconds=time.perf_counter() - begun, error=True)
    assert process.stdout is not None
    said = bytearray()
    reading = asyncio.create_task(_read(process.stdout, said))
    try:
        async with asyncio.timeout(timeout):
            code = await process.wait()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(reading), _AFTER_SECONDS)
        detail = _judged(command[0], code, last_line(bytes(said)))
    except TimeoutError:
        detail = f"{command[0]} did not end within {timeout:g} s and was killed"
        code = -signal.SIGKILL
    finally:
        await _end(process, reading)
    return ProbeResult(code == 0, detail=detail, seconds=time.perf_counter() - begun)


def _judged(name: str, code: int, line: str) -> str:
    if code == 0:
        return line
    ended = f"ended with {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
    return f"{name} {ended}: {line or 'it said nothing'}"


async def _read(stream: asyncio.StreamReader, said: bytearray) -> None:
    while part := await stream.read(_LAST_BYTES):
        said += part
        del said[:-_LAST_BYTES]


async def _end(process: asyncio.subprocess.Process, reading: "asyncio.Task[None]") -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
