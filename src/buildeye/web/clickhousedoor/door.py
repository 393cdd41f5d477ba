"""The door as an ASGI application: who may ask, how many at once, and how an answer or an error goes out."""

import asyncio
import json
import logging
import secrets
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

from buildeye.ask.guard import Limits
from buildeye.warehouse.connection import DOOR
from buildeye.warehouse.readers import HANDLES, EngineError, Readers
from buildeye.web.clickhousedoor.answering import Answer, Told, gathered, statement_of
from buildeye.web.clickhousedoor.faults import (
    BAD_ARGUMENTS,
    BUG,
    NOT_IMPLEMENTED,
    TIMEOUT_EXCEEDED,
    TOO_MANY_QUERIES,
    DoorError,
)
from buildeye.web.clickhousedoor.handshake import NAME
from buildeye.web.clickhousedoor.request import MOST_BYTES, Asked, check_token, read_request, too_large

PATH: Final = DOOR
WAIT_SECONDS: Final = 10.0
"""How long a question waits for its turn."""
LATE_SECONDS: Final = 5.0
"""Seconds after its own limit after which a statement is ended from outside."""
SEND_SECONDS: Final = 60.0
"""How long a client may take for one piece of an answer."""
READ_SECONDS: Final = 30.0
_AGAIN_SECONDS: Final = 0.2

_LOG = logging.getLogger("buildeye.web")
_TYPES: Final = {
    "tabseparated": "text/tab-separated-values; charset=UTF-8",
    "csv": "text/csv; charset=UTF-8; header=absent",
    "csvwithnames": "text/csv; charset=UTF-8; header=present",
    "json": "application/json; charset=UTF-8",
    "jsoncompact": "application/json; charset=UTF-8",
    "jsoneachrow": "application/x-ndjson; charset=UTF-8",
    "jsoncompacteachrow": "application/x-ndjson; charset=UTF-8",
    "ndjson": "application/x-ndjson; charset=UTF-8",
}
_BINARY: Final = ("native", "rowbinary", "arrow", "parquet", "orc", "msgpack", "bson")
Value = TypeVar("Value")


class ClickHouseDoor:
    """ClickHouse's HTTP interface at `PATH`, for reading, over handles of the embedded engine.

    `token` must be brought by whoever asks; `limits` bound each question. `close` it when the server has ended.
    """

    def __init__(self, readers: Readers, token: str, limits: Limits) -> None:
        self._readers = readers
        self._token = token
        self._limits = limits
        self._version = readers.version()
        self._threads = ThreadPoolExecutor(HANDLES, thread_name_prefix="clickhouse")
        self._stoppers = ThreadPoolExecutor(1, thread_name_prefix="clickhouse stop")
        self._turns = asyncio.Semaphore(HANDLES)

    def close(self) -> None:
        """Wait for what still runs, a limit's time at most, and let the handles go."""
        self._threads.shutdown()
        self._stoppers.shutdown()
        self._readers.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["path"][len(PATH) :].rstrip("/")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope.get("query_string", b"")
        try:
            if path in ("/ping", "/replicas_status"):
                await _send_whole(send, 200, b"Ok.\n", {"content-type": "text/html; charset=UTF-8"})
                return
            if scope["method"] not in ("GET", "POST") or path:
                raise DoorError(BAD_ARGUMENTS, f"there is nothing at {scope['path']}: ask {PATH} by GET or POST", 404)
            check_token(headers, query, self._token)
            asked = read_request(headers, query, await _body(receive))
            if not asked.sql.strip() and scope["method"] == "GET":
                await _send_whole(send, 200, b"Ok.\n", {"content-type": "text/html; charset=UTF-8"})
                return
            async with self._turn():
                await self._answer(asked, receive, send)
        except DoorError as error:
            await _send_error(send, error, self._version)
        except _GoneError:
            pass
        except Exception as error:  # noqa: BLE001 - a traceback would be nobody's answer
            _LOG.error("a bug in build-eye: a question at the ClickHouse door failed: %r", error)
            await _send_error(send, DoorError(BUG, "a bug in Build-Eye: its log names it"), self._version)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        try:
            await asyncio.wait_for(self._turns.acquire(), WAIT_SECONDS)
        except TimeoutError:
            raise DoorError(
                TOO_MANY_QUERIES, f"{HANDLES} questions are being answered, and none ended in {WAIT_SECONDS:.0f} s"
            ) from None
        try:
            yield
        finally:
            self._turns.release()

    async def _answer(self, asked: Asked, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_disconnected(receive))
        answer = None
        try:
            allowed = await self._in_thread(statement_of, asked, self._limits)
            answer = Answer(self._readers, asked, allowed)
            first, is_last = await self._watched(answer, gone, answer.begin)
            headers = self._headers(asked, answer.shape)
            if allowed.warnings:
                headers["x-build-eye-warning"] = _ascii(" ".join(allowed.warnings))
            encoder = _Encoder(asked.encoding, headers)
            if is_last:
                await self._send_first(answer, send, headers, encoder, first)
            elif asked.waits_for_end:
                await self._send_gathered(answer, gone, send, headers, encoder, first)
            else:
                await self._send_stream(answer, gone, send, headers, encoder, first)
        finally:
            gone.cancel()
            if answer is not None:
                await self._in_thread(answer.close)

    async def _send_first(
        self, answer: Answer, send: Send, headers: dict[str, str], encoder: "_Encoder", first: bytes
    ) -> None:
        """An answer that is all there."""
        data = encoder.part(first) + encoder.end()
        await _send_whole(send, 200, data, headers | {"x-clickhouse-summary": _summary(answer.told)})

    async def _send_gathered(
        self, answer: Answer, gone: "asyncio.Task[None]", send: Send, headers: dict[str, str], encoder: "_Encoder",
        first: bytes,
    ) -> None:  # fmt: skip
        """The whole answer once its end is known, so that an error still has its status and the summary is right."""
        with await self._watched(answer, gone, lambda: gathered(answer, first)) as whole:
            await _start(send, 200, headers | {"x-clickhouse-summary": _summary(answer.told)})
            while data := whole.read(1024 * 1024):
                await _send_part(send, encoder.part(data))
        await _send_part(send, encoder.end(), more=False)

    async def _send_stream(
        self, answer: Answer, gone: "asyncio.Task[None]", send: Send, headers: dict[str, str], encoder: "_Encoder",
        first: bytes,
    ) -> None:  # fmt: skip
        """The answer while it comes; an error in the middle goes into the body, marked as ClickHouse marks it."""
        tag = secrets.token_hex(8)
        told = {"x-clickhouse-summary": _summary(Told()), "x-clickhouse-exception-tag": tag}
        await _start(send, 200, headers | told)
        data, is_last = first, False
        try:
            while not is_last:
                await _send_part(send, encoder.part(data))
                data, is_last = await self._watched(answer, gone, answer.step)
        except DoorError as error:
            data = _exception_block(tag, error.text(self._version))
        await _send_part(send, encoder.part(data) + encoder.end(), more=False)

    async def _watched(self, answer: Answer, gone: "asyncio.Task[None]", work: Callable[[], Value]) -> Value:
        """Do `work` in a thread; have the engine stop when nobody waits for it any more, or when it takes too long."""
        working = asyncio.get_running_loop().run_in_executor(self._threads, work)
        seconds = float(answer.allowed.settings.get("max_execution_time", self._limits.seconds)) + LATE_SECONDS
        either: set[asyncio.Future[Any]] = {working, gone}
        try:
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # the server ends
            with suppress(EngineError):
                answer.stop()
            raise
        if working.done() and not gone.done():
            return working.result()
        why: Exception = _GoneError() if gone.done() else DoorError(TIMEOUT_EXCEEDED, "it took too long, and was ended")
        while not working.done():
            with suppress(EngineError):
                await asyncio.get_running_loop().run_in_executor(self._stoppers, answer.stop)
            await asyncio.wait({working}, timeout=_AGAIN_SECONDS)
        if working.exception() is None and hasattr(result := working.result(), "close"):
            result.close()
        raise why

    async def _in_thread(self, work: Callable[..., Value], *given: Any) -> Value:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)

    def _headers(self, asked: Asked, shape: str) -> dict[str, str]:
        small = shape.lower()
        plain = "application/octet-stream" if small.startswith(_BINARY) else "text/plain; charset=UTF-8"
        return {
            "content-type": _TYPES.get(small, plain),
            "x-clickhouse-query-id": asked.query_id,
            "x-clickhouse-format": shape,
            "x-clickhouse-timezone": "UTC",
            "x-clickhouse-server-display-name": NAME,
        }


def elsewhere(place: str, token: str) -> ASGIApp:
    """The door of a server whose warehouse is a ClickHouse server: it says where that is to who brings the token."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            check_token(headers, scope.get("query_string", b""), token)
            raise DoorError(NOT_IMPLEMENTED, f"this warehouse is the ClickHouse server at {place}: ask that one")
        except DoorError as error:
            await _send_error(send, error, "0")

    return door


class _GoneError(Exception):
    """Who asked has gone."""


class _Encoder:
    """Compression of an answer, told in `headers`."""

    def __init__(self, encoding: str, headers: dict[str, str]) -> None:
        self._encoder: Any = None
        if encoding == "gzip":
            self._encoder = zlib.compressobj(1, wbits=31)
        elif encoding == "zstd":
            import zstandard

            self._encoder = zstandard.ZstdCompressor(1).compressobj()
        if encoding:
            headers["content-encoding"] = encoding

    def part(self, data: bytes) -> bytes:
        return data if self._encoder is None else self._encoder.compress(data)

    def end(self) -> bytes:
        return b"" if self._encoder is None else self._encoder.flush()


def _exception_block(tag: str, text: str) -> bytes:
    """An error after the first bytes of an answer have gone, as ClickHouse writes it since 25.11."""
    said = text.encode()
    return b"\r\n__exception__\r\n%b\r\n%b%d %b\r\n__exception__\r\n" % (tag.encode(), said, len(said), tag.encode())


def _summary(told: Told) -> str:
    counts = {
        "read_rows": told.read_rows, "read_bytes": told.read_bytes, "written_rows": 0, "written_bytes": 0,
        "total_rows_to_read": told.read_rows, "result_rows": told.rows, "result_bytes": told.size,
    }  # fmt: skip
    return json.dumps({name: str(value) for name, value in counts.items()}, separators=(",", ":"))


def _ascii(text: str) -> str:
    return " ".join(text.split()).encode("ascii", "replace").decode()[:2000]


async def _body(receive: Receive) -> bytes:
    parts, size, more = [], 0, True
    try:
        async with asyncio.timeout(READ_SECONDS):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _GoneError
                part, more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                if size > MOST_BYTES:
                    raise too_large()
                parts.append(part)
    except TimeoutError:
        raise DoorError(TIMEOUT_EXCEEDED, f"the body did not arrive within {READ_SECONDS:.0f} s") from None
    return b"".join(parts)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _start(send: Send, status: int, headers: Mapping[str, str]) -> None:
    told = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": told})


async def _send_part(send: Send, data: bytes, *, more: bool = True) -> None:
    if not data and more:
        return
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.body", "body": data, "more_body": more})
    except TimeoutError:
        raise _GoneError from None


async def _send_error(send: Send, error: DoorError, version: str) -> None:
    headers = {
        "content-type": "text/plain; charset=UTF-8",
        "x-clickhouse-exception-code": str(error.code),
        "x-clickhouse-server-display-name": NAME,
    }
    if error.status == 401:
        headers["www-authenticate"] = 'Basic realm="ClickHouse door of Build-Eye"'
    await _send_whole(send, error.status, error.text(version).encode(), headers)


async def _send_whole(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    await _start(send, status, headers | {"content-length": str(len(body))})
    await _send_part(send, body, more=False)
