"""Shares of counts with what their small numbers leave open."""

from math import sqrt
from typing import Final

NORMAL_95: Final = 1.959963984540054
"""Standard deviations on both sides of the mean that hold 95 % of a normal distribution."""
ONE_SIDED_95: Final = 1.645
"""Standard deviations below the mean above which 95 % of a normal distribution lies."""


def wilson(part: float, whole: float, z: float = NORMAL_95) -> tuple[float, float]:
    """Where the true share lies, from 0 to 1: the score interval of Wilson (1927), 95 % with the default `z`.

    `part` of `whole` trials, 0 <= part <= whole; without a trial everything is possible: (0, 1).
    """
    if whole <= 0:
        return 0.0, 1.0
    share, weight = part / whole, z * z / whole
    middle = share + weight / 2
    spread = z * sqrt(share * (1 - share) / whole + weight / (4 * whole))
    return max(0.0, (middle - spread) / (1 + weight)), min(1.0, (middle + spread) / (1 + weight))


def wilson_low(part: float, whole: float, z: float = ONE_SIDED_95) -> float:
    """The lower end of that interval, one-sided 95 % with the default `z`; 0 without a trial."""
    return wilson(part, whole, z)[0]
