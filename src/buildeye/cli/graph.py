"""Pictures of numbers in a terminal: bars of a table, lines over time; plain ASCII where nothing else is shown."""

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from buildeye.cli.terminal import Look, cells, cut, look_of

Line = tuple[str, Sequence[tuple[datetime, float]]]
"""A name, and numbers over time."""

HEIGHT: Final = 13
"""Lines of a plot; odd, so that one is in the middle."""
_MOST_LINES: Final = 8
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_MARKS: Final = "●▲■◆○△□◇"
_ASCII_MARKS: Final = "*+xo#@%&"
_COLORS: Final = (36, 33, 32, 35, 34, 31, 96, 93)


@dataclass(frozen=True, slots=True)
class Paper:
    """What is drawn on: the look of the stream, and whether it shows more than ASCII."""

    look: Look
    unicode: bool

    def cut(self, text: str, width: int) -> str:
        """The text in at most `width` cells, or its beginning."""
        if self.unicode:
            return cut(text, width)
        return text if len(text) <= width else text[: width - 2] + ".."


def paper_of() -> Paper:
    """What standard output is."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return Paper(look_of(sys.stdout, os.environ), encoding.startswith("utf"))


def picture(columns: Sequence[str], rows: Sequence[Sequence[Any]], paper: Paper | None = None) -> str:
    """A table as a picture: lines where a column holds times, else bars of the first column of numbers.

    Bars are named by the columns of text before it; where there is no text, the first numbers name bars of the second.
    What has no numbers is said to have none.
    """
    chosen = paper or paper_of()
    if not rows:
        return "nothing to draw: no rows"
    held = [[row[at] for row in rows] for at in range(len(columns))]
    numeric = [at for at, values in enumerate(held) if _is_numeric(values)]
    if not numeric:
        return f"nothing to draw: none of {', '.join(columns)} is a number"
    timed = next((at for at, values in enumerate(held) if _is_time(values)), None)
    if timed is not None:
        lines = _lines_of(columns, rows, timed, numeric)
        if any(len({at for at, _ in points}) > 1 for _, points in lines):
            return plot(lines, chosen)
    texts = [each for each in range(len(columns)) if each not in numeric]
    at, texts = (numeric[0], texts) if texts or len(numeric) == 1 else (numeric[1], numeric[:1])
    varied = [each for each in texts if len(set(map(_text, held[each]))) > 1] or texts[:1]
    names = [each for each in varied if each < at] or varied[:1]
    labels = [" ".join(filter(None, (_text(row[each]) for each in names))) for row in rows]
    return bars(labels, [_number(row[at]) for row in rows], chosen, title=columns[at])


def bars(labels: Sequence[str], values: Sequence[float], paper: Paper | None = None, title: str = "") -> str:
    """A bar a number, named; numbers below zero have theirs drawn with another sign."""
    chosen = paper or paper_of()
    numbers = [_told(each) for each in values]
    room = min(chosen.look.width // 2, max(map(cells, labels), default=0))
    wide = max(map(len, numbers), default=0)
    width = max(8, chosen.look.width - room - wide - 4)
    most = max((abs(each) for each in values if math.isfinite(each)), default=0.0)
    lines = [f" {title}"] if title else []
    for label, value, number in zip(labels, values, numbers, strict=True):
        name = chosen.cut(label, room)
        share = abs(value) / most if most and math.isfinite(value) else 0.0
        bar = _bar(share * width, chosen, below=value < 0)
        lines.append(f" {name}{' ' * (room - cells(name))}  {number:>{wide}} {chosen.look.paint(bar, 36)}".rstrip())
    return "\n".join(lines)


def plot(lines: Sequence[Line], paper: Paper | None = None) -> str:
    """Numbers over time: a mark a line, the scale at the left, times below, and who is who.

    Of more than eight lines those with the highest numbers are drawn, and the rest counted.
    """
    chosen = paper or paper_of()
    finite = [(name, [(at, value) for at, value in points if math.isfinite(value)]) for name, points in lines]
    filled = [(name, points) for name, points in finite if points]
    if not filled:
        return "nothing to draw: no numbers"
    drawn = sorted(filled, key=lambda line: -max(value for _, value in line[1]))[:_MOST_LINES]
    values = [value for _, points in drawn for _, value in points]
    low, high = min(0.0, *values) if min(values) >= 0 else min(values), max(values)
    high = high if high > low else low + 1
    times = [at for _, points in drawn for at, _ in points]
    scale = _scale(low, high)
    left = max(map(len, scale.values()))
    grid = _drawn(drawn, chosen, (low, high), (min(times), max(times)), chosen.look.width - left - 4)
    edge = "│" if chosen.unicode else "|"
    said = [f" {scale.get(row, ''):>{left}} {edge}{line}".rstrip() for row, line in enumerate(grid)]
    marks = _MARKS if chosen.unicode else _ASCII_MARKS
    legend = [
        f" {chosen.look.paint(marks[place], _COLORS[place])} {chosen.cut(name, chosen.look.width - 30)}"
        f"  last {_told(points[-1][1])}, most {_told(max(value for _, value in points))}"
        for place, (name, points) in enumerate(drawn)
    ]
    rest = len(lines) - len(drawn)
    more = [f"   {rest} more, with lower numbers or none, are not drawn"] if rest else []
    return "\n".join([*said, *_axis(min(times), max(times), left, chosen), *legend, *more])


def _drawn(
    lines: Sequence[Line], paper: Paper, span: tuple[float, float], time: tuple[datetime, datetime], width: int
) -> list[str]:
    """The field of the plot, top first; where marks meet, the line named first is seen. Over gaps nothing is drawn."""
    low, high = span
    length = (time[1] - time[0]).total_seconds() or 1.0
    field: list[list[int | None]] = [[None] * width for _ in range(HEIGHT)]
    gap = 3 * _usual_step(lines)
    for place in reversed(range(len(lines))):
        spots = [
            (
                round((at - time[0]).total_seconds() / length * (width - 1)),
                HEIGHT - 1 - round((value - low) / (high - low) * (HEIGHT - 1)),
            )
            for at, value in lines[place][1]
        ]
        for ((at, _), (after, _)), ((x, y), (next_x, next_y)) in zip(
            pairwise(lines[place][1]), pairwise(spots), strict=True
        ):
            if after - at > gap:
                continue
            for between in range(x, next_x):
                field[y + round((next_y - y) * (between - x) / (next_x - x))][between] = place
        for x, y in spots:
            field[y][x] = place
    marks = _MARKS if paper.unicode else _ASCII_MARKS
    return [
        "".join(" " if each is None else paper.look.paint(marks[each], _COLORS[each]) for each in row) for row in field
    ]


def _usual_step(lines: Sequence[Line]) -> timedelta:
    """The middle one of the times between two neighbours; three times as much without a number is a gap."""
    steps = sorted(after - at for _, points in lines for (at, _), (after, _) in pairwise(points) if after > at)
    return steps[len(steps) // 2] if steps else timedelta()


def _scale(low: float, high: float) -> dict[int, str]:
    """The numbers beside the top, the middle and the bottom line."""
    return {0: _told(high), HEIGHT // 2: _told((low + high) / 2), HEIGHT - 1: _told(low)}


def _axis(first: datetime, last: datetime, left: int, paper: Paper) -> list[str]:
    width = paper.look.width - left - 4
    shape = "%H:%M" if first.date() == last.date() else "%m-%d %H:%M"
    begin, end = first.strftime(shape), last.strftime(shape) + f" UTC {last:%Y-%m-%d}"
    line = ("└" + "─" * width) if paper.unicode else ("+" + "-" * width)
    return [" " * (left + 2) + line, " " * (left + 3) + begin + " " * max(1, width - len(begin) - len(end)) + end]


def _lines_of(columns: Sequence[str], rows: Sequence[Sequence[Any]], time: int, numeric: Sequence[int]) -> list[Line]:
    """A line a column of numbers, or where texts tell rows apart, a line a text for the first of them.

    Further times, and texts that are the same in all rows, tell none apart.
    """
    others = [at for at in range(len(columns)) if at != time and at not in numeric]
    texts = [at for at in others if not _is_time([row[at] for row in rows])]
    texts = [at for at in texts if len({_text(row[at]) for row in rows}) > 1] or texts[:1]
    ordered = sorted(rows, key=lambda row: row[time])
    if not texts:
        return [(columns[at], [(row[time], _number(row[at])) for row in ordered]) for at in numeric]
    found: dict[str, list[tuple[datetime, float]]] = {}
    for row in ordered:
        name = " ".join(_text(row[at]) for at in texts)
        found.setdefault(name, []).append((row[time], _number(row[numeric[0]])))
    return list(found.items())


def _bar(length: float, paper: Paper, *, below: bool) -> str:
    if below:
        return ("░" if paper.unicode else "-") * max(1, round(length))
    if not paper.unicode:
        return "#" * round(length)
    whole = int(length)
    return ("█" * whole + _EIGHTHS[int((length - whole) * 8)]).rstrip()


def _is_time(values: Sequence[Any]) -> bool:
    return all(isinstance(each, datetime) for each in values)


def _is_numeric(values: Sequence[Any]) -> bool:
    return any(_is_number(each) for each in values) and all(each is None or _is_number(each) for each in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _told(value: float) -> str:
    if not math.isfinite(value):
        return "-" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def _text(value: Any) -> str:
    from buildeye.logs.secrets import strip_controls

    match value:
        case None:
            return ""
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case date():
            return value.isoformat()
        case bool():
            return str(value).lower()
    return strip_controls(" ".join(str(value).split()))
