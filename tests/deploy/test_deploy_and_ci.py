"""A deployment and the CI of its commit, through the commands: what history, status and the report say, who is told."""

import dataclasses
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from buildeye.warehouse import open_warehouse
from tests.deploy.test_deploy_commands import GOOD, ILL, PATIENCE, Place, place
from tests.warehouse.facts import REPOSITORY, a_job, a_run, a_saying, a_verdict, at

__all__ = ["place"]
SHA = "a" * 40


@pytest.fixture
def heard() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The address of a service of messages, and what it was told."""
    told: list[dict[str, str]] = []

    class Ear(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ear)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"json://127.0.0.1:{server.server_address[1]}", told
    finally:
        server.shutdown()
        server.server_close()


def _ci_of_the_commit(place: Place) -> None:
    """Three runs of the commit: two green, one whose only failure a person overruled."""
    failed = dataclasses.replace(a_run(1, conclusion="failure"), name="ci", workflow_id=1, created_at=at(0))
    green = [
        dataclasses.replace(a_run(n, conclusion="success"), name=f"w{n}", workflow_id=n, created_at=at(0))
        for n in (2, 3)
    ]
    with open_warehouse(f"chdb://{place.folder / '.build-eye/warehouse'}") as warehouse:
        warehouse.write_runs([failed, *green])
        warehouse.write_jobs([a_job(11, run=1)])
        warehouse.write_verdicts([a_verdict(11, run=1)], REPOSITORY)
        warehouse.write_person_verdicts([a_saying(11, run=1, person="ops")])


def test_history_and_report_say_what_ci_said_and_who_overruled_it(
    place: Place, heard: tuple[str, list[dict[str, str]]]
) -> None:
    address, told = heard
    linked: dict[str, Any] = {"repository": REPOSITORY, "notify": [address]}
    assert place.start("v1", **linked).returncode == 0
    assert place.run("promote", "web").returncode == 0
    _ci_of_the_commit(place)
    bad = place.start("v2", "--commit", SHA, "--until-closed", behaves=ILL, **linked)
    assert bad.returncode == 1
    past = json.loads(place.run("history", "web", "-o", "json").stdout)[0]
    assert past["version"] == "v2" and past["ci"]["green"] is False
    assert past["overruled"] and "ops" in json.dumps(past["overruled"])
    assert "1 of 3 runs failed" in place.run("status", "web").stdout
    (report,) = (place.folder / "reports").rglob("deployment-web-v2-*.md")
    text = report.read_text()
    assert "1 of 3 runs failed" in text and "overruled" in text
    assert any("web v2" in each["title"] and str(report.name) in each["message"] for each in told)


def test_ctrl_c_during_a_start_leaves_the_deployment_going(place: Place) -> None:
    place.write(health={"minimum_uptime_seconds": 6, "start_interval_seconds": 0.2, "deadline_seconds": 60})
    command = [sys.executable, "-m", "buildeye", "deploy", "start", "web", "--version", "v1"]
    started = subprocess.Popen(
        command, cwd=place.folder, env=place.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in a shell's background job
    )  # fmt: skip
    assert started.stdout is not None
    for line in started.stdout:
        if "health_checking" in line:
            break
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=PATIENCE)
    assert started.returncode == 130 and "Traceback" not in said
    _until(place, "monitoring")


def test_a_watch_that_is_told_to_end_leaves_everything_running(place: Place) -> None:
    assert place.start("v1").returncode == 0
    signalled = place.supervisor()
    os.kill(signalled, signal.SIGTERM)
    ends = time.monotonic() + PATIENCE
    while place.status()["supervisor"] and time.monotonic() < ends:
        time.sleep(0.1)
    assert "nobody supervises web" in place.run("status", "web").stdout
    assert place.start("v2", behaves=GOOD).returncode == 0


def test_a_service_that_serves_cannot_be_given_another_port(place: Place) -> None:
    assert place.start("v1").returncode == 0
    place.port += 1
    moved = place.start("v2")
    assert moved.returncode == 2
    assert "listen.port of web" in moved.stderr and "deploy stop web" in moved.stderr


def _until(place: Place, state: str) -> None:
    ends = time.monotonic() + PATIENCE
    while place.status()["state"] != state:
        assert time.monotonic() < ends, place.status()
        time.sleep(0.2)
