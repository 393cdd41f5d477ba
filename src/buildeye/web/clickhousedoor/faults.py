"""Errors as ClickHouse tells them over HTTP: a code, its name, a status, and one line of text."""

import re
from typing import Final

from buildeye.ask.guard import Reason, Refused
from buildeye.warehouse.readers import EngineError

SYNTAX_ERROR: Final = (62, "SYNTAX_ERROR")
BAD_ARGUMENTS: Final = (36, "BAD_ARGUMENTS")
NOT_IMPLEMENTED: Final = (48, "NOT_IMPLEMENTED")
UNKNOWN_DATABASE: Final = (81, "UNKNOWN_DATABASE")
TIMEOUT_EXCEEDED: Final = (159, "TIMEOUT_EXCEEDED")
READONLY: Final = (164, "READONLY")
TOO_MANY_QUERIES: Final = (202, "TOO_MANY_SIMULTANEOUS_QUERIES")
TOO_LARGE: Final = (223, "QUERY_IS_TOO_LARGE")
CANNOT_DECODE: Final = (354, "ZLIB_INFLATE_FAILED")
ACCESS_DENIED: Final = (497, "ACCESS_DENIED")
AUTHENTICATION_FAILED: Final = (516, "AUTHENTICATION_FAILED")
BUG: Final = (49, "LOGICAL_ERROR")

_OF_REASON: Final = {
    Reason.EMPTY: SYNTAX_ERROR,
    Reason.TOO_LONG: TOO_LARGE,
    Reason.SEVERAL_STATEMENTS: SYNTAX_ERROR,
    Reason.NOT_A_READ: READONLY,
    Reason.OUTPUT: READONLY,
    Reason.SETTING: READONLY,
    Reason.STRANGE_TEXT: SYNTAX_ERROR,
    Reason.UNREADABLE: SYNTAX_ERROR,
    Reason.UNKNOWN_TABLE: (60, "UNKNOWN_TABLE"),
    Reason.UNKNOWN_FUNCTION: (46, "UNKNOWN_FUNCTION"),
    Reason.FORMAT: (73, "UNKNOWN_FORMAT"),
}
"""What the guard finds, in ClickHouse's codes; all other reasons are ACCESS_DENIED."""

_OUR_SETTINGS: Final = re.compile(r"\s+SETTINGS readonly = 1, .*?log_comment = '\w*'", re.DOTALL)
_STATUS: Final = (
    (400, frozenset({6, 26, 27, 33, 36, 38, 41, 42, 43, 44, 53, 62, 69, 70, 72, 117, 130, 131, 167, 168, 182, 183,
                     184, 215, 354, 386, 427, 441, 456, 457})),
    (403, frozenset({164, 192, 193, 497, 516})),
    (404, frozenset({46, 47, 50, 56, 60, 63, 73, 81, 115, 139})),
    (405, frozenset({0})),
    (408, frozenset({159})),
    (413, frozenset({223})),
    (501, frozenset({48})),
    (503, frozenset({202, 439})),
)  # fmt: skip
"""HTTP's status for codes, as ClickHouse's server chooses it; 500 for the others."""


class DoorError(Exception):
    """A request that is answered with an error of ClickHouse."""

    def __init__(self, kind: tuple[int, str], sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.code, self.name = kind
        self.status = status if status is not None else _status(self.code)

    def text(self, version: str) -> str:
        """The line that clients show."""
        said = " ".join(str(self).split()).rstrip(".")
        return f"Code: {self.code}. DB::Exception: {said}. ({self.name}) (version {version} (Build-Eye))\n"


def of_guard(refused: Refused) -> DoorError:
    """What the guard refused."""
    return DoorError(_OF_REASON.get(refused.reason, ACCESS_DENIED), str(refused))


def of_engine(error: EngineError) -> DoorError:
    """What the engine found wrong, without the settings that we put to the statement it quotes."""
    return DoorError((error.code, error.name), _OUR_SETTINGS.sub("", str(error)))


def _status(code: int) -> int:
    return next((status for status, codes in _STATUS if code in codes), 500)
