"""The server over HTTP: one POST a question, no sessions, behind a token and against pages that misuse a browser."""

import hmac
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from buildeye.config import Settings
from buildeye.listening import address_of, is_loopback, listening, run
from buildeye.mcp import PATH
from buildeye.mcp.desk import desk_of
from buildeye.mcp.server import mcp_server
from buildeye.model import UsageError
from buildeye.warehouse import Warehouse

MOST_BODY_BYTES: Final = 16 * 1024**2
"""Of one request: a log of 4 million characters, as JSON."""
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def mcp_app(
    settings: Settings, now: Callable[[], datetime], warehouse: Warehouse | None = None, *, host: str | None = None
) -> ASGIApp:
    """The ASGI application of the tools; it takes any path, so mount it where it shall be, such as at `/mcp`.

    `warehouse`: one that is open and stays so; None opens that of the settings for each call. The token is
    `settings.serve_token`; `host` (default `serve.host`) is where the server listens, and beyond this machine
    there must be a token. It needs no lifespan. UsageError: there is none.
    """
    where = host or settings.serve.host
    token = settings.serve_token.get_secret_value() if settings.serve_token else ""
    if not token and not is_loopback(where):
        raise UsageError(
            f"there is no token, and {where} can be reached from other machines: set BUILD_EYE_TOKEN, which agents "
            "then send as `Authorization: Bearer TOKEN`, or listen at 127.0.0.1"
        )
    return _Door(mcp_server(desk_of(settings, now, warehouse)), token, where)


def serve_http(
    settings: Settings, now: Callable[[], datetime], tell: Callable[[str], None], host: str, port: int
) -> None:
    """Serve the tools at `http://HOST:PORT/mcp` until SIGTERM or SIGINT, then finish what is at hand.

    `tell` gets the address in a sentence. UsageError: there is no token beyond this machine. OutsideError: the port
    cannot be had.
    """
    app = mcp_app(settings, now, host=host)

    async def at_its_path(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        known = scope["path"].rstrip("/") == PATH
        await (app if known else _refusal(404, f"there is nothing here; the tools are at {PATH}"))(scope, receive, send)

    with listening(host, port, "give another --host", "give another --port") as door:
        tell(f"Build-Eye answers agents at {address_of(door)}{PATH}")
        run(at_its_path, door)


class _Door:
    """Lets in who has the token and comes from no foreign page; each request is answered by itself."""

    def __init__(self, server: MCPServer[Any], token: str, host: str) -> None:
        self._server = server
        self._token = token.encode()
        self._security = _security(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, send)
            return
        self._server.streamable_http_app(
            json_response=True,
            stateless_http=True,
            transport_security=self._security,
            max_request_body_size=MOST_BODY_BYTES,
        )
        manager = self._server.session_manager  # a new one each time: it lives as long as one request
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    def _refused(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin and urlsplit(origin).netloc.lower() != host.lower():
            return _refusal(403, "a page of another site may not ask here")
        if self._token and not self._has_token(headers.getlist("authorization")):
            return _refusal(401, "the token is missing or wrong; send BUILD_EYE_TOKEN as Authorization: Bearer TOKEN")
        if scope["method"] != "POST":
            return _refusal(405, "ask with POST; there are no sessions and no streams here")
        return None

    def _has_token(self, given: list[str]) -> bool:
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token)


def _security(host: str) -> TransportSecuritySettings:
    """Names under which requests may ask: those of this machine, and the host that is listened at.

    One that listens at all addresses has no name to check; there the token keeps strangers out.
    """
    plain = host.strip("[]")
    if plain in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    names = [*_LOOPBACK, f"[{plain}]" if ":" in plain else plain]
    hosts = [each for name in names for each in (name, f"{name}:*")]
    origins = [f"{scheme}://{each}" for scheme in ("http", "https") for each in hosts]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def _refusal(status: int, why: str) -> ASGIApp:
    headers = {401: {"www-authenticate": "Bearer"}, 405: {"allow": "POST"}}.get(status)
    return JSONResponse({"error": why}, status_code=status, headers=headers)
