"""Grafana's time macros in SQL, written out: `$__timeFilter(completed_at)` becomes two comparisons.

Names and meaning are those of Grafana's ClickHouse plugin (https://github.com/grafana/clickhouse-datasource, "Macros").
They are written out before the guard reads the query, on every route, so that it sees the bounds that will count.
Text in quotes and comments stays as it is. Pure.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from buildeye.model import UsageError

LAST: Final = timedelta(hours=1)
"""The time a query with macros asks about when none is given, as in Grafana."""
POINTS: Final = 100
"""Into so many intervals a time is cut when no step is given."""
_NICE: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)

_PIECE: Final = re.compile(
    r"""'(?:[^'\\]|\\.|'')*' | `(?:[^`\\]|\\.)*` | "(?:[^"\\]|\\.)*" | --[^\n]* | /\*.*?\*/ | \$__(?P<macro>\w+)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """The time a question is about, aware, both ends included; `step` is what `$__interval_s` and its kin stand for."""

    since: datetime
    until: datetime
    step: timedelta

    @classmethod
    def of(cls, since: datetime, until: datetime, step: timedelta | None = None) -> "Span":
        """A span; without a step, one that is a round number of seconds and cuts it into about a hundred intervals.

        UsageError: it ends before it begins.
        """
        if until < since:
            raise UsageError(
                f"the time ends ({until:%Y-%m-%d %H:%M}) before it begins ({since:%Y-%m-%d %H:%M}); turn them round"
            )
        return cls(since, until, step or step_of(until - since))


def step_of(length: timedelta) -> timedelta:
    """The round step that cuts a time into about a hundred intervals; a second at least."""
    wanted = length.total_seconds() / POINTS
    return timedelta(seconds=next((each for each in _NICE if each >= wanted), _NICE[-1]))


def has_macros(sql: str) -> bool:
    """Whether there is a macro outside of quotes and comments."""
    return any(found["macro"] for found in _PIECE.finditer(sql))


def expanded(sql: str, span: Span) -> str:
    """The query with its macros written out. UsageError: an unknown macro, or one with wrong arguments."""
    parts, at = [], 0
    for found in _PIECE.finditer(sql):
        if found["macro"] is None or found.start() < at:
            continue
        arguments, end = _arguments(sql, found.end())
        parts += [sql[at : found.start()], _written(found["macro"], arguments, span)]
        at = end
    return "".join([*parts, sql[at:]])


def _arguments(sql: str, at: int) -> tuple[tuple[str, ...], int]:
    """What stands in the parentheses behind a macro, cut at commas, and where they end."""
    if not sql.startswith("(", at):
        return (), at
    depth, start, end, given = 0, at + 1, at - 1, []
    while (end := end + 1) < len(sql):
        if (piece := _PIECE.match(sql, end)) and piece["macro"] is None:
            end = piece.end() - 1
            continue
        match sql[end]:
            case "(" | "[":
                depth += 1
            case ")" | "]":
                depth -= 1
            case "," if depth == 1:
                given.append(sql[start:end].strip())
                start = end + 1
        if depth == 0:
            given.append(sql[start:end].strip())
            return tuple(each for each in given if each), end + 1
    raise UsageError("a macro in the query has a parenthesis that does not close; close it")


def _written(name: str, arguments: tuple[str, ...], span: Span) -> str:
    if name not in _MACROS:
        known = ", ".join(f"$__{each}" for each in _MACROS)
        raise UsageError(f"the query has an unknown macro $__{name}; known are {known}")
    wanted, write = _MACROS[name]
    if len(arguments) != wanted:
        raise UsageError(
            f"macro $__{name} takes {wanted or 'no'} argument{'' if wanted == 1 else 's'}, not {len(arguments)}; "
            "name the column, such as $__timeFilter(completed_at)"
        )
    return write(span, *arguments)


def _seconds(at: datetime) -> str:
    return f"toDateTime({int(at.timestamp())})"


def _milliseconds(at: datetime) -> str:
    return f"fromUnixTimestamp64Milli({int(at.timestamp() * 1000)})"


def _day(at: datetime) -> str:
    return f"toDate('{at.astimezone(UTC):%Y-%m-%d}')"


def _between(column: str, span: Span, literal: Callable[[datetime], str]) -> str:
    return f"({column} >= {literal(span.since)} AND {column} <= {literal(span.until)})"


def _both(span: Span, day: str, time: str) -> str:
    return f"({_between(day, span, _day)} AND {_between(time, span, _seconds)})"


def _interval(span: Span, unit: timedelta) -> int:
    return max(1, span.step // unit)


_MACROS: Final[dict[str, tuple[int, Callable[..., str]]]] = {
    "timeFilter": (1, lambda span, column: _between(column, span, _seconds)),
    "timeFilter_ms": (1, lambda span, column: _between(column, span, _milliseconds)),
    "dateFilter": (1, lambda span, column: _between(column, span, _day)),
    "dateTimeFilter": (2, _both),
    "dt": (2, _both),
    "fromTime": (0, lambda span: _seconds(span.since)),
    "toTime": (0, lambda span: _seconds(span.until)),
    "fromTime_ms": (0, lambda span: _milliseconds(span.since)),
    "toTime_ms": (0, lambda span: _milliseconds(span.until)),
    "interval_s": (0, lambda span: str(_interval(span, timedelta(seconds=1)))),
    "timeInterval": (
        1,
        lambda span, column: (
            f"toStartOfInterval(toDateTime({column}), INTERVAL {_interval(span, timedelta(seconds=1))} second)"
        ),
    ),
    "timeInterval_ms": (
        1,
        lambda span, column: (
            f"toStartOfInterval(toDateTime64({column}, 3), "
            f"INTERVAL {_interval(span, timedelta(milliseconds=1))} millisecond)"
        ),
    ),
}
