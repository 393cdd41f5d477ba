"""The socket route with real processes: cutover and the way back under load, restarts, keepers, other servers."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from buildeye.deploy.clock import Clock
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.launch import launch
from buildeye.deploy.routes.ports import PortRoute
from tests.deploy.example import PATIENCE, asked, connected, end, eventually, fetched, rest_of, start

GET = b"GET / HTTP/1.1\r\nHost: example\r\nConnection: close\r\n\r\n"


@pytest.fixture
def route(tmp_path: Path) -> Iterator[PortRoute]:
    run_root = tmp_path / "root"
    run_root.mkdir()
    made = PortRoute("127.0.0.1", 0, run_root)
    made.open()
    yield made
    made.close()


@contextmanager
def version(route: PortRoute, slot: int, name: str) -> "Iterator[subprocess.Popen[bytes]]":
    process = start(route.sockets_for(slot)[0], "--version", name, nonce=name)
    try:
        eventually(lambda: asked(route.private(slot), nonce=name).ok)
        yield process
    finally:
        end(process)


def test_no_request_is_lost_at_cutovers_and_on_the_way_back(route: PortRoute) -> None:
    """The goal of the socket route, small; `benchmarks/deploying/load.py` sends tens of thousands."""
    over = threading.Event()
    served: list[bytes] = []
    lost: list[object] = []

    def ask() -> None:
        while not over.is_set():
            try:
                served.append(fetched(route.public).rpartition(b"Version ")[2][:2])
            except OSError as error:
                lost.append(error)

    with version(route, 0, "v1"), version(route, 1, "v2"):
        route.switch(0)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for number in range(1, 11):
                before = len(served)
                route.switch(number % 2)
                eventually(lambda before=before: len(served) > before + 20)  # type: ignore[misc]
        finally:
            over.set()
            for thread in threads:
                thread.join()
    assert lost == []
    assert set(served) == {b"v1", b"v2"}


def test_who_comes_while_a_version_is_started_anew_waits_and_is_answered(route: PortRoute) -> None:
    route.switch(2)
    with version(route, 2, "v1") as process:
        process.kill()
        process.wait(PATIENCE)
        with connected(route.public) as waiting:
            waiting.sendall(GET)
            with version(route, 2, "v1"):
                assert b"Version v1" in rest_of(waiting)


def test_a_candidate_is_asked_alone_while_the_old_version_serves(route: PortRoute) -> None:
    """Scenario 30: who answers at the candidate's address is the candidate, and nobody else."""
    with version(route, 0, "v1"), version(route, 1, "v2"):
        route.switch(0)
        assert asked(route.private(1), nonce="v2").ok
        assert asked(route.public, nonce="v1").ok
        assert not asked(route.public, nonce="v2").ok


def test_a_supervisor_that_was_killed_finds_its_sockets_at_the_keeper(route: PortRoute, tmp_path: Path) -> None:
    """Part of scenario 17."""
    run_folder = tmp_path / "run"
    command = [sys.executable, "-m", "buildeye.simulator.service", "--version", "v1"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    run = launch(command, tmp_path, environment, run_folder, route.sockets(), "n-1", tmp_path / "log", Clock(), slot=1)
    keeper = KeeperClient(run_folder)
    try:
        route.switch(1)
        public = route.public
        eventually(lambda: asked(public, nonce="n-1").ok)
        route.close()
        again = PortRoute("127.0.0.1", public.port, tmp_path / "root")
        assert again.open(keeper.sockets())
        try:
            assert again.current() == 1
            assert asked(again.public, nonce="n-1").ok
            with version(again, 3, "v2"):
                again.switch(3)
                assert asked(again.public, nonce="v2").ok
        finally:
            again.close()
    finally:
        keeper.stop(signal.SIGTERM, PATIENCE)
        eventually(lambda: keeper.status().exit is not None)
        keeper.leave()
        eventually(lambda: not Path(f"/proc/{run.keeper.pid}").exists() or not keeper.answers())


def test_uvicorn_serves_the_slot_it_is_given_as_a_file_descriptor(route: PortRoute, tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "async def app(scope, receive, send):\n"
        "    await send({'type': 'http.response.start', 'status': 204, 'headers': []})\n"
        "    await send({'type': 'http.response.body'})\n"
    )
    descriptor = route.sockets_for(2)[0]

    def hand_over() -> None:
        os.dup2(descriptor, 3)
        os.set_inheritable(3, True)

    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "--fd",
        "3",
        "--app-dir",
        str(tmp_path),
        "--lifespan",
        "off",
        "plain:app",
    ]
    process = subprocess.Popen(command, preexec_fn=hand_over, close_fds=False, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: asked(route.private(2), timeout=1).status == 204)
        route.switch(2)
        assert asked(route.public).status == 204
    finally:
        end(process)
