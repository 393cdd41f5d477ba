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
from buildeye.simulator.posting import posting_routes
from buildeye.simulator.posts import Board


def create_app(
    past: Past,
    *,
    token: str | None = None,
    faults: Faults | None = None,
    limit: int = 5000,
    clock: Callable[[], float] = time.time,
    login: str = "octo-reader",
) -> Starlette:
    """An app that answers for one repository.

    `token` is the only one accepted (None: anybody may ask), `limit` the requests an hour, `clock` the Unix time that
    the hour is measured by. `login` is whose name comments are written in; empty for the token of a workflow, of which
    GitHub does not tell whose it is. `app.state.ledger` is a `gate.Ledger` of what has been asked, `app.state.board` a
    `posts.Board` of what was written.
    """
    faults = faults or Faults()
    gate = Gate(token, faults, limit, clock, Ledger())
    catalog, board = Catalog(past, faults), Board(login, clock)
    app = Starlette(
        routes=[*posting_routes(catalog, board), *routes(catalog)],
        middleware=[Middleware(BaseHTTPMiddleware, dispatch=gate)],
        exception_handlers={404: _unknown, 405: _not_allowed},
    )
    app.router.redirect_slashes = False
    app.state.ledger = gate.ledger
    app.state.board = board
    return app


def _unknown(request: Request, error: Exception) -> Response:
    return not_found()


def _not_allowed(request: Request, error: Exception) -> Response:
    return error_answer(405, "Method Not Allowed")
