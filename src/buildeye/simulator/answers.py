"""Answers in GitHub's form: JSON with an ETag, errors with a message and a link, redirects to signed addresses."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import RedirectResponse, Response

DOCS = "https://docs.github.com/rest"
JSON_TYPE = "application/json; charset=utf-8"


def created(body: Any, address: str) -> Response:
    """A 201 with the address of what was made."""
    data = json.dumps(body, separators=(",", ":")).encode()
    return Response(data, 201, {"location": address}, JSON_TYPE)


def json_answer(body: Any, headers: Mapping[str, str] | None = None) -> Response:
    """A 200 with a weak ETag of the body."""
    data = json.dumps(body, separators=(",", ":")).encode()
    tag = f'W/"{hashlib.sha256(data).hexdigest()}"'
    cache = "private, max-age=60, s-maxage=60"
    return Response(data, media_type=JSON_TYPE, headers={"etag": tag, "cache-control": cache, **(headers or {})})


def error_answer(
    status: int, message: str, headers: Mapping[str, str] | None = None, errors: Sequence[Any] = ()
) -> Response:
    """An error as GitHub words it; `errors` says what is wrong with what was sent."""
    wrong = {"errors": errors} if errors else {}
    body = {"message": message, **wrong, "documentation_url": DOCS, "status": str(status)}
    return Response(json.dumps(body).encode(), status, headers, JSON_TYPE)


def not_found() -> Response:
    """GitHub's 404."""
    return error_answer(404, "Not Found")


def gone() -> Response:
    """What GitHub says of a log it has deleted."""
    return error_answer(410, "Server Error: the logs for this run have expired and are no longer available.")


def signature(seed: int, path: str) -> str:
    """The signature that lets a stored file be read without a token."""
    return hmac.new(f"simulator/{seed}".encode(), path.encode(), hashlib.sha256).hexdigest()


def redirect(base: str, seed: int, path: str) -> Response:
    """A 302 to a signed address of a stored file, as GitHub gives for logs."""
    return RedirectResponse(f"{base}{path}?sp=r&sv=2025-11-05&sig={signature(seed, path)}", 302)
