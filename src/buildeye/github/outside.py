"""One question to a server beside GitHub's interface: asked again when that may help, and never read forever."""

import time
from collections.abc import Callable
from typing import TypeVar

import httpx2
import stamina

Answer = TypeVar("Answer")


class AwayError(Exception):
    """A 5xx: what stands there says that the server is away."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class TooLargeError(Exception):
    """An answer with more bytes than anybody wants."""


def patiently(ask: Callable[[], Answer], tries: int, pause: float) -> Answer:
    """What `ask` gives, asked up to `tries` times, the second time after some `pause` seconds.

    A server that let its time pass is not asked again. Raises what the last try raised.
    """
    for attempt in stamina.retry_context(
        on=_may_pass, attempts=tries, timeout=None, wait_initial=pause, wait_jitter=pause
    ):
        with attempt:
            return ask()
    raise AssertionError("stamina ends by returning or raising")


def body_of(response: httpx2.Response, most_bytes: int, seconds: float) -> bytes:
    """The body of an answer that is being streamed. TooLargeError; ReadTimeout when it does not end in time."""
    body, ends = bytearray(), time.monotonic() + seconds
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > most_bytes:
            raise TooLargeError
        if time.monotonic() > ends:
            raise httpx2.ReadTimeout("the answer does not end")
    return bytes(body)


def _may_pass(error: Exception) -> bool:
    if isinstance(error, httpx2.TimeoutException | httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return False
    return isinstance(error, httpx2.TransportError | httpx2.DecodingError | AwayError)
