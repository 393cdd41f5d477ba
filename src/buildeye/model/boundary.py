"""The boundary of the approval rate, in the points a person wants to see.

The judge tests after every judged task, so a boundary has a point for nearly each n; a few of them tell its shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LANDMARKS: Final = (5, 8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200)
"""The numbers of judged tasks that are shown, besides the first that can fail and the last that is judged."""
_NEAR: Final = 2


@dataclass(frozen=True, slots=True)
class RateBoundary:
    """When the approval rate rolls back: at `fails` = (n, the most approved of n that still fails), one for every n.

    `good` of `judged` is where it stands, `p_value` what that is under the baseline; None when nothing was judged.
    `alpha` is the worst-case probability that a version which changed nothing is rolled back.
    """

    fails: Sequence[tuple[int, int]]
    good: int = 0
    judged: int = 0
    p_value: float | None = None
    alpha: float | None = None


def boundary_text(boundary: RateBoundary) -> str:
    """The whole boundary: `fails at <= 0 of 3, 1 of 5, ... 32 of 50`; a sentence when nothing can fail."""
    points = landmarks(boundary.fails)
    if not points:
        return "no number of rejections fails: the baseline is too small"
    return "fails at <= " + ", ".join(f"{most} of {n}" for n, most in points)


def near_text(boundary: RateBoundary) -> str:
    """What of the boundary lies ahead: `rolls back at <= 4 of 10 … 11 of 20`; '' when all tasks are judged."""
    ahead = [(n, most) for n, most in landmarks(boundary.fails) if n > boundary.judged]
    if not ahead:
        return ""
    shown = [ahead[0], *([ahead[_NEAR]] if len(ahead) > _NEAR else ahead[1:2])]
    return "rolls back at <= " + " … ".join(f"{most} of {n}" for n, most in shown)


def rejections_left(boundary: RateBoundary) -> int | None:
    """How many rejections in a row from now on would fail; None when no number would, as when all tasks are judged."""
    for n, most in sorted(boundary.fails):
        if n > boundary.judged and boundary.good <= most:
            return n - boundary.judged
    return None


def landmarks(fails: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The points that are shown: the first, the last, and those at `LANDMARKS` between."""
    points = sorted(fails)
    return [point for i, point in enumerate(points) if i in (0, len(points) - 1) or point[0] in LANDMARKS]
