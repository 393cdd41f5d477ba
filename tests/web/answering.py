"""The application as a server in a thread of the test process, over a warehouse that is open."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from buildeye.ask.guard import Limits
from buildeye.simulator.server import serving
from buildeye.warehouse import Warehouse
from buildeye.warehouse.readers import Readers
from buildeye.web.app import create_app
from buildeye.web.clickhousedoor import PATH, ClickHouseDoor
from buildeye.web.spool import open_spool

from .conftest import now

TOKEN = "a-token_of.tests"


@contextmanager
def answering(warehouse: Warehouse, folder: Path, limits: Limits | None = None) -> Iterator[int]:
    """Have the ClickHouse door answer for the warehouse, with a spool in `folder`; the port."""
    assert warehouse.engine is not None
    with (
        closing(open_spool(folder)) as spool,
        closing(ClickHouseDoor(Readers(warehouse.engine), TOKEN, limits or Limits())) as door,
        serving(create_app(spool, None, 1024, now, doors={PATH: door})) as url,
    ):
        yield int(url.rpartition(":")[2])
