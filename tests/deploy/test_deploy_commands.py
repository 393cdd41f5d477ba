"""`build-eye deploy` as people run it: real commands, a real supervisor in the background, real example services."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.deploying.stage import free_port

from buildeye.deploy.processes.orphans import find
from buildeye.deploy.processes.pidfd import open_process

SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 90.0
GOOD = ("--behaviour", "good")
ILL = ("--behaviour", "flap", "--after", "2.5", "--period", "60")


class Place:
    """A folder in which services are deployed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.environ = {k: v for k, v in os.environ.items() if not k.startswith(("BUILD_EYE_", "GITHUB_"))}
        self.environ |= {"PYTHONPATH": str(SOURCE), "COLUMNS": "100", "GITHUB_ACTOR": "ops"}

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "buildeye", "deploy", *arguments],
            cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stdout + done.stderr
        return done

    def start(self, version: str, *options: str, behaves: tuple[str, ...] = GOOD, **more: Any) -> Any:
        self.write(behaves, **more)
        return self.run("start", "web", "--version", version, *options)

    def write(self, behaves: tuple[str, ...] = GOOD, **more: Any) -> None:
        command = [sys.executable, "-m", "buildeye.simulator.service", "--version", "{version}", *behaves]
        health = {
            "interval_seconds": 1, "retry_seconds": 0.3, "failures": 3, "minimum_uptime_seconds": 0.2,
            "start_interval_seconds": 0.1, "deadline_seconds": 30,
        }  # fmt: skip
        values = {"service": "web", "command": command, "listen": {"port": self.port}, "health": health,
                  "drain": {"seconds": 1}, "stop": {"seconds": 5}}  # fmt: skip
        (self.folder / "deploy.yaml").write_text(json.dumps(values | more))

    def status(self) -> Any:
        return json.loads(self.run("status", "web", "-o", "json").stdout)

    def supervisor(self) -> int:
        lock = self.folder / ".build-eye/deploy/supervisor.lock"
        return int(lock.read_text()) if lock.exists() and lock.read_text() else 0

    def end(self) -> None:
        if pid := self.supervisor():
            line = Path(f"/proc/{pid}/cmdline")
            if line.exists() and b"--background" in line.read_bytes() and self._is_ours(pid):
                os.kill(pid, signal.SIGKILL)
        for each in find(self.folder):
            held = open_process(each.identity)
            if held is not None:
                with held:
                    held.signal(signal.SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        return Path(f"/proc/{pid}/cwd").resolve() == self.folder.resolve()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    try:
        yield place
    finally:
        place.end()


def test_a_release_its_bad_successor_and_the_end_of_the_service(place: Place) -> None:
    """Scenario 36: rolled back, and so the command ends with 1."""
    first = place.start("v1")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "supervised in the background by process" in first.stderr
    assert "v1 serves and is watched" in first.stdout and "told" not in first.stdout
    assert place.run("promote", "web", "--why", "checked").returncode == 0

    bad = place.start("v2", "--until-closed", behaves=ILL)
    assert (bad.returncode, bad.stderr) == (1, "")
    assert "rolled_back" in bad.stdout and "v1 serves" in bad.stdout.splitlines()[-1]
    told = place.run("status", "web")
    assert told.returncode == 1 and "back on v1" in told.stdout and "process  ok" in told.stdout
    status = place.status()
    assert (status["state"], status["version"], status["stopped"]) == ("rolled_back", "v2", False)
    assert status["report"] and (place.folder / status["report"]).exists()

    refused = place.start("v2")
    assert refused.returncode == 1 and "was marked bad: rolled back on" in refused.stderr and "{" not in refused.stderr
    assert place.run("pause", "web").returncode == 1
    past = json.loads(place.run("history", "web", "-o", "json").stdout)
    assert [each["version"] for each in past] == ["v2", "v1"]
    assert place.run("explain", "web").returncode == 0

    asked = place.run("stop", "web")
    assert asked.returncode == 2 and "--yes" in asked.stderr
    stopped = place.run("stop", "web", "--yes", "--why", "over")
    assert stopped.returncode == 0 and "nothing of it runs" in stopped.stdout
    assert find(place.folder) == []
    assert place.run("status", "web").returncode == 1 and place.status()["stopped"]
    assert place.start("v3").returncode == 0
    assert place.status()["state"] == "monitoring"


def test_a_killed_supervisor_is_followed_by_the_next_start(place: Place) -> None:
    assert place.start("v1").returncode == 0
    first = place.supervisor()
    os.kill(first, signal.SIGKILL)
    time.sleep(0.2)
    assert place.run("status", "web").returncode == 0
    assert "nobody" in place.run("status", "web").stdout
    paused = place.run("pause", "web", "--why", "load test")
    assert paused.returncode == 0 and place.supervisor() not in (0, first)
    assert place.status()["paused"]


def test_what_cannot_start_says_why_and_ends_with_1(place: Place) -> None:
    import socket

    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", place.port))
        stranger.listen()
        used = place.start("v1")
    assert used.returncode == 1 and f"port {place.port} of 127.0.0.1 is used by" in " ".join(used.stdout.split())
    missing = place.start("v2", command=["/nowhere/web-server"])
    assert missing.returncode == 1 and "/nowhere/web-server" in missing.stdout
    place.write()
    silent = place.start("v3", health={"path": "/nowhere", "deadline_seconds": 2, "minimum_uptime_seconds": 0.1})
    assert silent.returncode == 1 and "answered 404" in silent.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("start", "web", "--version", "v1"), 2, 'deploy.yaml line 3: retain is "many"; a number of versions, 1 to'),
        (("start", "api", "--version", "v1", "--file", "none.yaml"), 2, "there is no file none.yaml"),
        (("status", "web"), 2, "there is no deployment of web"),
        (("watch", "web"), 2, "there is no deployment of web"),
        (("stop", "web", "--yes"), 2, "there is no deployment of web"),
        (("rollback", "web"), 2, "there is no deployment of web"),
        (("init", "web", "--file", "/proc/deploy.yaml"), 3, "cannot be written"),
        (("simulate", "--deployments", "1"), 2, "--deployments"),
    ],
)  # fmt: skip
def test_wrong_use_is_told_in_a_sentence(place: Place, arguments: tuple[str, ...], code: int, said: str) -> None:
    (place.folder / "deploy.yaml").write_text("service: web\ncommand: [./run]\nretain: many\nlisten: {port: 1234}\n")
    done = place.run(*arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_journal_that_cannot_be_reached_is_an_outside_failure(place: Place) -> None:
    place.environ["BUILD_EYE_DEPLOY__JOURNAL"] = f"postgresql://nobody@127.0.0.1:{place.port}/none"
    done = place.start("v1")
    assert done.returncode == 3 and len(done.stderr.splitlines()) == 1


def test_simulated_limits_are_told_as_numbers(place: Place) -> None:
    done = place.run("simulate", "--deployments", "20", "-o", "json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["deployments"] == 20
    assert [each["release"] for each in told["releases"]] == ["healthy", "rate", "crash", "outage", "flap", "canary"]
    assert {"rolled_back", "clean"} <= set(told["releases"][0]["default"])
    assert place.run("simulate", "--deployments", "20").stdout == place.run("simulate", "--deployments", "20").stdout


def test_the_demo_goes_as_it_should_and_leaves_nothing_running(place: Place) -> None:
    done = place.run("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed. Nothing runs any more." in done.stdout
    assert find(place.folder) == []
