"""kill -9 for `build-eye serve` at random moments while webhooks come in and are drained: what was acknowledged stays.

Every delivery tells of a job of its own, so a row a job is what must be there afterwards. A delivery that was not
acknowledged is sent again with the same id, or given up, by chance; of the latter nothing is asked.
"""

import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from buildeye.simulator.webhooks import Sent, Told, signed

SECRET = "of this benchmark, and no other"
REPOSITORY = "bench/kills"
SENDERS = 4
LONGEST_LIFE = 0.6  # seconds from the first acknowledged delivery to the kill
START_SECONDS = 120.0
GIVEN_UP = 0.3  # of what was not acknowledged

ROWS = """
import sys
from buildeye.warehouse import open_warehouse

with open_warehouse(sys.argv[1]) as warehouse:
    for (number,) in warehouse.query("SELECT id FROM default.workflow_job_latest").rows:
        print(number)
"""


@dataclass(frozen=True)
class Outcome:
    """How often the server was killed, how many deliveries it had acknowledged, and what became of them."""

    kills: int
    acknowledged: int
    lost: int
    doubled: int
    refused: int


class Senders:
    """Threads that deliver job after job, whether the server lives or not."""

    def __init__(self, port: int, seed: int) -> None:
        self.acknowledged: set[int] = set()
        self.acknowledgements = 0
        self._port = port
        self._numbers = itertools.count(1)
        self._chance = random.Random(seed)
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(SENDERS)]

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send while the context lasts."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            for thread in self._threads:
                thread.join()

    def more_than(self, acknowledgements: int) -> Callable[[], bool]:
        """Whether there are more acknowledgements than that by now."""
        return lambda: self.acknowledgements > acknowledgements

    def _run(self) -> None:
        number, line = next(self._numbers), self._line()
        while not self._stopped.is_set():
            sent = job_delivery(number)
            try:
                line.request("POST", "/webhooks/github", sent.body, sent.headers)
                answer = line.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                line.close()
                line = self._line()
                if self._chance.random() < GIVEN_UP:
                    number = next(self._numbers)
                time.sleep(0.02)
                continue
            if answer.status == 202:
                self.acknowledged.add(number)
                self.acknowledgements += 1
            # One in ten comes twice, as GitHub may do.
            number = number if self._chance.random() < 0.1 else next(self._numbers)

    def _line(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=START_SECONDS)


def job_delivery(number: int) -> Sent:
    """A queued job with this id, and a delivery id that belongs to it."""
    job = {
        "id": number,
        "run_id": number // 10,
        "name": f"job {number}",
        "status": "queued",
        "conclusion": None,
        "run_attempt": 1,
        "head_sha": "a" * 40,
        "created_at": "2026-05-28T06:30:00Z",
        "labels": ["linux"],
        "steps": [],
    }
    payload = {"action": "queued", "workflow_job": job, "repository": {"full_name": REPOSITORY}}
    return signed(Told(datetime(2026, 5, 28, 6, 30, tzinfo=UTC), "workflow_job", payload), SECRET, f"job-{number}")


def kill_often(folder: Path, kills: int, seed: int) -> Outcome:
    """Kill the server so many times, let the last one drain its spool, and count what the warehouse has."""
    chance = random.Random(seed)
    port = free_port()
    senders = Senders(port, seed)
    with senders.sending():
        for _ in range(kills):
            server = start(folder, port)
            try:
                wait_until(senders.more_than(senders.acknowledgements), server)
                time.sleep(chance.uniform(0, LONGEST_LIFE))
            finally:
                server.kill()
                server.wait()
    refused = drained(folder, port)
    answer = subprocess.run(
        [sys.executable, "-c", ROWS, f"chdb://{folder / 'warehouse'}"], capture_output=True, text=True, check=True
    )
    rows = [int(line) for line in answer.stdout.split()]
    return Outcome(
        kills=kills,
        acknowledged=len(senders.acknowledged),
        lost=len(senders.acknowledged - set(rows)),
        doubled=len(rows) - len(set(rows)),
        refused=refused,
    )


def free_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def start(folder: Path, port: int) -> "subprocess.Popen[bytes]":
    """A server whose warehouse and spool are in this folder."""
    environ = os.environ | {
        "GITHUB_WEBHOOK_SECRET": SECRET,
        "BUILD_EYE_STORAGE__WAREHOUSE_DSN": f"chdb://{folder / 'warehouse'}",
        "BUILD_EYE_STORAGE__DATA_DIR": str(folder / "data"),
    }
    command = [sys.executable, "-m", "buildeye", "serve", "--port", str(port)]
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, env=environ, stdout=log, stderr=log)


def drained(folder: Path, port: int) -> int:
    """Start the server once more until nothing waits, stop it as one should; how many deliveries it put aside."""
    server = start(folder, port)
    try:
        wait_until(lambda: health(port).get("waiting") == 0, server)
        refused = health(port)["refused"]
    finally:
        server.send_signal(signal.SIGTERM)
        ended = server.wait(START_SECONDS)
    assert ended == 0, f"the server ended with {ended} after SIGTERM"
    return int(refused)


def health(port: int) -> dict[str, int]:
    """What `/healthz` says; nothing while the server does not answer."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
    try:
        line.request("GET", "/healthz")
        said: dict[str, int] = json.loads(line.getresponse().read())
    except OSError:
        return {}
    finally:
        line.close()
    return said


def wait_until(so: Callable[[], bool], server: "subprocess.Popen[bytes]") -> None:
    """Wait for something the server does; an error when it has ended or does not do it."""
    deadline = time.monotonic() + START_SECONDS
    while not so():
        assert server.poll() is None, f"the server ended by itself with {server.returncode}; see server.log"
        assert time.monotonic() < deadline, "the server does nothing; see server.log"
        time.sleep(0.005)
