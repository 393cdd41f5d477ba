"""Running the application: the port, the signals, and what is opened before and closed after."""

import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from buildeye.config import Settings
from buildeye.model import OutsideError, UsageError
from buildeye.pipeline.watch import EventStop
from buildeye.warehouse import Warehouse, open_warehouse
from buildeye.web.app import create_app
from buildeye.web.drain import Drain
from buildeye.web.reading import Reader
from buildeye.web.spool import open_spool

BACKLOG: Final = 2048
STOP_SECONDS: Final = 10
SWITCH_SECONDS: Final = 0.001
"""How long another thread may run while a request waits for the interpreter; Python's 5 ms are felt at the door."""


Beside = Callable[[Warehouse, EventStop], None]
"""What is done beside the door in a thread of its own, until it is asked to end."""


def serve(
    settings: Settings, now: Callable[[], datetime], tell: Callable[[str], None], beside: Beside | None = None
) -> None:
    """Take webhooks in and drain them into the warehouse until SIGTERM or SIGINT, then finish what is at hand.

    `tell` gets one sentence when the door is open. `beside` works with the same warehouse. UsageError: there is no
    webhook secret. OutsideError: the port, the spool or the warehouse cannot be had.
    """
    if settings.webhook_secret is None:
        raise UsageError(
            "there is no webhook secret: set GITHUB_WEBHOOK_SECRET to the one in the webhook's settings on GitHub, "
            "see docs/webhooks.md"
        )
    store = settings.storage
    with (
        listening(settings.serve.host, settings.serve.port) as door,
        closing(open_spool(store.data_dir)) as spool,
        open_warehouse(store.warehouse_dsn, retention_days=store.retention_days) as warehouse,
        Reader() as reader,
    ):
        app = create_app(spool, settings.webhook_secret.get_secret_value(), settings.webhooks.max_body_bytes, now)
        drain = Drain(spool, reader, warehouse, now)
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what was loaded to start with lives as long as the server: collections need not walk it
        drain.start()
        try:
            host, port = door.getsockname()[:2]
            tell(f"Build-Eye listens at http://{f'[{host}]' if ':' in host else host}:{port}")
            with _beside(beside, warehouse):
                _run(app, door)
        finally:
            drain.stop()


def _run(app: ASGIApp, door: socket.socket) -> None:
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


@contextmanager
def _beside(work: Beside | None, warehouse: Warehouse) -> Iterator[None]:
    """Have `work` done while the context lasts, and wait for its end."""
    if work is None:
        yield
        return
    stop = EventStop()
    thread = threading.Thread(target=work, args=(warehouse, stop), name="passes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.ask()
        thread.join()


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens there. OutsideError: the host is not ours, or the port is taken."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = found[0]
        door = socket.socket(family, kind)
    except OSError as error:
        raise OutsideError(f"the host {host} cannot be listened at ({error.strerror}): mend serve.host") from error
    with door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(address)
            door.listen(BACKLOG)
        except OSError as error:
            raise OutsideError(
                f"port {port} of {host} cannot be used ({error.strerror}): stop what uses it, or set another serve.port"
            ) from error
        yield door
