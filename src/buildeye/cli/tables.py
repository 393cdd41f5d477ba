"""Tables on a terminal: plain columns, at most 100 wide; a long cell goes on below itself."""

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

WIDTH = 100
GAP = 2


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Columns left-aligned, numbers right-aligned; the widest columns give way until all fit in `width` and wrap."""
    cells = [list(head), *[list(r) for r in rows]]
    widths = [max(len(r[i]) for r in cells) for i in range(len(head))]
    room = width - GAP * (len(head) - 1) - 1
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    numeric = [all(r[i].isdigit() for r in rows) for i in range(len(head))]
    return "\n".join(line for row in cells for line in _lines(row, widths, numeric))


def _lines(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> list[str]:
    wrapped = [textwrap.wrap(cell, w) or [""] for cell, w in zip(row, widths, strict=True)]
    return [_line(parts, widths, numeric) for parts in zip_longest(*wrapped, fillvalue="")]


def _line(parts: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    shown = [p.rjust(w) if n else p.ljust(w) for p, w, n in zip(parts, widths, numeric, strict=True)]
    return (" " + (" " * GAP).join(shown)).rstrip()
