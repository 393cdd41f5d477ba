"""Which server has a folder, and how questions find it: what it says, who may read that, and when it is believed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from buildeye.model import OutsideError, UsageError
from buildeye.warehouse import Warehouse, open_to_ask, open_warehouse
from buildeye.warehouse.connection import Server, door_of, parse_dsn
from buildeye.warehouse.owner import FILE, Owner, owner_in, serving, start_time
from tests.web.answering import TOKEN, answering

from .facts import REPOSITORY, a_run

URL = "http://127.0.0.1:8790"


@pytest.fixture(scope="module")
def port(embedded_warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with answering(embedded_warehouse, tmp_path_factory.mktemp("spool")) as opened:
        yield opened


def test_a_server_says_who_it_is_to_its_own_user_while_it_serves(tmp_path: Path) -> None:
    place = tmp_path / "state"
    with serving(place, URL, TOKEN, "/srv/facts"):
        assert (place / FILE).stat().st_mode & 0o777 == 0o600
        assert [file.name for file in place.iterdir()] == [FILE]
        assert owner_in(place) == Owner(URL, TOKEN, "/srv/facts", os.getpid(), start_time(os.getpid()))
        assert TOKEN not in repr(owner_in(place))
    assert list(place.iterdir()) == []
    assert owner_in(place) is None


def test_the_file_of_a_server_that_came_later_is_left_alone(tmp_path: Path) -> None:
    with serving(tmp_path, URL, TOKEN, "/srv/facts"):
        changed = json.loads((tmp_path / FILE).read_text()) | {"token": "of another"}
        (tmp_path / FILE).write_text(json.dumps(changed))
    assert (tmp_path / FILE).exists()


def test_a_server_that_was_killed_is_not_believed(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal; from pathlib import Path; from buildeye.warehouse.owner import serving\n"
        "with serving(Path(sys.argv[1]), 'http://127.0.0.1:1', 't', '/x'): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, timeout=60)
    assert (tmp_path / FILE).exists()
    assert owner_in(tmp_path) is None
    told = json.loads((tmp_path / FILE).read_text())
    (tmp_path / FILE).write_text(json.dumps(told | {"pid": os.getpid()}))
    if start_time(os.getpid()):
        assert owner_in(tmp_path) is None, "another process under the same number"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"url": 1}', '{"pid": "x"}', "\xff", "null"])
def test_a_file_that_says_nothing_is_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, "latin-1")
    assert owner_in(tmp_path) is None


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OutsideError, match=r"serving\.json cannot be written .*: mend storage\.data_dir"),
        serving(tmp_path / "file", URL, TOKEN, "/srv/facts"),
    ):
        pass


def test_questions_go_through_the_server_that_has_the_folder(
    embedded_warehouse: Warehouse, port: int, tmp_path: Path
) -> None:
    assert embedded_warehouse.engine is not None
    embedded_warehouse.write_runs([a_run(100)])
    with (
        serving(tmp_path, f"http://127.0.0.1:{port}", TOKEN, embedded_warehouse.engine),
        open_to_ask(f"chdb://{embedded_warehouse.place}", tmp_path) as asked,
    ):
        assert asked.place == f"http://127.0.0.1:{port}/clickhouse"
        (row,) = asked.ask("known_runs", repository=REPOSITORY, runs=[100])
        assert (row,) == tuple(embedded_warehouse.ask("known_runs", repository=REPOSITORY, runs=[100]))
        with pytest.raises(OutsideError, match="only SELECT, WITH, SHOW, DESCRIBE and EXPLAIN may be asked"):
            asked.write_runs([a_run(101)])
        with pytest.raises(UsageError, match=r"^query refused \(file\): file\(\) reads files"):
            asked.query("SELECT file('/etc/passwd')")


@pytest.mark.parametrize(
    ("url", "token", "folder"),
    [("http://127.0.0.1:1", TOKEN, None), (None, "wrong", None), (None, TOKEN, "/srv/another")],
)
def test_without_a_door_that_answers_for_this_folder_it_is_opened_itself(
    embedded_warehouse: Warehouse, port: int, tmp_path: Path, url: str | None, token: str, folder: str | None
) -> None:
    place = folder or embedded_warehouse.engine or ""
    with (
        serving(tmp_path, url or f"http://127.0.0.1:{port}", token, place),
        open_to_ask(f"chdb://{embedded_warehouse.place}", tmp_path) as asked,
    ):
        assert asked.place == embedded_warehouse.place


def test_who_writes_is_told_that_the_server_has_the_folder(embedded_warehouse: Warehouse, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from buildeye.model import OutsideError\n"
        "from buildeye.warehouse import open_warehouse\n"
        "try: open_warehouse(sys.argv[1], data_dir=Path(sys.argv[2]))\n"
        "except OutsideError as error: print(error)\n"
    )
    assert embedded_warehouse.engine is not None
    with serving(tmp_path, URL, TOKEN, embedded_warehouse.engine):
        said = subprocess.run(
            [sys.executable, "-c", program, f"chdb://{embedded_warehouse.place}", str(tmp_path)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    assert said.count("\n") == 1
    assert f"belongs to build-eye serve (PID {os.getpid()}) at {URL}" in said
    assert "--watch" in said
    assert TOKEN not in said


def test_a_door_elsewhere_is_an_address_with_a_path(port: int, tmp_path: Path) -> None:
    dsn = f"clickhouse://me:{TOKEN}@127.0.0.1:{port}/?path=/clickhouse"
    assert parse_dsn(dsn) == Server("127.0.0.1", port, "me", TOKEN, secure=False, path="/clickhouse")
    with open_to_ask(dsn, tmp_path) as asked:
        assert asked.query("SELECT 42 AS answer").rows == ((42,),)
    with pytest.raises(UsageError, match="behind the door of another Build-Eye") as caught:
        open_warehouse(dsn)
    assert TOKEN not in str(caught.value)
    with pytest.raises(OutsideError, match="refuses the user or password"):
        open_to_ask(dsn.replace(TOKEN, "wrong"), tmp_path)
    with pytest.raises(OutsideError, match="does not answer: check"):
        open_to_ask("clickhouse://me:x@127.0.0.1:1/?path=/clickhouse", tmp_path)
    with pytest.raises(UsageError, match="path must begin with a slash"):
        parse_dsn("clickhouse://me:x@127.0.0.1:1/?path=clickhouse")


def test_a_door_of_this_machine_is_asked_past_every_proxy(
    embedded_warehouse: Warehouse, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    owner = Owner(f"http://127.0.0.1:{port}", TOKEN, embedded_warehouse.place, os.getpid(), 0)
    door = door_of(owner)
    with open_to_ask(f"http://x:{TOKEN}@{door.host}:{door.port}/?path={door.path}", tmp_path) as asked:
        assert asked.query("SELECT 42 AS answer").rows == ((42,),)
