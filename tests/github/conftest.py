"""A clock that only moves when the client waits, and clients that talk to a stand-in server."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from buildeye.github import GitHub
from buildeye.github.wire import Backoff

from .stand_in import Call, Reply, StandIn, serving

NOW = datetime(2026, 5, 28, 12, 0, tzinfo=UTC)
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one for all tests: loading certificates takes longer than a test
TOKEN = "ghp_" + "x" * 36


class Time:
    """A clock to read and to wait by; `waits` are the seconds waited."""

    def __init__(self) -> None:
        self.now = NOW
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += timedelta(seconds=seconds)

    def clock(self) -> datetime:
        return self.now


Start = Callable[..., tuple[GitHub, StandIn]]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def start(time: Time) -> Iterator[Start]:
    """Start a server that answers as told, and a client for it that waits by the test's clock."""
    with ExitStack() as stack:

        def begin(answer: Callable[[Call], Reply], path: str = "", **options: Any) -> tuple[GitHub, StandIn]:
            server = stack.enter_context(serving(answer))
            given: dict[str, Any] = {"token": TOKEN, "cache_dir": None, "retries": 2, "timeout": 5.0}
            given |= {"transport": httpx2.HTTPTransport(verify=NO_TLS)} | options
            client = GitHub(
                server.url + path, backoff=Backoff(0.0, 0.0, 0.0), sleep=time.sleep, clock=time.clock, **given
            )
            return stack.enter_context(client), server

        yield begin
