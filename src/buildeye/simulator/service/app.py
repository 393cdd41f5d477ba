"""The pages of the example service, as a bare ASGI application: it must start at once.

/            a page that says which version answers
/health      200 and the nonce it was started with; 503 while it is ill
/canary      POST a task: 200, or 500 when the version does its work badly
/task        POST: take a task in and judge it
/tasks       the judged tasks as JSON: {"tasks": [{"id", "entered_at", "approved", "deployment"}]}; ?since=ISO
/work?ms=N   an answer that takes so long
"""

import asyncio
import html
import json
from collections.abc import Awaitable, Callable, MutableMapping
from random import Random
from typing import Any, Final
from urllib.parse import parse_qs

from buildeye.simulator.service.behaviour import Behaviour, Life
from buildeye.simulator.service.tasks import Tasks

NONCE_HEADER: Final = b"x-build-eye-nonce"
_MOST_WORK_MS: Final = 600_000.0
_TEXT, _PAGE, _JSON = b"text/plain; charset=utf-8", b"text/html; charset=utf-8", b"application/json"

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
Reply = tuple[int, bytes, bytes]


class Service:
    """The application. While `draining` each answer closes its connection, so that clients come in anew."""

    def __init__(self, version: str, nonce: str, life: Life, tasks: Tasks | None, seed: int = 7) -> None:
        self.version = version
        self.draining = False
        self._nonce = nonce
        self._life = life
        self._tasks = tasks
        self._chance = Random(seed)  # noqa: S311 -- no secret

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Its life begins with the loop it runs in."""
        self._life.begin(loop)

    async def __call__(self, scope: MutableMapping[str, Any], receive: _Receive, send: _Send) -> None:
        """ASGI's entry."""
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        if self._life.has(Behaviour.SLOW):
            await asyncio.sleep(self._life.fate.delay)
        status, kind, body = await self._reply(scope["method"], scope["path"], scope["query_string"].decode("latin-1"))
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        if scope["path"] == "/health" and self._nonce:
            headers.append((NONCE_HEADER, self._nonce.encode()))
        if self.draining:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body if scope["method"] != "HEAD" else b""})

    async def _reply(self, method: str, path: str, query: str) -> Reply:
        match method, path:
            case "GET" | "HEAD", "/":
                return 200, _PAGE, _page(self.version)
            case "GET" | "HEAD", "/health":
                return self._health()
            case "POST", "/canary":
                return self._canary()
            case "POST", "/task" if self._tasks is not None:
                return 200, _JSON, json.dumps(await asyncio.to_thread(self._tasks.judge, self._life.approved)).encode()
            case "GET", "/tasks":
                return await self._told(query)
            case "GET", "/work":
                return await _work(query)
            case _, "/" | "/health" | "/canary" | "/task" | "/tasks" | "/work":
                return 405, _TEXT, b"this method is not for this page\n"
            case _:
                return 404, _TEXT, b"there is no such page\n"

    def _health(self) -> Reply:
        ill = self._life.ill
        says = {"status": "ill" if ill else "ok", "version": self.version, "nonce": self._nonce}
        return 503 if ill else 200, _JSON, json.dumps(says).encode()

    def _canary(self) -> Reply:
        degraded = self._life.has(Behaviour.DEGRADE)
        if degraded and self._chance.random() < self._life.fate.canary_failures:
            return 500, _TEXT, b"the task was done, and its result is wrong\n"
        return 200, _JSON, json.dumps({"ok": True, "version": self.version}).encode()

    async def _told(self, query: str) -> Reply:
        since = parse_qs(query).get("since", [""])[0]
        tasks = await asyncio.to_thread(self._tasks.told, since) if self._tasks is not None else []
        return 200, _JSON, json.dumps({"tasks": tasks}).encode()


async def _work(query: str) -> Reply:
    try:
        wanted = float(parse_qs(query).get("ms", ["0"])[0])
    except ValueError:
        return 400, _TEXT, b"ms is a number of milliseconds\n"
    await asyncio.sleep(min(max(wanted, 0.0), _MOST_WORK_MS) / 1000)
    return 200, _TEXT, b"done\n"


def _page(version: str) -> bytes:
    name = html.escape(version)
    return f"<!doctype html><title>Example {name}</title><h1>Example service</h1><p>Version {name}</p>\n".encode()
