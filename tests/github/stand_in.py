"""A server on 127.0.0.1 that answers as GitHub's documentation says, one handler function a test."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """What to answer; with `cut_after` the connection breaks after so many bytes of the body."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None

    def with_headers(self, headers: dict[str, str]) -> "Reply":
        """The same answer with more headers."""
        return replace(self, headers=self.headers | headers)


def as_json(data: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON answer; header names are given with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(data).encode(), {"content-type": "application/json"} | named)


@dataclass
class StandIn:
    """A running server: its address and the calls it got, in their order."""

    url: str
    calls: list[Call]


@contextmanager
def serving(answer: Callable[[Call], Reply]) -> Iterator[StandIn]:
    """Run a server that answers each call with `answer`."""
    calls: list[Call] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536  # headers and body leave together, else each answer takes 40 ms

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            call = Call(parts.path, dict(parse_qsl(parts.query)), {k.lower(): v for k, v in self.headers.items()})
            calls.append(call)
            reply = answer(call)
            self.send_response_only(reply.status)  # without the date of this machine, which is not the test's
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.status != 304:
                self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body[: reply.cut_after])
            self.wfile.flush()
            if reply.cut_after is not None:
                self.close_connection = True

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield StandIn(f"http://127.0.0.1:{server.server_address[1]}", calls)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
