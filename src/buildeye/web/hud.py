"""`GET /api/hud/{owner}/{repo}/{branch or commit}/{page}?per_page=N`: the grid in the shape of PyTorch's HUD.

PyTorch's own scripts read it with nothing but their base address changed.
"""

import re
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from buildeye.insight.hudgrid import hud_json, hud_page
from buildeye.model import OutsideError
from buildeye.warehouse import Warehouse
from buildeye.web.bearer import BOT_HEADER, token_fits

PER_PAGE: Final = 50
MOST_PER_PAGE: Final = 100
"""Commits of a page at most; who asks for more gets these, as at GitHub and PyTorch."""
MOST_PAGES: Final = 100_000

_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_REF: Final = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]{1,255}")
"""What git allows in a branch's name, roughly."""
_WHOLE: Final = re.compile(r"[0-9]{1,9}")


class _RefusedError(Exception):
    """A request that is not answered: the status, and the sentence that says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def hud_router(warehouse: Warehouse, token: str | None) -> APIRouter:
    """The route over an open warehouse. With a token, it must be sent: as Bearer, or in `x-hud-internal-bot`."""
    router = APIRouter(prefix="/api/hud")

    @router.get("/{owner}/{repo}/{ref:path}/{page}")
    def grid(request: Request, owner: str, repo: str, ref: str, page: str) -> Response:
        """One page of the grid; page 0 is page 1."""
        try:
            if token is not None and not token_fits(request.headers, token, BOT_HEADER):
                raise _RefusedError(401, f"the token is missing or wrong: send it as Bearer or as {BOT_HEADER}")
            number, per_page = _checked(owner, repo, ref, page, request.query_params.get("per_page", str(PER_PAGE)))
            found = hud_page(warehouse, f"{owner}/{repo}", ref, number, per_page)
        except _RefusedError as refused:
            return _said(refused.status, str(refused))
        except OutsideError as error:
            return _said(503, str(error))
        return Response(hud_json(found), media_type="application/json")

    return router


def _checked(owner: str, repo: str, ref: str, page: str, per_page: str) -> tuple[int, int]:
    """Page and size within their bounds."""
    if not _NAME.fullmatch(owner) or not _NAME.fullmatch(repo):
        raise _RefusedError(400, "the address names no repository: /api/hud/OWNER/REPO/BRANCH/PAGE")
    if not _REF.fullmatch(ref):
        raise _RefusedError(400, "the address names no branch or commit: /api/hud/OWNER/REPO/BRANCH/PAGE")
    if not _WHOLE.fullmatch(page) or int(page) > MOST_PAGES:
        raise _RefusedError(400, f"the page is a whole number from 0 to {MOST_PAGES}: /api/hud/OWNER/REPO/BRANCH/PAGE")
    if not _WHOLE.fullmatch(per_page) or int(per_page) < 1:
        raise _RefusedError(400, f"per_page is a whole number from 1 to {MOST_PER_PAGE}")
    return max(int(page), 1), min(int(per_page), MOST_PER_PAGE)


def _said(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"message": sentence}, status_code=status)
