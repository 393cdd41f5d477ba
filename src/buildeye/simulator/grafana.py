"""A Grafana look-alike before a real ClickHouse and a real Prometheus, and the door of a HUD that hands out its tokens.

It answers `/api/health`, `/api/datasources`, the older and the newer path of queries, and resources of the Prometheus
data source, in Grafana's shapes. What goes wrong in real life is switched on with `Faults`, also while it runs.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from buildeye.simulator.grafana_sources import ClickHouse, Prometheus, Result

SQL_UID: Final = "grafana-clickhouse"
PROMETHEUS_UID: Final = "grafanacloud-prom"
_SOURCES: Final = (
    {"id": 1, "uid": SQL_UID, "name": "grafana-clickhouse", "type": "grafana-clickhouse-datasource"},
    {"id": 2, "uid": PROMETHEUS_UID, "name": "grafanacloud-pytorchci-prom", "type": "prometheus", "isDefault": True},
    {"id": 3, "uid": "grafanacloud-logs", "name": "grafanacloud-pytorchci-logs", "type": "loki"},
)
_NOT_FOUND: Final = {"message": "Data source not found", "messageId": "datasource.notFound", "statusCode": 404}


@dataclass(slots=True)
class Faults:
    """What goes wrong; may be changed while the app runs."""

    newer_path_absent: bool = False
    expired: bool = False
    error: str = ""
    """What every query answers instead, inside an answer of status 200."""
    status: int = 500
    """The status that stands beside `error`."""
    no_frames: bool = False
    empty_frame: bool = False
    away: bool = False
    """The server is there and answers 503 to everything."""


@dataclass(slots=True)
class State:
    """What the app knows: good tokens, what it was asked, and what the HUD thinks of GitHub's tokens."""

    tokens: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    """Methods and paths, oldest first."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """What was posted as a query, oldest first."""
    writers: set[str] = field(default_factory=set)
    """GitHub tokens of people who may write to the repository; the HUD gives them a token."""
    readers: set[str] = field(default_factory=set)
    """GitHub tokens of people who may not."""
    bot: str = ""
    """What the header `x-hud-internal-bot` must say; empty: the HUD lets everybody pass."""
    server: str = ""
    """The Grafana that the HUD says its tokens are for; empty: this one."""
    names: list[str] = field(default_factory=list)
    """The names that tokens were asked for."""


def grafana_app(
    *,
    clickhouse: str = "",
    user: str = "default",
    password: str = "",
    prometheus: str = "",
    namespace: str = "default",
    faults: Faults | None = None,
    state: State | None = None,
) -> Starlette:
    """An app that is a Grafana below its address, and a HUD at `/api/gcx-token`.

    `clickhouse` and `prometheus` are addresses of servers that queries are sent on to; without one its data source
    fails as one does whose server is down. `app.state.grafana` is the `State`, `app.state.faults` the `Faults`.
    """
    grafana = _Grafana(
        ClickHouse(clickhouse, user, password), Prometheus(prometheus), namespace, faults or Faults(), state or State()
    )
    app = Starlette(
        routes=[
            Route("/api/health", grafana.health),
            Route("/bootdata", grafana.bootdata),
            Route("/api/datasources", grafana.datasources),
            Route("/api/datasources/uid/{uid}/resources/{path:path}", grafana.resources),
            Route("/api/ds/query", grafana.older_query, methods=["POST"]),
            Route(
                "/apis/query.grafana.app/v0alpha1/namespaces/{namespace}/query", grafana.newer_query, methods=["POST"]
            ),
            Route("/api/gcx-token", grafana.hud_token),
        ]
    )
    app.state.grafana, app.state.faults = grafana.state, grafana.faults
    return app


class _Grafana:
    def __init__(
        self, clickhouse: ClickHouse, prometheus: Prometheus, namespace: str, faults: Faults, state: State
    ) -> None:
        self._clickhouse, self._prometheus, self._namespace = clickhouse, prometheus, namespace
        self.faults, self.state = faults, state

    def health(self, request: Request) -> Response:
        """Answered to anybody, token or none."""
        self.state.asked.append(f"GET {request.url.path}")
        if self.faults.away:
            return _away()
        return JSONResponse({"commit": "simulated", "database": "ok", "version": "12.1.0"})

    def bootdata(self, request: Request) -> Response:
        """What a page of Grafana needs to begin; here only the name of the organisation."""
        self.state.asked.append(f"GET {request.url.path}")
        return JSONResponse({"settings": {"namespace": self._namespace}})

    def datasources(self, request: Request) -> Response:
        """The list of data sources."""
        return self._refused(request) or JSONResponse([{**each, "access": "proxy", "url": ""} for each in _SOURCES])

    def resources(self, request: Request) -> Response:
        """What the plugin of a data source hands through; here what Prometheus says of labels."""
        if refused := self._refused(request):
            return refused
        if request.path_params["uid"] != PROMETHEUS_UID:
            return JSONResponse(_NOT_FOUND, 404)
        status, body = self._prometheus.resource(request.path_params["path"], request.url.query)
        return Response(body, status, media_type="application/json")

    async def older_query(self, request: Request) -> Response:
        """The path of queries that every Grafana has. A failed query makes the whole answer one of status 400."""
        return self._refused(request) or await self._answered(request, 400)

    async def newer_query(self, request: Request) -> Response:
        """The path of newer Grafana; a failed query sits inside an answer of status 200."""
        if refused := self._refused(request):
            return refused
        if self.faults.newer_path_absent:
            return PlainTextResponse("404 page not found\n", 404)
        if request.path_params["namespace"] != self._namespace:
            return JSONResponse(
                {"kind": "Status", "status": "Failure", "message": "forbidden namespace", "code": 403}, 403
            )
        return await self._answered(request, 200)

    def hud_token(self, request: Request) -> Response:
        """A new token for Grafana, given to who may write to the repository."""
        state = self.state
        state.asked.append(f"GET {request.url.path}")
        if state.bot and request.headers.get("x-hud-internal-bot") != state.bot:
            return PlainTextResponse("<html>Checking your browser</html>", 403)
        github = _bearer(request)
        if github in state.readers:
            return JSONResponse({"error": "Write access to the repository is required"}, 403)
        if github not in state.writers:
            return JSONResponse({"error": "Authentication required: invalid GitHub token"}, 401)
        state.names.append(request.query_params.get("token_name", ""))
        token = "glsa_" + secrets.token_hex(16)
        state.tokens.add(token)
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"token": token, "grafanaServer": state.server or str(request.base_url).rstrip("/")})
        return PlainTextResponse(token)

    def _refused(self, request: Request) -> Response | None:
        self.state.asked.append(f"{request.method} {request.url.path}")
        if self.faults.away:
            return _away()
        token = _bearer(request)
        if not token:
            return JSONResponse({"message": "Unauthorized", "messageId": "auth.unauthorized", "statusCode": 401}, 401)
        if token not in self.state.tokens:
            return JSONResponse({"message": "Invalid API key", "messageId": "api-key.invalid", "statusCode": 401}, 401)
        if self.faults.expired:
            return JSONResponse({"message": "Expired API key", "messageId": "api-key.expired", "statusCode": 401}, 401)
        return None

    async def _answered(self, request: Request, failed: int) -> Response:
        from starlette.concurrency import run_in_threadpool

        body = await request.json()
        self.state.bodies.append(body)
        (query,) = body["queries"]
        if query["datasource"]["uid"] not in {each["uid"] for each in _SOURCES}:
            return JSONResponse(_NOT_FOUND, 404)
        result = await run_in_threadpool(self._result, query, body)
        told: dict[str, Any] = {"status": result.status, "frames": list(result.frames)}
        if result.error:
            told = {"error": result.error, "errorSource": "downstream", "status": result.status, "frames": []}
        return JSONResponse(
            {"results": {query["refId"]: told}}, failed if result.error and not self.faults.error else 200
        )

    def _result(self, query: Mapping[str, Any], body: Mapping[str, Any]) -> Result:
        if self.faults.error:
            return Result(status=self.faults.status, error=self.faults.error)
        if self.faults.no_frames:
            return Result()
        if self.faults.empty_frame:
            return Result(({"schema": {"refId": "A", "fields": []}, "data": {"values": []}},))
        try:
            source = self._clickhouse if query["datasource"]["uid"] == SQL_UID else self._prometheus
            return source.answer(query, body["from"], body["to"])
        except httpx2.RequestError as error:
            return Result(status=502, error=f'Post "http://source": dial tcp: connect: {error}')


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


def _away() -> Response:
    return PlainTextResponse("Service Unavailable", 503)
