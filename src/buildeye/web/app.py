"""The application: which address leads to what. Pages and other doors are added here as routes of their own."""

from collections.abc import Callable
from datetime import datetime

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.routing import Route

from buildeye import __version__
from buildeye.model import OutsideError
from buildeye.web.intake import Intake
from buildeye.web.spool import Spool
from buildeye.web.webhooks import WebhookDoor

WEBHOOKS = "/webhooks/github"


def create_app(spool: Spool, secret: str, most_bytes: int, now: Callable[[], datetime]) -> FastAPI:
    """The application over an open spool. `secret` is the webhook's, `most_bytes` the most a delivery may have."""
    app = FastAPI(title="Build-Eye", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    door = WebhookDoor(Intake(spool.keep), secret, most_bytes, now)
    app.router.routes.append(Route(WEBHOOKS, door, methods=["POST"]))

    @app.get("/healthz")
    def healthz() -> JSONResponse:
        """Whether deliveries can be kept, and how many wait for the warehouse or were put aside."""
        try:
            counts = spool.counts()
        except OutsideError:
            return JSONResponse({"status": "failing"}, status_code=503)
        return JSONResponse({"status": "ok", "waiting": counts.waiting, "refused": counts.refused})

    return app
