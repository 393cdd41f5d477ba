"""The door in front of the endpoints: tokens, permissions, rate limit, conditional requests, and faults to order."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate

from starlette.middleware.base import RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from buildeye.simulator.answers import error_answer, json_answer
from buildeye.simulator.endpoints import STORE
from buildeye.simulator.faults import Cut, Fault, Faults
from buildeye.simulator.statuspage import PAGE

WINDOW = 3600
"""Seconds after which the rate limit starts anew."""

FREE = frozenset((304, 401))
"""Statuses that cost no rate limit."""


@dataclass(slots=True)
class Ledger:
    """What the app has been asked: every request in order, and how much of the rate limit is used.

    `writes` are those that would change something, as `POST /path`, refused and faulty ones included.
    `tokens` are the credentials seen, for tests that look whether one leaks; no answer ever contains one.
    """

    paths: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    used: int = 0
    started: int = 0

    @property
    def requests(self) -> int:
        """How many requests have come, stored files and faults included."""
        return len(self.paths)


class CutResponse(Response):
    """An answer whose connection ends in the middle of its body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Promises the whole body (4096 bytes at least), sends the first half, and ends."""
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        headers.append((b"content-length", str(max(4096, len(self.body))).encode()))
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body[: len(self.body) // 2], "more_body": True})


@dataclass(slots=True)
class Gate:
    """Decides on each request before the endpoints see it. `token` None lets everybody in; `clock` gives Unix time."""

    token: str | None
    faults: Faults
    limit: int
    clock: Callable[[], float]
    ledger: Ledger

    async def __call__(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """The answer to one request."""
        self.ledger.paths.append(request.url.path)
        if request.method not in ("GET", "HEAD"):
            self.ledger.writes.append(f"{request.method} {request.url.path}")
        request.state.number = self.ledger.requests
        fault = self.faults.of_request(self.ledger.requests)
        if fault is not None and fault.status:
            return self._refused(fault)
        answer = await self._answer(request, call_next)
        return answer if fault is None else await _cut(answer, fault.cut)

    async def _answer(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        if request.url.path.startswith(f"{STORE}/"):
            return await call_next(request)
        if request.url.path.startswith(f"{PAGE}/"):
            return _unless_known(request, await call_next(request))
        self._turn_the_hour()
        answer = self._refuse(request)
        if answer is None and request.url.path == "/rate_limit":
            return self._marked(json_answer(self._overview()))
        if answer is None and self.ledger.used >= self.limit:
            return self._marked(error_answer(403, "API rate limit exceeded for this token."))
        if answer is None:
            answer = _unless_known(request, await call_next(request))
        if answer.status_code not in FREE:
            self.ledger.used += 1
        return self._marked(answer)

    def _refuse(self, request: Request) -> Response | None:
        given = request.headers.get("authorization", "").partition(" ")[2].strip()
        if given:
            self.ledger.tokens.add(given)
        if self.token is not None and not hmac.compare_digest(given.encode(), self.token.encode()):
            return error_answer(401, "Bad credentials" if given else "Requires authentication")
        area = request.url.path.split("/")[4:5]
        if area and area[0] in self.faults.denied:
            return error_answer(403, "Resource not accessible by personal access token")
        return None

    def _refused(self, fault: Fault) -> Response:
        wait = {} if fault.retry_after is None else {"retry-after": str(fault.retry_after)}
        return self._marked(error_answer(fault.status, fault.message, wait))

    def _turn_the_hour(self) -> None:
        now = int(self.clock())
        if now >= self.ledger.started + WINDOW:
            self.ledger.started, self.ledger.used = now, 0

    def _numbers(self) -> dict[str, int]:
        used = self.ledger.used
        reset = self.ledger.started + WINDOW
        return {"limit": self.limit, "remaining": max(0, self.limit - used), "used": used, "reset": reset}

    def _overview(self) -> object:
        search = {"limit": 30, "remaining": 30, "used": 0, "reset": self.ledger.started + 60}
        return {"resources": {"core": self._numbers(), "search": search}, "rate": self._numbers()}

    def _marked(self, answer: Response) -> Response:
        """The answer with the headers every answer of the API has."""
        for name, value in self._numbers().items():
            answer.headers[f"x-ratelimit-{name}"] = str(value)
        answer.headers["x-ratelimit-resource"] = "core"
        answer.headers["x-github-request-id"] = f"51M0:{self.ledger.requests:08X}"
        answer.headers["server"] = "github.com"
        answer.headers["date"] = formatdate(self.clock(), usegmt=True)
        answer.headers["x-github-media-type"] = "github.v3; format=json"
        answer.headers["x-github-api-version-selected"] = "2022-11-28"
        return answer


async def _cut(answer: Response, how: Cut) -> Response:
    """The first half of an answer; one without a body comes whole, as does plain text that would say it is."""
    body = (
        b"".join([chunk async for chunk in answer.body_iterator]) if hasattr(answer, "body_iterator") else answer.body
    )
    kept = {name: value for name, value in answer.headers.items() if name != "content-length"}
    if not body or (how is Cut.BODY and "json" not in answer.headers.get("content-type", "")):
        return Response(bytes(body), answer.status_code, kept)
    if how is Cut.CONNECTION:
        return CutResponse(bytes(body), answer.status_code, kept)
    return Response(bytes(body)[: len(body) // 2], answer.status_code, kept)


def _unless_known(request: Request, answer: Response) -> Response:
    """A 304 when the client already has this very answer."""
    tag, known = answer.headers.get("etag"), request.headers.get("if-none-match")
    if tag is None or known is None:
        return answer
    mine = tag.removeprefix("W/")
    if known.strip() != "*" and mine not in [one.strip().removeprefix("W/") for one in known.split(",")]:
        return answer
    kept = {name: answer.headers[name] for name in ("etag", "cache-control", "link") if name in answer.headers}
    return Response(status_code=304, headers=kept)
