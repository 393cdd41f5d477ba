"""The ASGI app: GitHub's REST shape over a simulated past."""

import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import Response

from buildeye.simulator.answers import error_answer, not_found
from buildeye.simulator.catalog import Catalog
from buildeye.simulator.endpoints import routes
from buildeye.simulator.facts import Past
from buildeye.simulator.faults import Faults
from buildeye.simulator.gate import Gate, Ledger


def create_app(
    past: Past,
    *,
    token: str | None = None,
    faults: Faults | None = None,
    limit: int = 5000,
    clock: Callable[[], float] = time.time,
) -> Starlette:
    """An app that answers for one repository.

    `token` is the only one accepted (None: anybody may ask), `limit` the requests an hour, `clock` the Unix time that
    the hour is measured by. `app.state.ledger` is a `gate.Ledger` of what has been asked.
    """
    faults = faults or Faults()
    gate = Gate(token, faults, limit, clock, Ledger())
    app = Starlette(
        routes=routes(Catalog(past, faults)),
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=gate)],
        exception_handlers={404: _unknown, 405: _not_allowed},
    )
    app.router.redirect_slashes = False
    app.state.ledger = gate.ledger
    return app


def _unknown(request: Request, error: Exception) -> Response:
    return not_found()


def _not_allowed(request: Request, error: Exception) -> Response:
    return error_answer(405, "Method Not Allowed")
