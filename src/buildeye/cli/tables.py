"""Tables on a terminal: plain columns, at most 100 wide, cut with an ellipsis where a cell is too long."""

from collections.abc import Sequence

WIDTH = 100
GAP = 2


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int = WIDTH) -> str:
    """Columns left-aligned, numbers right-aligned; the widest column gives way until all fit in `width`."""
    cells = [list(head), *[list(r) for r in rows]]
    widths = [max(len(r[i]) for r in cells) for i in range(len(head))]
    room = width - GAP * (len(head) - 1) - 1
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    numeric = [all(r[i].isdigit() for r in rows) for i in range(len(head))]
    return "\n".join(_line(r, widths, numeric) for r in cells)


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    shown = [_cut(cell, w).rjust(w) if n else _cut(cell, w).ljust(w) for cell, w, n in zip(row, widths, numeric, strict=True)]
    return (" " + (" " * GAP).join(shown)).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
