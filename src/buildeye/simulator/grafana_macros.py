"""Macros of Grafana's ClickHouse plugin, replaced in SQL as its backend does before a query is sent on."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_NAME: Final = re.compile(r"\$__(\w+)")


class MacroError(ValueError):
    """A macro that there is not, or with the wrong number of arguments."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time picked in Grafana and the interval, all in milliseconds since 1970."""

    since: int
    until: int
    interval: int


def expanded(sql: str, span: Span) -> str:
    """SQL with every `$__macro(...)` replaced; MacroError as the plugin gives one. Quotes do not protect a macro."""
    out, at = [], 0
    while found := _NAME.search(sql, at):
        arguments, end = _arguments(sql, found.end())
        if found[1] not in _MACROS:
            raise MacroError(f"unknown macro $__{found[1]}")
        wanted, write = _MACROS[found[1]]
        if len(arguments) != wanted:
            raise MacroError(f"unexpected number of arguments: expected {wanted}, received {len(arguments)}")
        out += [sql[at : found.start()], write(span, arguments)]
        at = end
    return "".join(out) + sql[at:]


def _arguments(sql: str, at: int) -> tuple[Sequence[str], int]:
    """What stands in the parentheses after a name, and where they end; nothing when there are none."""
    if not sql.startswith("(", at):
        return (), at
    depth, parts, begins = 0, [], at + 1
    for end in range(at, len(sql)):
        depth += (sql[end] == "(") - (sql[end] == ")")
        if (depth == 1 and sql[end] == ",") or depth == 0:
            parts.append(sql[begins:end].strip())
            begins = end + 1
        if depth == 0:
            return [part for part in parts if part], end + 1
    raise MacroError("a parenthesis does not close")


def _seconds(milliseconds: int) -> str:
    return f"toDateTime({milliseconds // 1000})"


def _exactly(milliseconds: int) -> str:
    return f"fromUnixTimestamp64Milli({milliseconds})"


def _day(milliseconds: int) -> str:
    return f"toDate('{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d}')"


def _within(write: Callable[[int], str], span: Span, column: str) -> str:
    return f"{column} >= {write(span.since)} AND {column} <= {write(span.until)}"


def _both(span: Span, columns: Sequence[str]) -> str:
    return f"({_within(_day, span, columns[0])}) AND ({_within(_seconds, span, columns[1])})"


_Write = Callable[[Span, Sequence[str]], str]
_MACROS: Final[dict[str, tuple[int, _Write]]] = {
    "fromTime": (0, lambda span, _: _seconds(span.since)),
    "toTime": (0, lambda span, _: _seconds(span.until)),
    "fromTime_ms": (0, lambda span, _: _exactly(span.since)),
    "toTime_ms": (0, lambda span, _: _exactly(span.until)),
    "timeFilter": (1, lambda span, given: _within(_seconds, span, given[0])),
    "timeFilter_ms": (1, lambda span, given: _within(_exactly, span, given[0])),
    "dateFilter": (1, lambda span, given: _within(_day, span, given[0])),
    "dateTimeFilter": (2, _both),
    "dt": (2, _both),
    "timeInterval": (
        1,
        lambda span, given: (
            f"toStartOfInterval(toDateTime({given[0]}), INTERVAL {max(span.interval // 1000, 1)} second)"
        ),
    ),
    "timeInterval_ms": (
        1,
        lambda span, given: (
            f"toStartOfInterval(toDateTime64({given[0]}, 3), INTERVAL {max(span.interval, 1)} millisecond)"
        ),
    ),
    "interval_s": (0, lambda span, _: str(max(span.interval // 1000, 1))),
}
