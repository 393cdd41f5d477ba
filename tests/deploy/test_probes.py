"""Probes: what counts as well, what as failed, and what as a check that could not be made."""

import asyncio
import os
import resource
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from buildeye.deploy.address import Address
from buildeye.deploy.probes import ProbeResult, probe, run_canary_request, run_command
from tests.deploy.example import PATIENCE

Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
SHORT = 0.3


def probed(
    answer: bytes | Answering,
    asking: Callable[[Address], Awaitable[ProbeResult]] | None = None,
    path: str = "",
) -> ProbeResult:
    """What a probe says of a server that answers so, on a port or a unix socket."""

    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            if callable(answer):
                await answer(reader, writer)
            else:
                writer.write(answer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def both() -> ProbeResult:
        if path:
            server = await asyncio.start_unix_server(answering, path)
            address = Address(path=path)
        else:
            server = await asyncio.start_server(answering, "127.0.0.1", 0)
            address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        async with server:
            return await (asking(address) if asking else probe(address, "/health", PATIENCE, "right"))

    return asyncio.run(both())


@pytest.mark.parametrize(
    ("answer", "ok", "status", "says"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", True, 200, ""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True, 204, ""),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", True, 200, ""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True, 200, ""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", True, 200, ""),
        (b"HTTP/1.1 301 Moved\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", False, 301, "a redirect"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", False, 304, "a redirect"),
        (b"HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n", False, 503, "answered 503; 2xx is asked for"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", False, 404, "answered 404"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", False, 101, "answered 101"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", False, 0, "no HTTP/1.1"),
        (b"", False, 0, "closed without an answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", False, 0, "in the middle of the answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", False, 0, "in the middle of the answer"),
        (b"HTTP/1.1 200 OK\r\nX-Build-Eye-Nonce: right\r\nContent-Length: 0\r\n\r\n", True, 200, ""),
        (b"HTTP/1.1 200 OK\r\nx-build-eye-nonce: wrong\r\nContent-Length: 0\r\n\r\n", False, 200, "another process"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{"nonce":"right"}', True, 200, ""),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{"nonce":"wrong"}', False, 200, "another process"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"nonce":', True, 200, ""),
    ],
)
def test_what_an_answer_counts_as(answer: bytes, ok: bool, status: int, says: str) -> None:
    """Scenario 32: 301 fails, 204 is well. Scenario 30: a nonce that is not ours fails."""
    result = probed(answer)
    assert (result.ok, result.status, result.error) == (ok, status, False)
    assert says in result.detail
    assert bool(says) is not ok


def test_a_unix_socket_is_asked_like_a_port(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-Build-Eye-Nonce: right\r\nContent-Length: 0\r\n\r\n"
    result = probed(answer, path=str(tmp_path / "app.sock"))
    assert (result.ok, result.nonce) == (True, "right")


def _trickle(head: bytes, part: bytes) -> Answering:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(SHORT / 10)

    return answer


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Slow: 1\r\n"),
        (b"", b""),
    ],
    ids=["slow body", "slow headers", "no answer"],
)
def test_one_deadline_holds_for_the_whole_exchange(head: bytes, part: bytes) -> None:
    """Scenario 32: a slow body past the deadline fails, however steadily it drips."""
    result = probed(_trickle(head, part), lambda address: probe(address, "/", SHORT))
    assert (result.ok, result.error, result.status) == (False, False, 0)
    assert result.detail == f"no whole answer within {SHORT:g} s"
    assert result.seconds >= SHORT * 0.9


def test_a_full_queue_fails_at_the_deadline() -> None:
    with socket.socket() as door, socket.socket() as first, socket.socket() as second:
        door.bind(("127.0.0.1", 0))
        door.listen(0)
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(door.getsockname())
        result = asyncio.run(probe(Address(*door.getsockname()), "/", SHORT))
    assert (result.ok, result.error) == (False, False)
    assert "within" in result.detail


def test_an_endless_body_is_read_no_further_than_64_kib() -> None:
    result = probed(_trickle(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 40_000))
    assert result.ok


def test_the_request_names_the_host_and_closes_its_connection() -> None:
    seen: list[bytes] = []

    async def serve() -> int:
        async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            writer.close()

        async with await asyncio.start_server(answering, "127.0.0.1", 0) as server:
            port = int(server.sockets[0].getsockname()[1])
            assert (await probe(Address("127.0.0.1", port), "/health?deep=1", PATIENCE)).ok
            return port

    port = asyncio.run(serve())
    head = seen[0].decode().split("\r\n")
    assert head[0] == "GET /health?deep=1 HTTP/1.1"
    assert {f"Host: 127.0.0.1:{port}", "Connection: close"} <= set(head)


def test_a_refused_connection_fails() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = asyncio.run(probe(Address(*unused.getsockname()), "/", PATIENCE))
    assert (result.ok, result.error) == (False, False)
    assert "connection refused" in result.detail


def test_a_socket_file_that_is_not_there_fails(tmp_path: Path) -> None:
    result = asyncio.run(probe(Address(path=str(tmp_path / "none.sock")), "/", PATIENCE))
    assert (result.ok, result.error) == (False, False)
    assert "ENOENT" in result.detail


def test_a_name_that_cannot_be_resolved_is_an_error_of_the_check() -> None:
    result = asyncio.run(probe(Address("no-such-host.invalid", 80), "/", PATIENCE))
    assert (result.ok, result.error) == (False, True)
    assert "cannot be resolved" in result.detail


def test_no_descriptors_left_is_an_error_of_the_check() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def ask() -> ProbeResult:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))
        try:
            return await probe(Address("127.0.0.1", 9), "/", PATIENCE)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    highest = 3  # below what is open already, so that the next one cannot be had
    result = asyncio.run(ask())
    assert (result.ok, result.error) == (False, True)
    assert "file descriptors" in result.detail


def test_a_canary_posts_its_task() -> None:
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readexactly(10))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    result = probed(answer, lambda address: run_canary_request(address, "/canary", PATIENCE, body='{"task":1}'))
    assert result.ok
    assert seen == [b'{"task":1}']


def test_a_failed_canary_tells_the_last_line_of_the_answer_without_secrets() -> None:
    body = b"trouble\nthe result is wrong, password=hunter2secret\n\n"
    answer = b"HTTP/1.1 500 No\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    result = probed(answer, lambda address: run_canary_request(address, "/canary", PATIENCE))
    assert (result.ok, result.status) == (False, 500)
    assert result.detail.startswith("answered 500; 2xx is asked for: the result is wrong")
    assert "hunter2secret" not in result.detail


@pytest.mark.parametrize(
    ("script", "ok", "error", "says"),
    [
        ("print('one'); print('all well')", True, False, "all well"),
        ("import sys; print('bad result', file=sys.stderr); sys.exit(3)", False, False, "ended with 3: bad result"),
        ("import os; os.kill(os.getpid(), 11)", False, False, "was ended by SIGSEGV: it said nothing"),
        ("print('password=hunter2secret'); raise SystemExit(1)", False, False, "password=***"),
        ("import os; print(os.environ['WHERE'])", True, False, "here"),
        ("print('x' * 1_000_000); print('end')", True, False, "end"),
    ],
)
def test_a_canary_command_is_judged_by_its_exit_code(script: str, ok: bool, error: bool, says: str) -> None:
    command = [sys.executable, "-c", script]
    result = asyncio.run(run_command(command, PATIENCE, environment={"WHERE": "here"}))
    assert (result.ok, result.error) == (ok, error)
    assert says in result.detail


def test_a_canary_command_that_is_not_there_is_an_error_of_the_check() -> None:
    result = asyncio.run(run_command(["no-such-program"], PATIENCE))
    assert (result.ok, result.error) == (False, True)
    assert "no-such-program cannot be started" in result.detail


def test_a_canary_command_is_killed_with_its_children_at_the_deadline(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/child; wait"
    result = asyncio.run(run_command(["sh", "-c", script], 1.0))
    assert (result.ok, result.error) == (False, False)
    assert "did not end within 1 s and was killed" in result.detail
    assert _gone(int((tmp_path / "child").read_text()))


def test_a_canary_command_whose_child_lives_on_is_judged_when_it_ends_itself(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/child; echo done"
    result = asyncio.run(run_command(["sh", "-c", script], PATIENCE))
    os.kill(int((tmp_path / "child").read_text()), 9)
    assert (result.ok, result.detail) == (True, "done")


def _gone(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
    return False
