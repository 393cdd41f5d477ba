"""Faults to order, so that tests can meet what GitHub does on bad days; none of them happens unasked."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Fault:
    """One bad answer: an HTTP status, or 0 for a connection that is cut in the middle of the body.

    `retry_after` (seconds) is sent as the header of that name; `message` is GitHub's sentence in the body.
    """

    status: int
    message: str = ""
    retry_after: int | None = None


def bad_gateway() -> Fault:
    """A 502 as GitHub's edge answers when overloaded."""
    return Fault(502, "Server Error")


def secondary_limit(retry_after: int = 60) -> Fault:
    """A 403 for asking too much at once; `retry_after` in seconds."""
    message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return Fault(403, message, retry_after)


def unavailable(retry_after: int = 1) -> Fault:
    """A 503 that asks to come back; `retry_after` in seconds."""
    return Fault(503, "Service unavailable. Please wait a few minutes before you try again.", retry_after)


def cut() -> Fault:
    """The connection ends before the body does."""
    return Fault(0)


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong and when.

    `at` maps the number of a request (1 is the first one the app sees) to its fault; `denied` names areas of a
    repository (`actions`, `pulls`, `commits` ...) for which the token lacks the permission.
    """

    at: Mapping[int, Fault] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()
