"""One HTTP/1.1 request and its answer over a connection of its own, as cheaply as asyncio can.

One supervisor asks a thousand services each half minute on one core, so no client library stands between: a protocol
class and the parser httptools. No redirects, no keep-alive, no proxy, no TLS: a service is asked on its own machine.
"""

import asyncio
import socket
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import httptools

from buildeye.deploy.address import Address

MOST_BODY: Final = 65_536
"""Bytes of a body that are read; what comes after does not matter."""
NONCE_HEADER: Final = "X-Build-Eye-Nonce"
_NONCE_NAME: Final = NONCE_HEADER.lower().encode()
_SWITCHING: Final = 101
_IP_BIND_ADDRESS_NO_PORT: Final = 24
_KEPT_IN_PATHS: Final = "%/:=&?~#+!$,;'@()*[]"


class NoAnswer(Exception):
    """The other side answered, but not as HTTP, or not to the end; the text says how."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the body up to 64 KiB, and the nonce its header carried, "" without."""

    status: int
    body: bytes
    nonce: str


async def exchange(address: Address, method: str, path: str, body: bytes = b"", kind: str = "") -> Answer:
    """Send one request and read the answer; the caller sets the deadline. `kind` is the body's content type.

    OSError: no connection. NoAnswer: no whole answer.
    """
    loop = asyncio.get_running_loop()
    request = _request(address, method, path, body, kind)

    def protocol() -> "_Exchange":
        return _Exchange(loop.create_future(), request)

    if address.path:
        transport, made = await loop.create_unix_connection(protocol, address.path)
    elif address.source:
        transport, made = await loop.create_connection(protocol, sock=await _from_source(address))
    else:
        transport, made = await loop.create_connection(protocol, address.host, address.port)
    try:
        return await made.answer
    finally:
        transport.abort()


async def _from_source(address: Address) -> socket.socket:
    """A connection from a source address; its port is chosen late, so that those of ended ones do not run out."""
    one = socket.socket(socket.AF_INET6 if ":" in address.source else socket.AF_INET, socket.SOCK_STREAM)
    try:
        one.setblocking(False)
        one.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        one.bind((address.source, 0))
        await asyncio.get_running_loop().sock_connect(one, (address.host, address.port))
    except BaseException:
        one.close()
        raise
    return one


def _request(address: Address, method: str, path: str, body: bytes, kind: str) -> bytes:
    head = f"{method} {quote(path, safe=_KEPT_IN_PATHS)} HTTP/1.1\r\nHost: {address.authority}\r\n"
    head += "User-Agent: build-eye\r\nAccept: */*\r\n"
    if kind:
        head += f"Content-Type: {kind}\r\n"
    if body or method not in {"GET", "HEAD"}:
        head += f"Content-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


class _Exchange(asyncio.Protocol):
    """One connection. The methods named on_ are called by the parser."""

    def __init__(self, answer: "asyncio.Future[Answer]", request: bytes) -> None:
        self.answer = answer
        self._request = request
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()
        self._nonce = ""
        self._sized = False
        self._begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.answer.done():
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._done(_SWITCHING)
        except httptools.HttpParserError as error:
            if not self.answer.done():
                self._failed(f"the answer is no HTTP/1.1 ({error})")

    def connection_lost(self, exc: Exception | None) -> None:
        if self.answer.done():
            return
        if exc is None and self._begun and not self._sized:  # a body that lasts until the connection ends
            self._done(self._parser.get_status_code())
        elif self._begun:
            self._failed("the connection was closed in the middle of the answer")
        else:
            self._failed("the connection was closed without an answer")

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower == _NONCE_NAME:
            self._nonce = value.decode("latin-1")
        elif lower in {b"content-length", b"transfer-encoding"}:
            self._sized = True

    def on_headers_complete(self) -> None:
        self._begun = self._parser.get_status_code() >= 200

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) >= MOST_BODY:
            self._done(self._parser.get_status_code())

    def on_message_complete(self) -> None:
        if self._begun:
            self._done(self._parser.get_status_code())

    def _done(self, status: int) -> None:
        if not self.answer.done():
            self.answer.set_result(Answer(status, bytes(self._body[:MOST_BODY]), self._nonce))

    def _failed(self, how: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(NoAnswer(how))
