"""The example service behaves as it is told, and as a supervisor expects of an application."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from buildeye.deploy.address import Address
from buildeye.simulator.service.behaviour import Behaviour, Fate, Life
from buildeye.simulator.service.tasks import Tasks
from tests.deploy.example import PATIENCE, asked, connected, end, eventually, fetched, rest_of, service, stop

POST = "POST {} HTTP/1.1\r\nHost: example\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}"


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def posted(address: Address, path: str) -> bytes:
    return fetched(address, request=POST.format(path).encode())


def test_a_good_version_answers_with_its_name_and_nonce() -> None:
    """Scenario 30 in the good case: the nonce says which process answers."""
    with service("--version", "v2<", nonce="n-1") as (_, address):
        result = asked(address, nonce="n-1")
        assert (result.ok, result.status, result.nonce) == (True, 200, "n-1")
        assert b"Version v2&lt;" in fetched(address, "/")
        assert b"200 OK" in posted(address, "/canary")


def test_an_old_process_that_still_has_the_port_is_noticed_by_its_nonce() -> None:
    """Scenario 30."""
    with service("--version", "v1", nonce="old") as (_, address):
        result = asked(address, nonce="new")
        assert not result.ok
        assert "another process answers" in result.detail


@pytest.mark.parametrize(
    ("path", "status"),
    [("/nothing", b"404"), ("/canary", b"405"), ("/work?ms=x", b"400"), ("/work?ms=1", b"200"), ("/tasks", b"200")],
)
def test_pages_answer_with_the_right_status(path: str, status: bytes) -> None:
    with service() as (_, address):
        assert fetched(address, path).split()[1] == status


def test_a_crashing_version_ends_with_its_code() -> None:
    with service("--behaviour", "crash", "--after", "1.5") as (process, _):
        assert process.wait(PATIENCE) == 7


def test_a_leaking_version_grows_and_is_killed() -> None:
    with service("--behaviour", "leak", "--after", "0.5", "--leak-limit", "60", "--leak", "100") as (process, _):
        assert process.wait(PATIENCE) == -signal.SIGKILL


def test_a_hanging_version_takes_connections_and_answers_none() -> None:
    with service("--behaviour", "hang", "--after", "1") as (process, address):
        eventually(lambda: "no whole answer" in asked(address, timeout=0.3).detail)
        assert process.poll() is None


def test_a_flapping_version_is_well_and_ill_in_turn() -> None:
    with service("--behaviour", "flap", "--after", "0", "--period", "1") as (_, address):
        for expected in (503, 200, 503):
            eventually(lambda expected=expected: asked(address).status == expected)  # type: ignore[misc]


def test_a_slow_version_is_well_and_too_slow() -> None:
    with service("--behaviour", "slow", "--after", "1", "--delay", "2") as (_, address):
        eventually(lambda: not asked(address, timeout=0.5).ok)
        assert asked(address, timeout=PATIENCE).ok


@pytest.mark.parametrize("behaviour", list(Behaviour))
def test_a_version_is_good_until_its_time_has_come(behaviour: Behaviour) -> None:
    now = 0.0
    life = Life(Fate(behaviour, after=10), ticks=lambda: now)
    now = 9.9
    assert not any(life.has(one) for one in Behaviour)
    assert (life.ill, life.approved) == (False, 0.9)
    now = 10.1
    assert life.has(behaviour)


def test_a_degrading_version_does_its_canary_and_its_tasks_worse(tmp_path: Path) -> None:
    state = str(tmp_path / "tasks.sqlite")
    with service("--state", state, "--version", "v1") as (_, address):
        good = [json.loads(body_of(posted(address, "/task")))["approved"] for _ in range(60)]
    with service("--state", state, "--behaviour", "degrade", "--after", "0", BUILD_EYE_DEPLOYMENT="d-2") as (
        _,
        address,
    ):
        bad = [json.loads(body_of(posted(address, "/task")))["approved"] for _ in range(60)]
        told = json.loads(body_of(fetched(address, "/tasks")))["tasks"]
        answer = posted(address, "/canary")
    assert sum(good) >= 48
    assert 18 <= sum(bad) <= 42
    assert [task["approved"] for task in told] == good + bad
    assert [task["deployment"] for task in told] == ["v1"] * 60 + ["d-2"] * 60
    assert b" 500 " in answer
    assert body_of(answer) == b"the task was done, and its result is wrong\n"


def test_tasks_are_told_from_a_moment_on_and_judged_the_same_each_time(tmp_path: Path) -> None:
    first, second = (Tasks(tmp_path / name, "d-1") for name in ("one", "two"))
    judged = [first.judge(0.5) for _ in range(20)]
    assert [task["approved"] for task in judged] == [second.judge(0.5)["approved"] for _ in range(20)]
    assert first.told() == judged
    assert first.told(since="2999-01-01") == []


def test_draining_closes_connections_and_can_be_taken_back() -> None:
    request = b"GET / HTTP/1.1\r\nHost: example\r\n\r\n"
    with service() as (process, address):
        process.send_signal(signal.SIGUSR1)
        eventually(lambda: b"connection: close" in fetched(address, request=b"HEAD" + request[3:]))
        process.send_signal(signal.SIGUSR2)

        def kept() -> bool:
            with connected(address) as one:
                one.sendall(request)
                return b"connection: close" not in one.recv(65536)

        eventually(kept)


def test_a_version_that_is_stopped_finishes_its_requests_and_ends_with_0() -> None:
    with service() as (process, address), connected(address) as one:
        one.sendall(b"GET /work?ms=500 HTTP/1.1\r\nHost: example\r\n\r\n")
        assert asked(address).ok  # the request before has been taken in by now
        assert stop(process) == 0
        assert rest_of(one).endswith(b"done\n")


def test_without_a_handed_socket_it_binds_its_port_and_tells_when_it_cannot() -> None:
    command = [sys.executable, "-m", "buildeye.simulator.service"]
    environment = {name: value for name, value in os.environ.items() if name != "LISTEN_FDS"}
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = subprocess.run(
            [*command, "--port", str(port)], env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    assert run.returncode == 3
    assert run.stderr.startswith(f"port {port} cannot be used")
    process = subprocess.Popen(command, env=environment | {"PORT": str(port)}, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: asked(Address("127.0.0.1", port)).ok)
    finally:
        end(process)
