"""The server on standard input and output, as agents start it; nothing but the protocol goes to standard output."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from mcp.server.mcpserver import MCPServer

_CHUNK: Final = 65_536


def serve_stdio(server: MCPServer[Any]) -> None:
    """Answer until standard input ends, or SIGTERM or SIGINT comes; a signal is taken for that end."""
    with _ended_by_signals():
        server.run("stdio")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Put a socket before standard input, whose end a signal can bring; a thread that waits for a pipe hears none."""
    given = os.dup(0)
    inner, outer = socket.socketpair()
    os.dup2(inner.fileno(), 0)
    inner.close()

    def end(*_: object) -> None:
        with suppress(OSError):
            outer.shutdown(socket.SHUT_WR)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
    threading.Thread(target=_pump, args=(given, outer, end), name="standard input", daemon=True).start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pump(given: int, outer: socket.socket, end: Any) -> None:
    """Hand on what comes until it ends, or nobody takes it any more."""
    with suppress(OSError):
        while chunk := os.read(given, _CHUNK):
            outer.sendall(chunk)
    end()
