"""The door for GitHub's webhooks: who may come in, how much, and what is answered.

A plain ASGI endpoint, so that a delivery costs the server little. Checks that need no body come first; the signature is
computed while the body comes in. What the payload says is not looked at here: 202 means that it is on disk.
"""

import asyncio
import hmac
import json
import logging
import re
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Final

from starlette.types import Receive, Scope, Send

from buildeye.github.events import KEPT
from buildeye.model import OutsideError
from buildeye.web.intake import Intake
from buildeye.web.spool import Delivery

READ_SECONDS: Final = 10.0
"""How long a body may take; GitHub gives up after as long."""
HELD_BYTES: Final = 256 * 1024 * 1024
"""Bytes of bodies in memory at most; who comes when they are used up is told to come again."""

_LOG = logging.getLogger("buildeye.web")
_DELIVERY: Final = re.compile(rb"[\w.-]{1,100}")
_EVENT: Final = re.compile(rb"\w{1,100}")
_SIGNATURE: Final = re.compile(rb"sha256=([0-9a-f]{64})")


class _RefusedError(Exception):
    """A request that is not taken: the status, and the sentence that says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class WebhookDoor:
    """`POST /webhooks/github` as an ASGI application. `now` tells the time, `most_bytes` bounds one body."""

    def __init__(self, intake: Intake, secret: str, most_bytes: int, now: Callable[[], datetime]) -> None:
        self._intake = intake
        self._keyed = hmac.new(secret.encode(), digestmod=sha256)
        self._most_bytes = most_bytes
        self._now = now
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one delivery and answer it; what is kept is answered with an empty body."""
        try:
            if scope["method"] != "POST":
                raise _RefusedError(405, "deliveries come by POST")
            status, said = 202, await self._take(dict(scope["headers"]), receive)
        except _RefusedError as refused:
            status, said = refused.status, str(refused)
        except OutsideError:
            status, said = 503, "the delivery cannot be kept at present: deliver it again later"
        except Exception as error:  # noqa: BLE001 - a traceback would be nobody's answer; GitHub shows the 500
            _LOG.error("a bug in build-eye: a delivery was not taken: %r", error)
            status, said = 500, "a bug in Build-Eye: its log names it"
        body = json.dumps({"message": said}).encode() if said else b""
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status == 405:
            headers.append((b"allow", b"POST"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _take(self, headers: dict[bytes, bytes], receive: Receive) -> str:
        """What there is to say of a delivery that is taken: nothing when it was kept."""
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise _RefusedError(415, "the content type must be application/json: choose it in the webhook's settings")
        size = _length(headers.get(b"content-length", b""), self._most_bytes)
        if size > self._most_bytes:
            raise self._too_large()
        signature = _SIGNATURE.fullmatch(headers.get(b"x-hub-signature-256", b""))
        if signature is None:
            raise _RefusedError(401, "X-Hub-Signature-256 is missing: set the webhook's secret")
        if self._held + size > HELD_BYTES:
            raise _RefusedError(503, "too much is coming in at once: deliver it again later")
        self._held += size
        try:
            body = await self._body(receive, signature[1])
            return await self._keep(headers, body)
        finally:
            self._held -= size

    async def _keep(self, headers: dict[bytes, bytes], body: bytes) -> str:
        event, delivery = headers.get(b"x-github-event", b""), headers.get(b"x-github-delivery", b"")
        if not _EVENT.fullmatch(event) or not _DELIVERY.fullmatch(delivery):
            raise _RefusedError(400, "X-GitHub-Event or X-GitHub-Delivery is missing or malformed")
        if event.decode() not in KEPT:
            return "accepted and ignored: this event is not kept"
        await self._intake.keep(Delivery(delivery.decode(), event.decode(), self._now(), body))
        return ""

    async def _body(self, receive: Receive, signature: bytes) -> bytes:
        """The whole body, signed as it should be."""
        keyed, parts, size, more = self._keyed.copy(), [], 0, True
        try:
            async with asyncio.timeout(READ_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _RefusedError(400, "the connection ended before the body did")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    if size > self._most_bytes:
                        raise self._too_large()
                    keyed.update(part)
                    parts.append(part)
        except TimeoutError:
            raise _RefusedError(408, f"the body did not arrive within {READ_SECONDS:.0f} s") from None
        if not hmac.compare_digest(keyed.hexdigest().encode(), signature):
            raise _RefusedError(401, "the signature does not fit: the secrets of GitHub and Build-Eye differ")
        return b"".join(parts)

    def _too_large(self) -> _RefusedError:
        return _RefusedError(413, f"the body is larger than {self._most_bytes} bytes (webhooks.max_body_bytes)")


def _length(declared: bytes, unknown: int) -> int:
    """Bytes that a body is said to have; `unknown` when nothing is said."""
    return int(declared) if declared.isdigit() and len(declared) < 19 else unknown
