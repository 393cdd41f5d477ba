"""One Prometheus a worker, with one day of two runner pools."""

from collections.abc import Iterator

import pytest

from buildeye.ask import Prometheus

from .day import DAY
from .grafana_place import Place, clickhouse, place, present, recent_samples
from .server import running


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), DAY) as url:
        yield url


@pytest.fixture
def prometheus(address: str) -> Iterator[Prometheus]:
    with Prometheus(address, retries=0) as client:
        yield client


@pytest.fixture(scope="session")
def clickhouse_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A ClickHouse with what the guide's two queries ask for."""
    with clickhouse(tmp_path_factory.mktemp("clickhouse")) as url:
        yield url


@pytest.fixture(scope="session")
def recent_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with numbers until now."""
    with running(tmp_path_factory.mktemp("recent"), recent_samples(present())) as url:
        yield url


@pytest.fixture
def grafana(clickhouse_address: str, recent_address: str) -> Iterator[Place]:
    """A Grafana before both."""
    with place(clickhouse_address, recent_address) as found:
        yield found
