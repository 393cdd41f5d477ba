"""The drain: long requests run to the deadline, then they are cut and counted."""

import asyncio
import itertools
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from buildeye.deploy.address import Address
from buildeye.deploy.clock import Clock
from buildeye.deploy.routes.drain import Drained, drain
from tests.deploy.example import Held, connected, end, eventually, fetched, rest_of, service, start

LONG = b"GET /work?ms=60000 HTTP/1.1\r\nHost: example\r\n\r\n"
SHORT = b"GET /work?ms=700 HTTP/1.1\r\nHost: example\r\nConnection: close\r\n\r\n"


@contextmanager
def working(address: Address, request: bytes, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(address)) for _ in range(count)]
        for client in clients:
            client.sendall(request)
        yield clients


def drained(held: Held, ports: Sequence[int], seconds: float, speed: float = 1.0) -> Drained:
    return asyncio.run(drain(Clock(speed), held, ports, seconds))


def test_requests_that_outlast_the_drain_are_cut_at_its_deadline_and_counted() -> None:
    """Scenario 33."""
    with service() as (process, address), working(address, LONG, 3) as clients:
        held = Held(process.pid)
        eventually(lambda: held.connections([address.port]) == 3)
        result = drained(held, [address.port], 1.0)
        assert result.cut == 3
        assert result.waited >= 1.0
        for client in clients:
            with suppress(ConnectionResetError):
                assert rest_of(client) == b""
        eventually(lambda: held.connections([address.port]) == 0)
        assert b"200 OK" in fetched(address)  # the process is as it was


def test_requests_that_end_within_the_drain_are_answered_and_nothing_is_cut() -> None:
    """Scenario 33, the other half."""
    with service() as (process, address), working(address, SHORT, 3) as clients:
        held = Held(process.pid)
        eventually(lambda: held.connections([address.port]) == 3)
        assert drained(held, [address.port], 600.0).cut == 0
        assert [rest_of(client).endswith(b"done\n") for client in clients] == [True] * 3


def test_a_drain_lasts_so_many_seconds_of_its_clock() -> None:
    with service() as (process, address), working(address, LONG, 1):
        held = Held(process.pid)
        eventually(lambda: held.connections([address.port]) == 1)
        result = drained(held, [address.port], 60.0, speed=60.0)
        assert result.cut == 1
        assert result.waited >= 60.0


def test_only_connections_of_the_named_ports_are_cut() -> None:
    with service() as (process, address), working(address, LONG, 2):
        held = Held(process.pid)
        eventually(lambda: held.connections([address.port]) == 2)
        assert (held.connections([1]), held.cut([1])) == (0, 0)
        assert held.cut([1, address.port]) == 2


def test_a_signal_makes_clients_that_keep_their_connection_leave() -> None:
    with service() as (process, address), connected(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
        held = Held(process.pid)
        eventually(lambda: held.connections([address.port]) == 1)

        async def both() -> Drained:
            signalled = asyncio.Event()

            def tell() -> None:
                process.send_signal(signal.SIGUSR1)
                signalled.set()

            draining = asyncio.create_task(drain(Clock(), held, [address.port], 600.0, tell))
            await signalled.wait()
            await asyncio.to_thread(_ask_until_closed, client)
            return await draining

        assert asyncio.run(both()).cut == 0


def _ask_until_closed(client: socket.socket) -> None:
    answers = b""
    for _ in itertools.count():
        if b"connection: close" in answers:
            return
        with suppress(BrokenPipeError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
        part = client.recv(65536)
        if not part:
            return
        answers += part


def test_a_process_that_has_ended_has_no_connections() -> None:
    with service() as (process, address), working(address, LONG, 1):
        held = Held(process.pid)
        eventually(lambda: held.connections([address.port]) == 1)
        process.kill()
        process.wait()
        assert (held.connections([address.port]), held.cut([address.port])) == (0, 0)
        assert drained(held, [address.port], 600.0).cut == 0


def test_connections_of_a_unix_socket_are_counted_and_cut(tmp_path: Path) -> None:
    path = str(tmp_path / "app.sock")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(path)
        door.listen(8)
        process = start(door.fileno())
    try:
        with working(Address(path=path), LONG, 2) as clients:
            held = Held(process.pid, paths=[path])
            eventually(lambda: held.connections([]) == 2)
            assert held.cut([]) == 2
            assert [rest_of(client) for client in clients] == [b"", b""]
    finally:
        end(process)
