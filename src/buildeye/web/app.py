"""The application: which address leads to what. Pages and other doors become routes of the FastAPI application."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from buildeye import __version__
from buildeye.model import OutsideError
from buildeye.web.intake import Intake
from buildeye.web.spool import Spool
from buildeye.web.webhooks import WebhookDoor

WEBHOOKS: Final = "/webhooks/github"
HOW_TO_OPEN: Final = (
    "set GITHUB_WEBHOOK_SECRET, where the server starts, to the one in the webhook's settings on GitHub, see "
    "docs/webhooks.md"
)


def create_app(
    spool: Spool,
    secret: str | None,
    most_bytes: int,
    now: Callable[[], datetime],
    *,
    routers: Sequence[APIRouter] = (),
    doors: Mapping[str, ASGIApp] = MappingProxyType({}),
) -> ASGIApp:
    """The application over an open spool. `secret` is the webhook's, `most_bytes` the most a delivery may have.

    `routers` are more pages; `doors` are applications of their own, by the path at and below which each answers.
    """
    pages = _pages(spool, routers)
    webhooks: ASGIApp = _closed if secret is None else WebhookDoor(Intake(spool.keep), secret, most_bytes, now)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        """Webhooks and doors go past the layers that pages need: those would cost as much as the door itself."""
        if scope["type"] != "http":
            await pages(scope, receive, send)
            return
        path = scope["path"]
        if path == WEBHOOKS:
            await webhooks(scope, receive, send)
            return
        for place, door in doors.items():
            if path == place or path.startswith(f"{place}/"):
                await door(scope, receive, send)
                return
        await pages(scope, receive, send)

    return application


async def _closed(scope: Scope, receive: Receive, send: Send) -> None:
    """The door for webhooks while nobody could tell a delivery of GitHub's from another."""
    await JSONResponse({"message": f"webhooks are not taken: {HOW_TO_OPEN}"}, status_code=503)(scope, receive, send)


def _pages(spool: Spool, routers: Sequence[APIRouter]) -> FastAPI:
    app = FastAPI(title="Build-Eye", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    for router in routers:
        app.include_router(router)

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        """Whether deliveries can be kept, and how many wait for the warehouse or were put aside."""
        try:
            counts = spool.counts()
        except OutsideError:
            return JSONResponse({"status": "failing"}, status_code=503)
        return JSONResponse({"status": "ok", "waiting": counts.waiting, "refused": counts.refused})

    return app
