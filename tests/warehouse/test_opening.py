"""Opening a warehouse: addresses, and what a user is told when it cannot be had."""

import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from buildeye.model import OutsideError, UsageError
from buildeye.warehouse import Warehouse, open_warehouse
from buildeye.warehouse.connection import Embedded, Server, parse_dsn

SECRET = "s3cr3t/p@ss"


@pytest.mark.parametrize(
    ("dsn", "place"),
    [
        ("chdb:///srv/facts", Embedded(Path("/srv/facts"))),
        ("chdb://state/facts", Embedded(Path("state/facts").absolute())),
        ("chdb://:memory:", Embedded(None)),
        ("clickhouse://ci:pa%2Fss@db.test:8123/?secure=0", Server("db.test", 8123, "ci", "pa/ss", secure=False)),
        ("clickhouse://db.test", Server("db.test", 8123, "default", "", secure=False)),
        ("clickhouse://db.test/?secure=1&verify=0", Server("db.test", 8443, "default", "", secure=True, verify=False)),
        ("http://db.test:80", Server("db.test", 80, "default", "", secure=False)),
        ("https://ci@db.test/", Server("db.test", 8443, "ci", "", secure=True)),
    ],
)
def test_an_address_means_a_place(dsn: str, place: Embedded | Server) -> None:
    assert parse_dsn(dsn) == place


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "chdb",
        "chdb://",
        "chdb:///x?readonly=1",
        "/srv/facts",
        "postgres://ci:s3cr3t@db.test/x",
        "clickhouse://ci:s3cr3t@",
        "clickhouse://ci:s3cr3t@db.test:port/",
        "clickhouse://ci:s3cr3t@db.test/facts",
        "clickhouse://ci:s3cr3t@db.test/?secure=maybe",
        "clickhouse://ci:s3cr3t@db.test/?compress=1",
        "http://ci:s3cr3t@db.test/?secure=1",
    ],
)
def test_a_wrong_address_is_refused_without_its_password(dsn: str) -> None:
    with pytest.raises(UsageError, match="warehouse address") as caught:
        open_warehouse(dsn)
    assert "s3cr3t" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_password_is_not_in_the_representation() -> None:
    assert "s3cr3t" not in repr(parse_dsn("clickhouse://ci:s3cr3t@db.test"))


@pytest.mark.parametrize("days", [0, -1])
def test_a_retention_below_a_day_is_refused(days: int) -> None:
    with pytest.raises(UsageError, match=f"{days} days"):
        open_warehouse("chdb://:memory:", retention_days=days)


def test_a_server_that_is_not_there_is_named_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        with pytest.raises(OutsideError, match=f"http://127.0.0.1:{port} does not answer: check") as caught:
            open_warehouse(f"clickhouse://ci:s3cr3t@127.0.0.1:{port}/")
    assert "s3cr3t" not in str(caught.value) + caplog.text


def test_a_wrong_password_is_said_but_not_shown(server_port: int, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(OutsideError, match="refuses the user or password") as caught:
        open_warehouse(f"clickhouse://default:wrong-s3cr3t@127.0.0.1:{server_port}/")
    assert "s3cr3t" not in str(caught.value) + caplog.text


class NoClickHouse(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = b"<html>It works!</html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_server_that_is_no_clickhouse_is_told_so() -> None:
    with HTTPServer(("127.0.0.1", 0), NoClickHouse) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(OutsideError, match=r"127\.0\.0\.1"):
            open_warehouse(f"http://127.0.0.1:{server.server_address[1]}/")
        server.shutdown()


def test_a_folder_that_is_a_file_is_an_outside_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match=r"file.* cannot be used"):
        open_warehouse(f"chdb://{tmp_path / 'file'}")


def test_a_second_embedded_folder_in_one_process_is_refused(embedded_warehouse: Warehouse, tmp_path: Path) -> None:
    with pytest.raises(OutsideError, match="another embedded warehouse open"):
        open_warehouse(f"chdb://{tmp_path / 'second'}")


def test_the_same_folder_opens_twice_in_one_process(embedded: Warehouse) -> None:
    with open_warehouse(f"chdb://{embedded.place}") as second:
        assert second.query("SELECT 1 AS one").rows == ((1,),)
    assert embedded.query("SELECT 1 AS one").rows == ((1,),)


def test_a_closed_warehouse_may_be_closed_again(embedded: Warehouse) -> None:
    second = open_warehouse(f"chdb://{embedded.place}")
    second.close()
    second.close()


def test_a_folder_open_in_another_process_names_folder_and_holder(embedded_warehouse: Warehouse) -> None:
    folder = embedded_warehouse.place
    program = (
        "import sys; from buildeye.model import OutsideError; from buildeye.warehouse import open_warehouse\n"
        "try: open_warehouse(sys.argv[1])\n"
        "except OutsideError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, f"chdb://{folder}"], capture_output=True, text=True, check=True
    ).stdout
    assert said.count("\n") == 1
    assert said.startswith(f"warehouse folder {folder} is open in another process (PID ")
    assert "stop that process" in said


def test_importing_the_warehouse_loads_no_engine() -> None:
    program = "import sys, buildeye.warehouse; print({'chdb', 'clickhouse_connect', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
