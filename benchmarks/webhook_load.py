"""The load: signed events of simulated stories over keep-alive connections, at a fixed rate, whatever the answers do.

    python benchmarks/webhook_load.py PORT RATE SECONDS      (the secret is in BENCH_WEBHOOK_SECRET)

A delivery's time counts from the moment it was due, not from when it could be sent, so a door that stalls is charged
for all who wait. Prints one JSON object.
"""

import asyncio
import gc
import itertools
import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from buildeye.simulator import Past, build_past
from buildeye.simulator.webhooks import Sent, deliveries, story_events

SECRET_VARIABLE = "BENCH_WEBHOOK_SECRET"
CONNECTIONS = 64
STORY_END = datetime(2026, 5, 28, 6, 30, tzinfo=UTC)


def story(number: int) -> Past:
    """One of the stories that are sent; each is of a repository of its own."""
    return build_past(number, STORY_END, "bench", f"story-{number}")


def story_deliveries(count: int, secret: str) -> Iterator[Sent]:
    """So many deliveries, story after story."""
    stories = (deliveries(story_events(story(number)), secret, f"story-{number}") for number in itertools.count(1))
    return itertools.islice(itertools.chain.from_iterable(stories), count)


def _request(sent: Sent) -> bytes:
    headers = {"host": "127.0.0.1", **sent.headers, "content-length": str(len(sent.body))}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /webhooks/github HTTP/1.1\r\n{lines}\r\n".encode() + sent.body


class Line(asyncio.Protocol):
    """One connection: sends one delivery at a time and notes how long its answer took."""

    def __init__(self, idle: "deque[Line]", took: list[float], refused: list[str]) -> None:
        self._idle, self._took, self._refused = idle, took, refused
        self._due = 0.0
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ready to send."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._idle.append(self)

    def send(self, request: bytes, due: float) -> None:
        """Send one delivery, due at this time of the loop."""
        self._due = due
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        """The answer, or a part of it."""
        self._answer += data
        if not self._answer.endswith((b"\r\n\r\n", b"}")):
            return
        self._took.append(asyncio.get_running_loop().time() - self._due)
        if not self._answer.startswith(b"HTTP/1.1 202"):
            self._refused.append(self._answer[9:12].decode())
        self._answer = b""
        self._idle.append(self)


async def load(port: int, rate: int, made: list[bytes]) -> dict[str, float]:
    """Send all at `rate` a second; how many a second were answered, and the quantiles of the times in ms."""
    loop = asyncio.get_running_loop()
    idle: deque[Line] = deque()
    took: list[float] = []
    refused: list[str] = []
    for _ in range(CONNECTIONS):
        await loop.create_connection(lambda: Line(idle, took, refused), "127.0.0.1", port)
    begun = loop.time() + 0.1
    for number, request in enumerate(made):
        due = begun + number / rate
        while loop.time() < due or not idle:
            await asyncio.sleep(max(0.0, min(due - loop.time(), 0.001)) if idle else 0.0002)
        idle.popleft().send(request, due)
    while len(took) < len(made):
        await asyncio.sleep(0.001)
    seconds = loop.time() - begun
    took.sort()
    return {
        "sent": len(made),
        "accepted": len(made) - len(refused),
        "seconds": seconds,
        "p50_ms": took[len(took) // 2] * 1000,
        "p99_ms": took[int(len(took) * 0.99)] * 1000,
        "max_ms": took[-1] * 1000,
    }


def main() -> None:
    """Make the load before the time is taken, then send it."""
    port, rate, seconds = map(int, sys.argv[1:])
    made = [_request(sent) for sent in story_deliveries(rate * seconds, os.environ[SECRET_VARIABLE])]
    gc.disable()
    print(json.dumps(asyncio.run(load(port, rate, made))), flush=True)


if __name__ == "__main__":
    main()
