"""The canary: one real task through the version, by a request or by a command of yours."""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from buildeye.deploy.address import Address
from buildeye.deploy.probes.http import ProbeResult, ask
from buildeye.deploy.said import how_it_ended, last_line, last_line_of


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


async def run_command(
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
    with tempfile.TemporaryFile() as said:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=asyncio.subprocess.STDOUT,
                env=os.environ | dict(environment or {}),
                cwd=directory,
                start_new_session=True,
            )
        except OSError as error:
            detail = f"{command[0]} cannot be started ({error.strerror})"
            return ProbeResult(False, detail=detail, seconds=time.perf_counter() - begun, error=True)
        try:
            async with asyncio.timeout(timeout):
                code = await process.wait()
            line = last_line_of(said)
            detail = how_it_ended(command[0], code, line) if code else line
        except TimeoutError:
            code, detail = -signal.SIGKILL, f"{command[0]} did not end within {timeout:g} s and was killed"
        finally:
            await _ended(process)
    return ProbeResult(code == 0, detail=detail, seconds=time.perf_counter() - begun)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Make sure that it has: kill its group where it runs still."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
