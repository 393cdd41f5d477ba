"""Rules that hold only between two lines: which hits lie behind a start, with nothing between that ends its span."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence


def opened(numbers: Sequence[int], starts: Sequence[int], untils: Sequence[int]) -> Mapping[int, int]:
    """Those of `numbers` that lie in a span, each with the line that opens it. All are line numbers, ascending.

    A span goes from a start, which is no part of it, to the next line of `untils`, or to the end.
    """
    found: dict[int, int] = {}
    for number in numbers:
        before = bisect_left(starts, number)
        if before and _next(untils, starts[before - 1] + 1, number) is None:
            found[number] = starts[before - 1]
    return found


def _next(lines: Sequence[int], first: int, last: int) -> int | None:
    i = bisect_left(lines, first)
    return lines[i] if i < len(lines) and lines[i] <= last else None
