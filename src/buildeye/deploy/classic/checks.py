"""The three looks of a pass at the real thing: the process, its health over HTTP, a canary task.

The seed takes them from modules that are not part of it; each gives a signal as `decisions` describes it. The HTTP
looks run an event loop of their own, so they are made from a thread that runs none.
"""

import os
from pathlib import Path
from typing import Final

from buildeye.deploy.classic.decisions import Signal
from buildeye.deploy.exchange import ExchangeError, exchange
from buildeye.model.deployments import SignalKind

HEALTH_SECONDS: Final = 5.0
CANARY_SECONDS: Final = 60.0
_DEAD: Final = frozenset("ZXx")
_MOST_BYTES: Final = 64 * 1024


def reap_if_exited(pid: int) -> bool:
    """Whether a process has exited; a child that has is reaped, others are only looked at.

    A zombie has exited. That a number was given to another process since can not be seen from the number alone.
    """
    if pid <= 0:
        return True
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not _is_there(pid)


def check_http_health(port: int) -> Signal:
    """GET http://127.0.0.1:port/health: any 2xx within 5 seconds for the whole exchange is ok; no redirects."""
    return _asked(SignalKind.HTTP, "GET", f"http://127.0.0.1:{port}/health", HEALTH_SECONDS)


def check_canary_task(port: int) -> Signal:
    """POST http://127.0.0.1:port/canary: any 2xx within a minute is ok."""
    return _asked(SignalKind.CANARY, "POST", f"http://127.0.0.1:{port}/canary", CANARY_SECONDS)


def _asked(kind: SignalKind, method: str, url: str, seconds: float) -> Signal:
    try:
        answer = exchange(method, url, seconds, most_bytes=_MOST_BYTES)
    except ExchangeError as error:
        return {"signal_type": kind.value, "status": "fail", "detail": str(error)}
    return {"signal_type": kind.value, "status": "ok" if answer.good else "fail", "detail": f"status {answer.status}"}


def _is_there(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return _is_hidden(pid)
    return stat.rpartition(")")[2].split()[0] not in _DEAD


def _is_hidden(pid: int) -> bool:
    """Whether a process is there that /proc does not show to us."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
