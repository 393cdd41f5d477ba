"""Counters that only grow, and start at 0 again with their process, as looks at a rate. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

Point = tuple[datetime, int]


def whole(value: float, what: str) -> int:
    """A count as a source gives it. ValueError for what is no whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53 or value != int(value):
        raise ValueError(f"{what} is {value!r:.40}: a count is meant, a whole number from 0 on")
    return int(value)


def growth(points: Sequence[Point], began: datetime) -> dict[datetime, int]:
    """By how much a counter had grown since `began` at each of its points, oldest first.

    A counter that is not there at `began` began at 0 after it; one that fell began at 0 again.
    """
    grown, last = 0, 0
    found: dict[datetime, int] = {}
    for number, (at, value) in enumerate(points):
        if number or at > began:
            grown += value - last if value >= last else value
        last = value
        found[at] = grown
    return found


def summed(series: Iterable[dict[datetime, int]]) -> dict[datetime, int]:
    """The growth of several counters together; one that has ended keeps what it had grown."""
    every = list(series)
    total: dict[datetime, int] = {}
    held = [0] * len(every)
    for at in sorted({at for each in every for at in each}):
        held = [each.get(at, kept) for each, kept in zip(every, held, strict=True)]
        total[at] = sum(held)
    return total


def looks_of(good: dict[datetime, int], total: dict[datetime, int]) -> tuple[tuple[int, int], ...]:
    """(approved, judged) at each moment at which both are known and more was judged than before.

    A moment at which more were approved than judged is passed over: the two were not counted together. ValueError: so
    it is at the last one.
    """
    looks: list[tuple[int, int]] = []
    moments = sorted(good.keys() & total.keys())
    for at in moments:
        if good[at] <= total[at] and total[at] > (looks[-1][1] if looks else 0):
            looks.append((good[at], total[at]))
    if moments and good[moments[-1]] > total[moments[-1]]:
        raise ValueError(f"{good[moments[-1]]} tasks are approved of {total[moments[-1]]} judged")
    return tuple(looks)
