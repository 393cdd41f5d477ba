"""Whether who asks has sent the token, compared in constant time."""

import hmac
from typing import Final

from starlette.datastructures import Headers

BOT_HEADER: Final = "x-hud-internal-bot"
"""The header in which PyTorch's scripts send theirs."""


def token_fits(headers: Headers, token: str, *more: str) -> bool:
    """Whether `token` was sent as Bearer, or as the value of one of the headers `more`."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    given = [bearer.strip() if kind.lower() == "bearer" else "", *(headers.get(name, "") for name in more)]
    return sum(hmac.compare_digest(each.encode(), token.encode()) for each in given) > 0
