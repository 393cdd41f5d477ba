"""Which source a question goes to, and what a server's own tables, settings and refusals make of it."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.warehouse
from buildeye.ask.guard import Allowed, Limits, Refused
from buildeye.ask.routing import context_named, datasources, prom_source, sql_source
from buildeye.ask.server import ServerSource
from buildeye.ask.sources import DataSource
from buildeye.ask.sql import ask_sql
from buildeye.config import Settings, load_settings
from buildeye.model import OutsideError, UsageError
from buildeye.warehouse.connection import Server, open_server, parse_dsn

DOOR = Path(tests.warehouse.__file__).parent / "clickhouse_door.py"


def settings(tmp_path: Path, **keys: object) -> Settings:
    given = {"storage.warehouse_dsn": f"chdb://{tmp_path / 'warehouse'}"}
    return load_settings(None, {}, lambda _: None, given | {name.replace("__", "."): v for name, v in keys.items()})


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A ClickHouse server with tables of its own, none of them ours."""
    command = [sys.executable, str(DOOR), str(tmp_path_factory.mktemp("server"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as door:
        assert door.stdin is not None and door.stdout is not None
        yield int(door.stdout.readline())
        door.stdin.close()


def dsn(port: int, password: str = "right") -> str:
    return f"clickhouse://default:{password}@127.0.0.1:{port}/?secure=0"


@pytest.fixture(scope="module")
def foreign(port: int) -> str:
    place = parse_dsn(dsn(port))
    assert isinstance(place, Server)
    with open_server(place) as server:
        server.query("CREATE TABLE default.workflow_job (id Int64, name String) ENGINE = Memory")
        server.query("CREATE TABLE default.merges (sha String) ENGINE = Memory")
        server.query("INSERT INTO default.workflow_job SELECT number, 'unit' FROM numbers(3)")
    return dsn(port)


def test_this_machine_has_its_warehouse_and_its_prometheus(tmp_path: Path) -> None:
    here = DataSource("warehouse", "Warehouse", "clickhouse", str(tmp_path / "warehouse"))
    assert datasources(settings(tmp_path), None) == (here,)
    both = datasources(settings(tmp_path, prometheus__url="http://p:9090"), None)
    assert both == (here, DataSource("prometheus", "Prometheus", "prometheus", "http://p:9090"))
    assert not (tmp_path / "warehouse").exists()


def test_no_password_is_shown(tmp_path: Path) -> None:
    (server,) = datasources(settings(tmp_path, storage__warehouse_dsn="clickhouse://me:secret@ch:8123/"), None)
    assert server.place == "http://ch:8123"


@pytest.mark.parametrize("uid", [None, "warehouse"])
def test_the_warehouse_is_asked_when_it_is_named_or_nothing_is(tmp_path: Path, uid: str | None) -> None:
    warned: list[str] = []
    with sql_source(settings(tmp_path), uid, None, warned.append) as source:
        assert ask_sql(source, "SELECT count() FROM default.push").rows == ((0,),)
    assert warned == []


def test_an_unknown_name_is_the_only_source_of_its_kind_and_that_is_told(tmp_path: Path) -> None:
    warned: list[str] = []
    with prom_source(settings(tmp_path, prometheus__url="http://p:9090"), "grafanacloud-prom", None, warned.append):
        pass
    assert warned == ["no data source grafanacloud-prom here; asked prometheus, the only one of its kind"]


@pytest.mark.parametrize(
    ("source", "uid", "said"),
    [
        (prom_source, "prometheus", "no Prometheus here: set prometheus.url"),
        (prom_source, None, "no Prometheus here"),
    ],
)
def test_what_is_not_there_cannot_be_asked(tmp_path: Path, source: Any, uid: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=said), source(settings(tmp_path), uid, None):
        pass


def test_a_source_of_another_kind_is_refused(tmp_path: Path) -> None:
    known = settings(tmp_path, prometheus__url="http://p:9090")
    with (
        pytest.raises(UsageError, match="prometheus is a prometheus, not a clickhouse"),
        sql_source(known, "prometheus", None),
    ):
        pass


@pytest.mark.parametrize("name", [None, "", "local"])
def test_local_is_this_machine(name: str | None) -> None:
    assert context_named(name, {}) is None


def test_a_server_is_asked_for_the_tables_it_has_and_gets_none_of_ours(tmp_path: Path, foreign: str) -> None:
    with sql_source(settings(tmp_path, storage__warehouse_dsn=foreign), None, None) as source:
        tables = source.tables()
        assert tables.names == {"default": frozenset({"merges", "workflow_job"})}
        assert tables.several_repositories == {("default", "workflow_job")}
        answer = ask_sql(source, "SELECT name, count() AS n FROM workflow_job GROUP BY name")
        assert (answer.columns, answer.rows) == (("name", "n"), (("unit", 3),))
        assert len(answer.warnings) == 1
        assert ask_sql(source, "SELECT sha FROM merges").rows == ()
        with pytest.raises(Refused, match=r"no table default\.push"):
            ask_sql(source, "SELECT 1 FROM default.push")
        with pytest.raises(UsageError, match=r"more than 2 rows \(max_result_rows\)"):
            ask_sql(source, "SELECT id FROM workflow_job", limits=Limits(result_rows=2))
        with pytest.raises(UsageError, match="refused: Unknown expression identifier `nope`"):
            ask_sql(source, "SELECT nope FROM merges")


def test_settings_that_a_user_may_not_change_are_left_as_they_are(foreign: str) -> None:
    place = parse_dsn(foreign)
    assert isinstance(place, Server)
    with open_server(place) as server:
        source = ServerSource(server)
        source.__dict__["_fixed"] = frozenset({"readonly", "max_execution_time"})
        rows = source.run(
            Allowed(
                "SELECT getSetting('max_execution_time'), getSetting('max_result_rows')", settings=Limits().settings()
            )
        ).rows
    assert rows == ((0, 100_000),)


def test_a_wrong_password_and_a_server_that_is_down_are_told(tmp_path: Path, port: int) -> None:
    for address, said in ((dsn(port, "wrong"), "refuses the user or password"), (dsn(_free()), "does not answer")):
        with (
            pytest.raises(OutsideError, match=said) as error,
            sql_source(settings(tmp_path, storage__warehouse_dsn=address), None, None),
        ):
            pass
        assert "right" not in str(error.value) and "wrong" not in str(error.value)


def _free() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
