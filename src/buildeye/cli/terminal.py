"""What a terminal is able to show: its width, whether it wants colour, and text that fits its cells.

A cell is what one Latin letter takes; Chinese, Japanese, Korean and most emoji take two, combining marks none.
"""

import os
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TextIO

WIDTH = 100
"""Cells of a line where the output is no terminal."""
NARROWEST = 40
"""A terminal that says it is narrower is taken for this wide."""
_OFF = ("", "0", "false")


@dataclass(frozen=True, slots=True)
class Look:
    """How to print: `width` in cells, and whether to colour."""

    width: int = WIDTH
    color: bool = False

    def paint(self, text: str, *codes: int) -> str:
        """The text in these SGR codes; as it is when nothing shall be coloured."""
        if not self.color or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"


def look_of(stream: TextIO, environ: Mapping[str, str]) -> Look:
    """What suits a stream: colour and its own width on a terminal, plain and 100 cells elsewhere.

    `NO_COLOR` and `TERM=dumb` take colour away, `FORCE_COLOR` gives it, `COLUMNS` sets the width of a terminal.
    """
    terminal = stream.isatty()
    return Look(_width(stream, environ) if terminal else WIDTH, wants_color(environ, terminal=terminal))


def wants_color(environ: Mapping[str, str], *, terminal: bool) -> bool:
    """Whether to colour: `NO_COLOR` wins over `FORCE_COLOR`, that over what the output is."""
    if environ.get("NO_COLOR"):
        return False
    if "FORCE_COLOR" in environ:
        return environ["FORCE_COLOR"].lower() not in _OFF
    return terminal and environ.get("TERM") != "dumb"


def _width(stream: TextIO, environ: Mapping[str, str]) -> int:
    said = environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return max(NARROWEST, int(said))
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except OSError:
        columns = 0
    return max(NARROWEST, columns or WIDTH)


def cells(text: str) -> int:
    """How many cells a text takes in a terminal."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if char == "\ufe0f":
        return 1  # makes the sign before it a picture of two cells
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """The text in at most `width` cells; what was cut off is told by `…`."""
    if cells(text) <= width:
        return text
    return _head(text, width - 1) + "…" if width > 0 else ""


def _head(text: str, width: int) -> str:
    """As much of the beginning as `width` cells hold."""
    used = 0
    for i, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:i]
    return text


def folded(text: str, width: int, most: int) -> list[str]:
    """The text as it is in at most `most` lines of `width` cells each, the last cut by `…` if it is longer.

    A line ends behind a space where one is near its end.
    """
    lines: list[str] = []
    while len(lines) < most - 1 and cells(text) > width:
        head = _head(text, width)
        space = head.rfind(" ") + 1
        lines.append(head[:space] if space > len(head) * 0.7 else head)
        text = text[len(lines[-1]) :]
    return [*lines, cut(text, width)]


def wrapped(text: str, width: int, *, first: str = "", rest: str = "", most: int = 0) -> list[str]:
    """The text as lines of at most `width` cells, broken at spaces, or inside a word that is longer than a line.

    `first` and `rest` begin the first and the other lines. With `most` only so many lines come, the last cut by `…`.
    """
    lines: list[str] = []
    line, filled = first, False
    for word in _pieces(text, width - max(cells(first), cells(rest))):
        joined = f"{line} {word}" if filled else line + word
        if filled and cells(joined) > width:
            lines.append(line)
            joined = rest + word
        line, filled = joined, True
    lines = [*lines, line] if filled else lines
    if most and len(lines) > most:
        return [*lines[: most - 1], cut(f"{lines[most - 1]} …", width)]
    return lines


def _pieces(text: str, room: int) -> Iterator[str]:
    """Words, those longer than `room` cells in pieces."""
    for word in text.split():
        while cells(word) > max(room, 2):
            head = _head(word, max(room, 2))
            yield head
            word = word[len(head) :]
        yield word
