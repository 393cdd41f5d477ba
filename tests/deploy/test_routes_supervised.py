"""Every kind of route under a running supervisor: start, cutover, a supervisor that starts anew, and the way back."""

import http.client
import os
import random
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from benchmarks.deploying.kills import Forker, Killed
from benchmarks.deploying.stage import Stage

from buildeye.deploy.processes.orphans import find
from buildeye.deploy.routes import Route
from buildeye.model.deployments import Deployment, State

Asking = Callable[[], str]


def _by_socket(folder: Path) -> tuple[dict[str, Any], Asking]:
    path = folder / "web.sock"

    def ask() -> str:
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(5)
            asking.connect(str(path))
            asking.sendall(b"GET / HTTP/1.1\r\nHost: web\r\n\r\n")
            return b"".join(iter(lambda: asking.recv(4096), b"")).decode().rpartition("\r\n\r\n")[2]

    return {"socket": str(path)}, ask


def _by_file(folder: Path) -> tuple[dict[str, Any], Asking]:
    path = folder / "address"
    return {"switch_file": str(path)}, lambda: _answer_at(path.read_text().strip())


def _by_command(folder: Path) -> tuple[dict[str, Any], Asking]:
    path = folder / "switched"
    path.touch()
    switch = ["sh", "-c", f'echo "$BUILD_EYE_ADDRESS" >"{path}"']
    listen = {"switch_command": switch, "current_command": ["cat", str(path)]}
    return listen, lambda: _answer_at(path.read_text().strip())


def _answer_at(address: str) -> str:
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


WAYS = [_by_socket, _by_file, _by_command]


@pytest.mark.parametrize("way", WAYS)
def test_a_release_and_the_way_back_by_every_route(
    stage: Stage, way: Callable[[Path], tuple[dict[str, Any], Asking]]
) -> None:
    listen, ask = way(stage.folder)
    with stage.supervised():
        first = stage.until(stage.deploy("v1", listen=listen), State.MONITORING)
        stage.ask(first, "promote", why="good")
        assert ask() == "v1"
    assert ask() == "v1"
    with stage.supervised():
        second = stage.until(stage.deploy("v2", listen=listen), State.MONITORING)
        assert ask() == "v2"
    with stage.supervised():
        assert ask() == "v2"
        stage.behave("v2", health=503)
        stage.until(second, State.ROLLED_BACK)
        assert ask() == "v1"
        stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")


def test_a_switch_command_that_fails_leaves_the_old_version_in_service(stage: Stage) -> None:
    listen, ask = _by_command(stage.folder)
    broken = stage.folder / "broken"
    listen["switch_command"][2] = f'test ! -e "{broken}" && {listen["switch_command"][2]}'
    with stage.supervised():
        first = stage.until(stage.deploy("v1", listen=listen), State.MONITORING)
        stage.ask(first, "promote", why="good")
        broken.touch()
        second = stage.until(stage.deploy("v2", listen=listen), State.ROLLED_BACK, State.ROLLBACK_FAILED)
        assert second.state is State.ROLLED_BACK, stage.story()
        assert "switch_command" in "\n".join(each.reason for each in stage.journal.events(second.id))
        assert ask() == "v1"
        broken.unlink()
        third = stage.until(stage.deploy("v3", listen=listen), State.MONITORING)
        assert ask() == "v3"
        assert stage.now(third).previous == first.id


def test_an_address_that_led_elsewhere_is_led_to_who_serves_again(stage: Stage) -> None:
    """As an old supervisor leaves it that wakes in the midst of a switch."""
    with stage.supervised() as supervisor:
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote", why="good")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        slot = stage.now(first).slot
        assert slot is not None
        _route(supervisor).switch(slot, "v1")
        assert stage.serves() == "v1"
        stage.ask(second, "pause")  # anything that makes it look
        stage.eventually(lambda: stage.serves() == "v2", "v2 serves again")
        assert any("led elsewhere" in said for said in stage.log)


@pytest.mark.parametrize("boundary", ["switching", "switched", "before-switched"])
def test_the_old_version_dies_in_the_midst_of_a_cutover_that_nobody_watches(stage: Stage, boundary: str) -> None:
    with _killer(stage) as forker:
        first = _clean(stage)
        second = stage.deploy("v2")
        forker.killed_at(boundary)
        assert stage.now(second).state is State.CUTTING_OVER
        _kill(stage, first)
        with stage.supervised():
            stage.until(second, State.MONITORING)
            assert stage.serves() == "v2"
            stage.behave("v2", health=503)
            stage.until(second, State.ROLLED_BACK)
            assert stage.serves() == "v1"


@pytest.mark.parametrize("boundary", ["after-roll_back", "switching", "switched", "in-service"])
def test_the_old_version_dies_in_the_midst_of_a_rollback_that_nobody_watches(stage: Stage, boundary: str) -> None:
    with _killer(stage) as forker:
        first = _clean(stage)
        with stage.supervised():
            second = stage.until(stage.deploy("v2"), State.MONITORING)
            stage.eventually(lambda: _in_service(stage) == second.id, "the cutover is over")
        stage.behave("v2", health=503)
        forker.killed_at(boundary)
        assert stage.now(second).state is State.ROLLING_BACK
        _kill(stage, first)
        with stage.supervised():
            stage.until(second, State.ROLLED_BACK)
            stage.eventually(lambda: stage.serves() == "v1", "v1 serves")
            stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
            assert stage.events(second).count("roll_back") == 1


def test_a_promotion_while_a_person_was_waited_for_outlives_the_supervisor(stage: Stage) -> None:
    with stage.supervised():
        _clean_in(stage)
        second = stage.until(stage.deploy("v2", rollback={"automatic": False}), State.MONITORING)
        stage.behave("v2", health=503)
        stage.until(second, State.NEEDS_ATTENTION)
        stage.ask(second, "promote", why="known and harmless")
    with stage.supervised():
        stage.eventually(lambda: stage.living() == [second.id], "only v2 lives")
        assert stage.now(second).state is State.MONITORING_WINDOW_CLEAN
        assert stage.serves() == "v2"
        third = stage.until(stage.deploy("v3"), State.MONITORING)
        stage.behave("v3", health=503)
        stage.behave("v2")
        stage.until(third, State.ROLLED_BACK)
        assert stage.serves() == "v2"


def _in_service(stage: Stage) -> str:
    row = stage.journal.service("web")
    return row.in_service if row is not None else ""


def _route(supervisor: Any) -> Route:
    service, _ = supervisor._services["web"]
    route: Route = service.route
    return route


@contextmanager
def _killer(stage: Stage) -> Iterator[Forker]:
    stage.run_root.mkdir(parents=True)
    with Forker(stage, random.Random(1), Killed()) as forker:
        yield forker


def _clean(stage: Stage) -> Deployment:
    with stage.supervised():
        return _clean_in(stage)


def _clean_in(stage: Stage) -> Deployment:
    first = stage.until(stage.deploy("v1"), State.MONITORING)
    stage.ask(first, "promote", why="good")
    return stage.until(first, State.MONITORING_WINDOW_CLEAN)


def _kill(stage: Stage, deployment: Deployment) -> None:
    for each in find(stage.run_root):
        if not each.keeper and each.run_folder.parent.name == deployment.id:
            os.kill(each.identity.pid, signal.SIGKILL)
    stage.eventually(lambda: deployment.id not in stage.living(), "it is dead")
