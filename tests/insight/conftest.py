"""One warehouse a worker for the tests of what is asked of it; each test empties it before."""

from collections.abc import Iterator

import pytest

from buildeye.warehouse import Warehouse, open_warehouse


@pytest.fixture(scope="package")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened
