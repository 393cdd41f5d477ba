"""Running an ASGI application: the port it listens at, and its end when a signal comes."""

import ipaddress
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from buildeye.model import OutsideError

BACKLOG: Final = 2048
STOP_SECONDS: Final = 10


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at a host; True for one that cannot be listened at."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return True
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def address_of(door: socket.socket) -> str:
    """The address at which this machine reaches what listens at a socket."""
    host, port = door.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def listening(host: str, port: int, mend_host: str, mend_port: str) -> Iterator[socket.socket]:
    """A socket that listens there; `mend_host` and `mend_port` end the sentence of what is wrong.

    OutsideError: the host is not ours, or the port is taken.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        door = socket.socket(family, kind, protocol)  # asyncio sends at once only where the protocol is named
    except OSError as error:
        raise OutsideError(f"the host {host} cannot be listened at ({error.strerror}): {mend_host}") from error
    with door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(address)
            door.listen(BACKLOG)
        except OSError as error:
            raise OutsideError(
                f"port {port} of {host} cannot be used ({error.strerror}): stop what uses it, or {mend_port}"
            ) from error
        yield door


def run(app: ASGIApp, door: socket.socket) -> None:
    """Serve until a signal comes; uvicorn raises it once more when it is done, and that one must not end us."""
    config = uvicorn.Config(
        app,
        log_level="critical",  # what is wrong with a request, its sender is told
        access_log=False,
        proxy_headers=False,
        lifespan="off",
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        uvicorn.Server(config).run(sockets=[door])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
