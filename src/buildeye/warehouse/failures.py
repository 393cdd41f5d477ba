"""ClickHouse's errors in one sentence for people, and whose fault each is."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from buildeye.model import BuildEyeError, OutsideError, UsageError

_LONGEST: Final = 300
_AUTHENTICATION_FAILED: Final = 516
_SCOPE: Final = re.compile(r":? In scope .*?(?=\. Maybe you meant| \([A-Z_]+\)|$)|: While processing .*", re.DOTALL)
_OUR_GUARD: Final = "query refused ("
"""How the query guard behind a door begins."""
_LIMITS: Final = frozenset({158, 159, 160, 202, 209, 210, 241, 243, 307, 396, 439})


class OverLimitError(OutsideError):
    """A query went over a limit of what it may cost, or of what the server has; `code` is ClickHouse's."""

    def __init__(self, message: str, code: int, reason: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason


@contextmanager
def outside_failures(where: str) -> Iterator[None]:
    """Turn what goes wrong while talking to the warehouse at `where` into an OutsideError."""
    with _translated(where, asked=False):
        yield


@contextmanager
def question_failures(where: str) -> Iterator[None]:
    """The same for a question someone wrote: what ClickHouse finds wrong with the SQL is a UsageError."""
    with _translated(where, asked=True):
        yield


def first_sentence(message: str) -> str:
    """The part of a ClickHouse message that says what is wrong, without code, version, stack and the query again."""
    text = _SCOPE.sub("", message.strip()).split("\n", 1)[0]
    text = text.rpartition("DB::Exception: ")[2].partition(" (version ")[0]
    return text.strip().rstrip(".")[:_LONGEST] or "no reason given"


@contextmanager
def _translated(where: str, *, asked: bool) -> Iterator[None]:
    from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError

    try:
        yield
    except ClickHouseError as error:
        if isinstance(error, OperationalError) and getattr(error, "code", None) is None:
            raise OutsideError(
                f"ClickHouse at {where} does not answer: check that it runs, the address, and the network between."
            ) from None
        raise _explained(where, error, asked=asked) from None


def _explained(where: str, error: Exception, *, asked: bool) -> BuildEyeError:
    code = getattr(error, "code", None)
    reason = first_sentence(str(error))
    if code == _AUTHENTICATION_FAILED:
        return OutsideError(f"ClickHouse at {where} refuses the user or password: mend them in the warehouse address.")
    if asked and code is not None and code not in _LIMITS:
        told = reason if reason.startswith(_OUR_GUARD) else f"the query was refused: {reason}"
        return UsageError(f"{told}.")
    message = f"ClickHouse at {where} failed: {reason}."
    if asked and code is not None:
        return OverLimitError(message, code, reason)
    return OutsideError(message)
