"""A spool, a warehouse and a process that reads, for the tests of what webhooks become."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from buildeye.simulator import Past, build_past
from buildeye.simulator.webhooks import Told, story_events
from buildeye.warehouse import Warehouse, open_warehouse
from buildeye.web.reading import Reader
from buildeye.web.spool import Delivery, Spool, open_spool

SECRET = "not a secret at all"
NOON = datetime(2026, 5, 28, 12, tzinfo=UTC)


def now() -> datetime:
    """The time of these tests."""
    return NOON


def delivery(name: str, event: str = "push", body: bytes = b"{}", at: datetime = NOON) -> Delivery:
    return Delivery(name, event, at, body)


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    with closing(open_spool(tmp_path)) as opened:
        yield opened


@pytest.fixture(scope="package")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened


@pytest.fixture(scope="package")
def reader() -> Iterator[Reader]:
    with Reader() as started:
        yield started


@pytest.fixture(scope="package")
def past() -> Past:
    return build_past(7, datetime(2026, 5, 28, 6, 30, tzinfo=UTC))


@pytest.fixture(scope="package")
def told(past: Past) -> list[Told]:
    return story_events(past)
