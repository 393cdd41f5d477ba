"""One Prometheus a worker, with one day of two runner pools."""

from collections.abc import Iterator

import pytest

from buildeye.ask import Prometheus

from .day import DAY
from .server import running


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("prometheus"), DAY) as url:
        yield url


@pytest.fixture
def prometheus(address: str) -> Iterator[Prometheus]:
    with Prometheus(address, retries=0) as client:
        yield client
