"""Processes of the example service for tests: started on a listening socket, and ended whatever happens."""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from buildeye.deploy.address import Address
from buildeye.deploy.probes import ProbeResult, probe
from buildeye.deploy.processes import connections

PATIENCE = 30.0


def start(descriptor: int, *options: str, nonce: str = "", **environment: str) -> "subprocess.Popen[bytes]":
    """Start the service with this descriptor as its socket, leader of a process group of its own."""

    def hand_over() -> None:
        os.dup2(descriptor, 3)
        os.set_inheritable(3, True)

    return subprocess.Popen(
        [sys.executable, "-m", "buildeye.simulator.service", *options],
        env=os.environ | {"LISTEN_FDS": "1", "BUILD_EYE_NONCE": nonce} | environment,
        preexec_fn=hand_over,
        close_fds=False,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end(process: "subprocess.Popen[bytes]") -> None:
    """Kill it if it is there still."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait(PATIENCE)


@contextlib.contextmanager
def service(*options: str, nonce: str = "", **environment: str) -> "Iterator[tuple[subprocess.Popen[bytes], Address]]":
    """The service on a free port, ready to answer."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(64)
        process = start(door.fileno(), *options, nonce=nonce, **environment)
        address = Address("127.0.0.1", door.getsockname()[1])
    try:
        eventually(lambda: asked(address, "/").ok)
        yield process, address
    finally:
        end(process)


def asked(address: Address, path: str = "/health", timeout: float = 10, nonce: str | None = None) -> ProbeResult:
    """One probe."""
    return asyncio.run(probe(address, path, timeout, nonce))


def eventually(true: Callable[[], object]) -> None:
    """Wait until it is, and fail when it never is."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)


def fetched(address: Address, path: str = "/", request: bytes = b"") -> bytes:
    """The whole answer to a raw request on a fresh connection."""
    with connected(address) as one:
        one.sendall(request or f"GET {path} HTTP/1.1\r\nHost: example\r\nConnection: close\r\n\r\n".encode())
        return rest_of(one)


def connected(address: Address) -> socket.socket:
    """A connection; close it."""
    if address.path:
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(PATIENCE)
        one.connect(address.path)
        return one
    return socket.create_connection((address.host, address.port), PATIENCE, (address.source, 0))


def rest_of(one: socket.socket) -> bytes:
    """What comes until the other side closes."""
    parts = []
    while part := one.recv(65536):
        parts.append(part)
    return b"".join(parts)


class Held:
    """The connections of some processes, as a keeper would tell of them."""

    def __init__(self, *pids: int, paths: Sequence[str] = ()) -> None:
        self._pids, self._paths = list(pids), list(paths)

    def connections(self, ports: Sequence[int]) -> int:
        """How many there are."""
        return connections.count(self._pids, list(ports), self._paths)

    def cut(self, ports: Sequence[int]) -> int:
        """End them; how many."""
        done, refused = connections.cut(self._pids, list(ports), self._paths)
        assert not refused
        return done


def stop(process: "subprocess.Popen[bytes]") -> int:
    """End it as a supervisor would; its exit code."""
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE)
