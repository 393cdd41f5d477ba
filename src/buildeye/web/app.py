"""The application: which address leads to what. Pages and other doors become routes of the FastAPI application."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from buildeye import __version__
from buildeye.model import OutsideError
from buildeye.web.intake import Intake
from buildeye.web.spool import Spool
from buildeye.web.webhooks import WebhookDoor

WEBHOOKS: Final = "/webhooks/github"


def create_app(spool: Spool, secret: str, most_bytes: int, now: Callable[[], datetime]) -> ASGIApp:
    """The application over an open spool. `secret` is the webhook's, `most_bytes` the most a delivery may have."""
    pages = _pages(spool)
    door = WebhookDoor(Intake(spool.keep), secret, most_bytes, now)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        """Webhooks go past the layers that pages need: those would cost as much as the door itself."""
        wanted = door if scope["type"] == "http" and scope["path"] == WEBHOOKS else pages
        await wanted(scope, receive, send)

    return application


def _pages(spool: Spool) -> FastAPI:
    app = FastAPI(title="Build-Eye", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        """Whether deliveries can be kept, and how many wait for the warehouse or were put aside."""
        try:
            counts = spool.counts()
        except OutsideError:
            return JSONResponse({"status": "failing"}, status_code=503)
        return JSONResponse({"status": "ok", "waiting": counts.waiting, "refused": counts.refused})

    return app
