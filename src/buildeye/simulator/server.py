"""Serves a simulated past on this machine: in a thread for tests and the demo, or in front for a person."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from buildeye.model import OutsideError
from buildeye.simulator.app import create_app
from buildeye.simulator.facts import Past
from buildeye.simulator.faults import Faults
from buildeye.simulator.gate import Ledger

HOST = "127.0.0.1"
STOP_SECONDS = 5.0


@contextmanager
def running(
    past: Past,
    port: int = 0,
    *,
    token: str | None = None,
    faults: Faults | None = None,
    limit: int = 5000,
    clock: Callable[[], float] = time.time,
) -> Iterator[str]:
    """Serves the past in a thread while the context lasts; gives the base URL, `http://127.0.0.1:PORT`.

    Port 0 takes a free one. Raises OutsideError when the port is taken.
    """
    with serving(create_app(past, token=token, faults=faults, limit=limit, clock=clock), port) as base:
        yield base


@contextmanager
def serving(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """Like `running`, for an app made already (whose ledger one wants to read)."""
    with _listening(port) as door:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="critical",
                lifespan="off",
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=int(STOP_SECONDS),
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, name="simulator", daemon=True)
        thread.start()
        try:
            # The door listens already: whoever connects before the loop runs waits in its backlog.
            yield f"http://{HOST}:{door.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(STOP_SECONDS + 1)


def serve(past: Past, port: int, token: str | None = None) -> None:
    """Serves until interrupted. Raises OutsideError when the port is taken."""
    with _listening(port) as door:
        config = uvicorn.Config(
            create_app(past, token=token), log_level="warning", lifespan="off", server_header=False, date_header=False
        )
        uvicorn.Server(config).run(sockets=[door])


def ledger(app: Starlette) -> Ledger:
    """What an app made by `create_app` has been asked."""
    return cast("Ledger", app.state.ledger)


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((HOST, port))
        except OSError as error:
            raise OutsideError(
                f"port {port} of {HOST} cannot be used ({error.strerror}): choose another port"
            ) from error
        door.listen(128)
        yield door
