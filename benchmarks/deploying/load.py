"""Cutover under load: how many requests are lost while versions are switched, on the socket route and on simpler ways.

    python -m benchmarks.deploying.load [REQUESTS]

A second process asks without a pause on 16 connections, either a fresh one for each request or kept ones. Meanwhile a
version is started, switched to, the one before drained; then back, and the other stopped. Prints one JSON object.
"""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from buildeye.deploy.address import Address
from buildeye.deploy.clock import Clock
from buildeye.deploy.probes import probe
from buildeye.deploy.processes import connections
from buildeye.deploy.routes.drain import drain
from buildeye.deploy.routes.ports import PortRoute

ROOT = Path(__file__).resolve().parents[2]
Process = subprocess.Popen[bytes]

PATIENCE = 60.0
REQUEST_SECONDS = 10.0
AFTER_FAILURE = 0.01
ROUNDS = 4
"""Cutovers, each followed by a rollback."""
SETTLED = 0.3
"""Seconds of load between two changes."""
MODES = ("fresh", "kept")


def measure(requests: int = 10_000, connections: int = 16) -> dict[str, object]:
    """Requests sent and lost on the socket route, by mode, and beside it on plain SO_REUSEPORT and on stop-then-start.

    Each way gets at least `requests` in each mode. `requests_lost` counts the socket route's, of both modes.
    """
    found: dict[str, object] = {}
    lost = 0
    for mode in MODES:
        told = _route(mode, requests, connections)
        found[f"route_{mode}"] = told
        lost += int(str(told["failed"]))
    for name, way in (("reuseport", _reuseport), ("stop_then_start", _stop_then_start)):
        found[name] = way("fresh", requests, connections)
    return {"requests_lost": lost, **found}


def _route(mode: str, requests: int, lines: int) -> dict[str, object]:
    """The engine's way: start in a free slot, health, switch, drain; rollback to the warm one, stop the other."""
    with tempfile.TemporaryDirectory() as folder:
        route = PortRoute("127.0.0.1", 0, Path(folder))
        route.open()
        old = _start(route.sockets_for(0)[0], "v1")
        try:
            _healthy(route.private(0))
            route.switch(0)
            cut = 0
            with load(route.public, mode, requests, lines) as finish:
                for _ in range(ROUNDS):
                    new = _start(route.sockets_for(1)[0], "v2")
                    try:
                        _healthy(route.private(1))
                        route.switch(1)
                        cut += _drained(old, route)
                        old.send_signal(signal.SIGUSR2)
                        _healthy(route.private(0))
                        route.switch(0)
                        cut += _drained(new, route)
                    finally:
                        _stop(new)
                told = finish()
            return {**told, "switches": 2 * ROUNDS, "cut": cut}
        finally:
            _stop(old)
            route.close()


def _drained(process: Process, route: PortRoute) -> int:
    time.sleep(SETTLED)
    port, held = route.public.port, Held(process.pid)
    return asyncio.run(drain(Clock(), held, [port], PATIENCE, lambda: process.send_signal(signal.SIGUSR1))).cut


class Held:
    """The connections of one process, as its keeper tells of them."""

    def __init__(self, pid: int) -> None:
        self._pids = [pid]

    def connections(self, ports: Sequence[int]) -> int:
        """How many there are."""
        return connections.count(self._pids, list(ports), [])

    def cut(self, ports: Sequence[int]) -> int:
        """End them; how many."""
        return connections.cut(self._pids, list(ports), [])[0]


def _reuseport(mode: str, requests: int, lines: int) -> dict[str, object]:
    """Each version binds the port for itself with SO_REUSEPORT: start the new one, stop the old one."""

    def follow(old: Process, port: int, version: str) -> Process:
        new = _alone(port, version, shared=True)
        while version.encode() not in _page(port):
            time.sleep(0.01)
        time.sleep(SETTLED)
        _stop(old)
        return new

    return _one_after_another(follow, mode, requests, lines)


def _stop_then_start(mode: str, requests: int, lines: int) -> dict[str, object]:
    """Stop the old version, start the new one."""

    def follow(old: Process, port: int, version: str) -> Process:
        _stop(old)
        new = _alone(port, version, shared=False)
        _healthy(Address("127.0.0.1", port))
        return new

    return _one_after_another(follow, mode, requests, lines)


def _one_after_another(
    follow: Callable[[Process, int, str], Process], mode: str, requests: int, lines: int
) -> dict[str, object]:
    with socket.socket() as unused:
        unused.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        unused.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        unused.bind(("127.0.0.1", 0))
        port = int(unused.getsockname()[1])
        running = _alone(port, "v0-", shared=True)
    try:
        _healthy(Address("127.0.0.1", port))
        with load(Address("127.0.0.1", port), mode, requests, lines) as finish:
            for number in range(2 * ROUNDS):
                time.sleep(SETTLED)
                running = follow(running, port, f"v{number + 1}-")
            return {**finish(), "switches": 2 * ROUNDS}
    finally:
        _stop(running)


def _alone(port: int, version: str, *, shared: bool) -> Process:
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
        door.bind(("127.0.0.1", port))
        if not shared:
            door.listen(2048)
        return _start(door.fileno(), version)  # one that shares the port listens when it is ready to serve


def _start(descriptor: int, version: str) -> Process:
    def hand_over() -> None:
        os.dup2(descriptor, 3)
        os.set_inheritable(3, True)

    return subprocess.Popen(
        [sys.executable, "-m", "buildeye.simulator.service", "--version", version],
        env=os.environ | {"LISTEN_FDS": "1", "PYTHONPATH": str(ROOT / "src")},
        preexec_fn=hand_over,
        close_fds=False,
        stderr=subprocess.DEVNULL,
    )


def _stop(process: Process) -> None:
    process.terminate()
    process.wait(PATIENCE)


def _healthy(address: Address) -> None:
    deadline = time.monotonic() + PATIENCE
    while not asyncio.run(probe(address, "/health", 5)).ok:
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing answers at {address}")
        time.sleep(0.02)


def _page(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: example\r\nConnection: close\r\n\r\n")
        return b"".join(iter(lambda: one.recv(65536), b""))


@contextlib.contextmanager
def load(address: Address, mode: str, requests: int, lines: int) -> Iterator[Callable[[], dict[str, object]]]:
    """The load in a process of its own; the callable ends it, once enough was sent, and gives what it counted."""
    command = [sys.executable, __file__, "--load", str(address.port), mode, str(requests), str(lines)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()

    def finish() -> dict[str, object]:
        said, _ = process.communicate(timeout=10 * PATIENCE)
        told = json.loads(said)
        assert isinstance(told, dict)
        return told

    try:
        yield finish
    finally:
        process.kill()
        process.wait()


class Asking:
    """The load: counts of answers by version, and of failures by kind."""

    def __init__(self, port: int, mode: str, requests: int) -> None:
        self._port = port
        self._kept = mode == "kept"
        self._requests = requests
        self.sent = 0
        self.failed: Counter[str] = Counter()
        self.served: Counter[str] = Counter()
        self.over = False

    async def line(self) -> None:
        """Ask on one connection after another, or on one kept as long as the service lets it be."""
        close = "" if self._kept else "Connection: close\r\n"
        request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{close}\r\n".encode()
        reader: asyncio.StreamReader | None = None
        writer: asyncio.StreamWriter | None = None
        while not self.over or self.sent < self._requests:
            self.sent += 1
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    if reader is None or writer is None:
                        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
                    writer.write(request)
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                    body = await reader.readexactly(length)
                if not head.startswith(b"HTTP/1.1 200"):
                    raise ValueError(head[:12].decode())
                self.served[body.rpartition(b"Version ")[2].partition(b"<")[0].decode()] += 1
                ends = b"connection: close" in head
            except (OSError, EOFError, ValueError) as error:
                self.failed[type(error).__name__] += 1
                ends = True
                await asyncio.sleep(AFTER_FAILURE)
            if ends and writer is not None:
                writer.close()
                reader = writer = None
        if writer is not None:
            writer.close()


async def _ask(port: int, mode: str, requests: int, lines: int) -> None:
    asking = Asking(port, mode, requests)
    begun = time.perf_counter()
    sys.stdout.write("ready\n")
    sys.stdout.flush()

    async def wait_for_end() -> None:
        await asyncio.to_thread(sys.stdin.buffer.read)
        asking.over = True

    await asyncio.gather(wait_for_end(), *(asking.line() for _ in range(lines)))
    seconds = time.perf_counter() - begun
    failed = asking.failed.total()
    told = {
        "sent": asking.sent,
        "failed": failed,
        "failed_percent": round(100 * failed / asking.sent, 3),
        "a_second": round(asking.sent / seconds),
        "kinds": dict(asking.failed),
        "served": dict(asking.served),
    }
    sys.stdout.write(json.dumps(told))


def main() -> None:
    """The measurement, or its second process."""
    if sys.argv[1:2] == ["--load"]:
        port, mode, requests, lines = sys.argv[2:]
        asyncio.run(_ask(int(port), mode, int(requests), int(lines)))
    else:
        print(json.dumps(measure(*map(int, sys.argv[1:2])), indent=1))


if __name__ == "__main__":
    main()
