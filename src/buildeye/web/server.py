"""Running the application: the port, the signals, and what is opened before and closed after."""

import gc
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime
from typing import Final

from starlette.types import ASGIApp

from buildeye.ask.sql import limits_of
from buildeye.config import Settings
from buildeye.listening import address_of, is_loopback, listening, run
from buildeye.mcp import PATH as AGENTS
from buildeye.model import UsageError
from buildeye.pipeline.watch import EventStop
from buildeye.warehouse import Warehouse, open_warehouse
from buildeye.warehouse.owner import serving
from buildeye.warehouse.readers import Readers
from buildeye.web.app import HOW_TO_OPEN, create_app
from buildeye.web.clickhousedoor import PATH as CLICKHOUSE
from buildeye.web.clickhousedoor import ClickHouseDoor, elsewhere
from buildeye.web.drain import Drain
from buildeye.web.later import Later
from buildeye.web.pages import pages
from buildeye.web.reading import Reader
from buildeye.web.spool import open_spool

SWITCH_SECONDS: Final = 0.001
"""How long another thread may run while a request waits for the interpreter; Python's 5 ms are felt at the door."""


Beside = Callable[[Warehouse, EventStop], None]
"""What is done beside the door in a thread of its own, until it is asked to end."""


def serve(
    settings: Settings, now: Callable[[], datetime], tell: Callable[[str], None], beside: Beside | None = None
) -> None:
    """Take webhooks in and drain them into the warehouse until SIGTERM or SIGINT, then finish what is at hand.

    `tell` gets a sentence when the doors are open. `beside` works with the same warehouse. Meanwhile commands of this
    machine find the server through `serving.json` in storage.data_dir. UsageError: others could come in, and there is
    no token. OutsideError: the port, the spool or the warehouse cannot be had.
    """
    token = _token(settings)
    secret = settings.webhook_secret.get_secret_value() if settings.webhook_secret else None
    store = settings.storage
    with ExitStack() as stack:
        door = stack.enter_context(
            listening(settings.serve.host, settings.serve.port, "mend serve.host", "set another serve.port")
        )
        spool = stack.enter_context(closing(open_spool(store.data_dir)))
        warehouse = stack.enter_context(
            open_warehouse(store.warehouse_dsn, retention_days=store.retention_days, data_dir=store.data_dir)
        )
        asked = stack.enter_context(open_warehouse(store.warehouse_dsn))  # what is asked here holds up no writing
        reader = stack.enter_context(Reader())
        clickhouse = stack.enter_context(_clickhouse(warehouse, token, settings))
        app = create_app(
            spool,
            secret,
            settings.webhooks.max_body_bytes,
            now,
            routers=pages(settings, asked, spool, now),
            doors={CLICKHOUSE: clickhouse, AGENTS: Later(lambda: _agents(settings, now, asked))},
        )
        url = address_of(door)
        stack.enter_context(serving(store.data_dir, url, token, warehouse.engine or warehouse.place))
        drain = Drain(spool, reader, warehouse, now)
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what was loaded to start with lives as long as the server: collections need not walk it
        drain.start()
        try:
            tell(f"Build-Eye listens at {url}")
            if secret is None:
                tell(f"webhooks are not taken: {HOW_TO_OPEN}")
            with _beside(beside, warehouse):
                run(app, door)
        finally:
            drain.stop()


def _token(settings: Settings) -> str:
    """What opens the doors: BUILD_EYE_TOKEN, or one for this life, which only commands of this machine can know."""
    if settings.serve_token is not None:
        return settings.serve_token.get_secret_value()
    if not is_loopback(settings.serve.host):
        raise UsageError(
            f"serve.host is {settings.serve.host}, where others can reach the server: set BUILD_EYE_TOKEN to the token "
            "they must bring, see docs/clickhouse-door.md"
        )
    return secrets.token_urlsafe(32)


def _agents(settings: Settings, now: Callable[[], datetime], warehouse: Warehouse) -> ASGIApp:
    """The agents' tools, whose SDK takes a second to load."""
    from buildeye.mcp.door import mcp_app

    return mcp_app(settings, now, warehouse)


@contextmanager
def _clickhouse(warehouse: Warehouse, token: str, settings: Settings) -> Iterator[ASGIApp]:
    """The ClickHouse door over the warehouse; for one on a server, a door that names the server."""
    if warehouse.engine is None:
        yield elsewhere(warehouse.place, token)
        return
    with closing(ClickHouseDoor(Readers(warehouse.engine), token, limits_of(settings))) as door:
        yield door


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
