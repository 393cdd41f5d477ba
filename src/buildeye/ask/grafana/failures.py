"""What Grafana's refusals mean, and whose fault each is. Pure: an answer goes in, an error for people comes out.

An error of a query can sit inside an answer of status 200, and Grafana's own status of it is no help: a typing mistake
in SQL is a 500 to some versions. So ClickHouse's number decides, and for Prometheus the kind before the colon.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from buildeye.config.secrets import masked
from buildeye.model import BuildEyeError, OutsideError, UsageError

LONGEST_REASON: Final = 300  # characters of a server's own words that an error repeats
LOGIN: Final = "run build-eye login"
_CODE: Final = re.compile(r"\bcode:\s*(\d+)", re.IGNORECASE)
_LIMITS: Final = frozenset({158, 159, 160, 202, 241, 243, 307, 396, 439})
_AWAY: Final = frozenset({198, 209, 210, 279})  # no such host, no answer in time, no network, no replica
_FORBIDDEN: Final = frozenset({164, 192, 193, 194, 291, 497, 516})
_ASKED: Final = re.compile(r"\b(bad_data|execution|bad_response_data|422)\b:?|\bparse error\b", re.IGNORECASE)
_TIMED_OUT: Final = re.compile(r"\btimeout\b|deadline exceeded|timed out", re.IGNORECASE)
_MISTAKES: Final = frozenset({400, 422})

Told = Callable[[str], str]
"""A server's own words as they may be shown: see `one_line`."""


def one_line(text: str) -> str:
    """A server's own words on one line, without what looks like a secret, at most 300 characters."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return masked(" ".join(printable.split()))[:LONGEST_REASON]


def sql_failure(text: str, place: str, told: Told = one_line) -> BuildEyeError:
    """What ClickHouse, or Grafana before it, says against a query."""
    found = _CODE.search(text)
    code = int(found[1]) if found else None
    reason = told(_clickhouse_reason(text)).rstrip(".") or "no reason given"
    if code is None or code in _AWAY:
        return OutsideError(f"the ClickHouse behind {place} cannot be asked: {reason}")
    if code in _LIMITS:
        return UsageError(f"the query goes over a limit of the ClickHouse behind {place}: {reason}; ask for less")
    if code in _FORBIDDEN:
        return OutsideError(f"the ClickHouse behind {place} does not let Grafana do that: {reason}")
    return UsageError(f"the query was refused by the ClickHouse behind {place}: {reason}")


def prometheus_failure(text: str, status: int, place: str, told: Told = one_line) -> BuildEyeError:
    """What Prometheus, or Grafana before it, says against an expression. `status` is the one of the result."""
    reason = told(text) or "no reason given"
    if _TIMED_OUT.search(text):
        return OutsideError(f"the Prometheus behind {place} did not answer in time: {reason}; ask for a shorter time")
    if _ASKED.search(text) or status in _MISTAKES:
        return UsageError(f"the Prometheus behind {place} does not take the expression: {reason}")
    return OutsideError(f"the Prometheus behind {place} cannot be asked: {reason}")


def refusal(status: int, data: Any, place: str, told: Told = one_line) -> BuildEyeError:
    """What an answer of Grafana itself means that is no answer to the question."""
    reason = told(message_of(data))
    because = f": {reason}" if reason else ""
    if is_unknown_source(status, data):
        return UsageError(f"{place} has no such data source; see build-eye datasources list")
    match status:
        case 401:
            said = reason or "the token is missing, wrong or expired"
            return OutsideError(f"{place} answered 401: {said}; {LOGIN}")
        case 403:
            return OutsideError(f"{place} answered 403{because}; the token may not read this, ask those who run it")
        case 404:
            return OutsideError(f"{place} answered 404; is the server right? see build-eye contexts list")
        case 429:
            return OutsideError(f"{place} answered 429: too many queries; wait a little")
        case _ if 300 <= status < 400:
            return OutsideError(
                f"{place} answered {status}, a redirect; name the server itself: build-eye login --server"
            )
        case _ if 200 <= status < 300:
            return no_answer(place)
        case _:
            return OutsideError(f"{place} answered {status}{because or ': no reason given'}")


def no_answer(place: str) -> OutsideError:
    """The error for what answers, but not as Grafana does."""
    return OutsideError(f"{place} does not answer as Grafana does; is the server right? see build-eye contexts list")


def message_of(data: Any) -> str:
    """What Grafana says: in `message`, as its own interfaces do, or `error`."""
    if not isinstance(data, Mapping):
        return ""
    said = data.get("message") or data.get("error") or ""
    return said if isinstance(said, str) else ""


def is_unknown_source(status: int, data: Any) -> bool:
    """Whether Grafana says that there is no data source of that uid: in a 404, or in a 400 of the newer interface."""
    said = message_of(data).lower()
    return status in {400, 404} and ("data source not found" in said or "datasource not found" in said)


def _clickhouse_reason(text: str) -> str:
    """The part of ClickHouse's words that says what is wrong, without code, version and stack."""
    first = text.partition(" (version ")[0]
    for before in ("DB::Exception: ", "message: "):
        if before in first:
            return first.rpartition(before)[2]
    return first
