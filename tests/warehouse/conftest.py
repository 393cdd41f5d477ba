"""The places a warehouse can be in: embedded, behind a server's HTTP door, and behind the door of another Build-Eye.

An engine holds one folder a process and takes a second to start, so each worker opens each place once, for all tests of
this folder, and empties the tables before a test. Tests that need an engine of their own start a child process.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from buildeye.warehouse import Result, Warehouse, open_to_ask, open_warehouse
from buildeye.warehouse.migrations import RETENTION
from tests.web.answering import TOKEN, answering

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


class ThroughDoor(Warehouse):
    """The embedded warehouse, which is filled itself and asked through its own ClickHouse door."""

    def __init__(self, written: Warehouse, asked: Warehouse) -> None:
        super().__init__(written._client, asked.place)  # type: ignore[arg-type]
        self._asked = asked

    def ask(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        return self._asked.ask(name, **parameters)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
        return super().query(sql, parameters) if sql.startswith("INSERT") else self._asked.query(sql, parameters)


@pytest.fixture(scope="package")
def door_port(embedded_warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with answering(embedded_warehouse, tmp_path_factory.mktemp("spool")) as port:
        yield port


@pytest.fixture(scope="package")
def door_warehouse(
    embedded_warehouse: Warehouse, door_port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warehouse]:
    dsn = f"clickhouse://tests:{TOKEN}@127.0.0.1:{door_port}/?path=/clickhouse"
    with open_to_ask(dsn, tmp_path_factory.mktemp("state")) as asked:
        yield ThroughDoor(embedded_warehouse, asked)


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
