"""The places a warehouse can be in: embedded, behind a server's HTTP door, and behind the door of another Build-Eye.

An engine holds one folder a process and takes a second to start, so each worker opens each place once, for all tests of
this folder, and empties the tables before a test. Tests that need an engine of their own start a child process.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildeye.warehouse import Warehouse, open_warehouse
from buildeye.warehouse.migrations import RETENTION

from .throughdoor import through_door

_HERE = Path(__file__).parent


def empty(warehouse: Warehouse) -> None:
    filled = warehouse.query("SELECT concat(database, '.', name) FROM system.tables WHERE total_rows > 0").rows
    for (table,) in filled:
        if table in RETENTION:
            warehouse.query(f"TRUNCATE TABLE {table}")


@pytest.fixture(scope="package")
def embedded_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as warehouse:
        yield warehouse


@pytest.fixture(scope="package")
def server_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    command = [sys.executable, str(_HERE / "clickhouse_door.py"), str(tmp_path_factory.mktemp("server"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as door:
        assert door.stdin is not None and door.stdout is not None
        yield int(door.stdout.readline())
        door.stdin.close()


@pytest.fixture(scope="package")
def server_dsn(server_port: int) -> str:
    return f"clickhouse://default:right@127.0.0.1:{server_port}/?secure=0"


@pytest.fixture(scope="package")
def server_warehouse(server_dsn: str) -> Iterator[Warehouse]:
    with open_warehouse(server_dsn) as warehouse:
        yield warehouse


@pytest.fixture(scope="package")
def door_warehouse(embedded_warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with through_door(embedded_warehouse, tmp_path_factory.mktemp("door")) as opened:
        yield opened


@pytest.fixture(params=["embedded", "server", "door"])
def warehouse(request: pytest.FixtureRequest) -> Warehouse:
    opened = request.getfixturevalue(f"{request.param}_warehouse")
    assert isinstance(opened, Warehouse)
    empty(request.getfixturevalue("embedded_warehouse") if request.param == "door" else opened)
    return opened


@pytest.fixture
def embedded(embedded_warehouse: Warehouse) -> Warehouse:
    empty(embedded_warehouse)
    return embedded_warehouse
