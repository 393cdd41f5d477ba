"""The health probe: one GET, one deadline over the whole exchange, and is it our process that answers?"""

import asyncio
import errno
import json
import socket
import time
from dataclasses import dataclass
from typing import Final

from buildeye.deploy.address import Address
from buildeye.deploy.probes.exchange import NONCE_HEADER, Answer, NoAnswer, exchange

_OWN_TROUBLE: Final = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL, errno.EACCES, errno.EPERM}
)
"""What keeps us from asking, and says nothing of the service."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe found. `status` is HTTP's, 0 without an answer; `nonce` what the process echoed, "" if nothing.

    `seconds` are true ones. `error`: the check itself could not be made, so nothing is known of the service; `ok` is
    False then. `detail` says what was wrong, "" when nothing was; it holds no secret.
    """

    ok: bool
    status: int = 0
    detail: str = ""
    nonce: str = ""
    seconds: float = 0.0
    error: bool = False


async def probe(address: Address, path: str, timeout: float, nonce: str | None = None) -> ProbeResult:
    """Ask for `path`: 2xx within `timeout` true seconds (connect, send, headers and body together) is well.

    Redirects are not followed and fail. Where the process echoes a nonce (header X-Build-Eye-Nonce, or key "nonce" of a
    JSON object) and `nonce` is given, it must be this one: else another process has the address. Never raises.
    """
    result, _ = await ask(address, "GET", path, timeout, nonce=nonce)
    return result


async def ask(
    address: Address,
    method: str,
    path: str,
    timeout: float,
    *,
    body: bytes = b"",
    kind: str = "",
    nonce: str | None = None,
) -> tuple[ProbeResult, bytes]:
    """What `probe` does, with any method and body; the answer's body comes beside, b"" without."""
    begun = time.perf_counter()
    answer: Answer | None = None
    trouble, error = "", False
    try:
        async with asyncio.timeout(timeout):
            answer = await exchange(address, method, path, body, kind)
    except TimeoutError as ended:
        trouble = f"no whole answer within {timeout:g} s" if ended.errno is None else _words(address, ended)
    except NoAnswer as ended:
        trouble = str(ended)
    except OSError as ended:
        trouble = _words(address, ended)
        error = isinstance(ended, socket.gaierror) or ended.errno in _OWN_TROUBLE
    seconds = time.perf_counter() - begun
    if answer is None:
        return ProbeResult(False, detail=trouble, seconds=seconds, error=error), b""
    echoed = answer.nonce or _nonce_in(answer.body)
    detail = _judged(answer.status, echoed, nonce)
    return ProbeResult(not detail, answer.status, detail, echoed, seconds), answer.body


def _judged(status: int, echoed: str, expected: str | None) -> str:
    if expected is not None and echoed and echoed != expected:
        return "another process answers: its nonce is not the one that was given to this version"
    if 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"answered {status}, a redirect; 2xx is asked for"
    return f"answered {status}; 2xx is asked for"


def _nonce_in(body: bytes) -> str:
    if not body.startswith(b"{") or b'"nonce"' not in body:
        return ""
    try:
        echoed = json.loads(body).get("nonce")
    except ValueError:
        return ""
    return echoed if isinstance(echoed, str) else ""


def _words(address: Address, error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return f"the name {address.host} cannot be resolved ({error.strerror})"
    if isinstance(error, ConnectionRefusedError):
        return f"connection refused at {address}"
    if error.errno == errno.EMFILE:
        return "this process has no file descriptors left to ask with: raise its limit (ulimit -n)"
    reason = errno.errorcode.get(error.errno, "") if error.errno else ""
    return f"no connection to {address} ({reason or error.strerror or 'the kernel refused'})"


__all__ = ["NONCE_HEADER", "ProbeResult", "ask", "probe"]
