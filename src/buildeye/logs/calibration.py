"""From the probability that a rule states to the one that was measured on labelled logs.

Method: a monotone table with straight lines between its points (isotonic calibration, Zadrozny and Elkan 2002, by
hand on few points so that it stays cautious).
"""

import tomllib
from bisect import bisect_right
from functools import lru_cache

from buildeye import knowledge


@lru_cache(maxsize=1)
def table() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The points (stated, measured) of `knowledge/tables/calibration.toml`, both growing."""
    data = tomllib.loads((knowledge.FOLDER / "tables" / "calibration.toml").read_text(encoding="utf-8"))
    return tuple(data["stated"]), tuple(data["measured"])


def calibrated(stated: float) -> float:
    """The measured probability for a stated one, 0 to 1."""
    xs, ys = table()
    i = min(max(bisect_right(xs, stated), 1), len(xs) - 1)
    share = (stated - xs[i - 1]) / (xs[i] - xs[i - 1])
    return min(1.0, max(0.0, ys[i - 1] + share * (ys[i] - ys[i - 1])))
