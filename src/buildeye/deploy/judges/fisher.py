"""The truncated sequential Fisher test: is a rate after a cutover lower than the one before?

Before, `s0` of `n0` tasks were approved; after, `s` of `n`. After each task the one-sided p-value of Fisher's exact
test is compared with one constant `c`, up to `tasks` tasks. `c` is the largest value with which unchanged quality fails
at any of these looks with a probability of at most `alpha`, whatever its rate is: Fisher 1935 for the test; Jennison
and Turnbull 2000, chapter 12, for exact sequential tests of binary data (design/deploy.md, Judges).

Given how many of all n0 + tasks are approved, every order of them is equally likely, so that the probability of a false
alarm at a rate is a mixture of counted paths: the sums below are exact integers, and only the rate is a float.
"""

import tomllib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, pi, sin
from types import MappingProxyType
from typing import Final

from buildeye import knowledge
from buildeye.model import UsageError

_RATES: Final = 400  # looked at on the way from 0 to 1, closest together at both ends; the best is then refined
_REFINED: Final = 40  # halvings of the stretch around a maximum


@dataclass(frozen=True, slots=True)
class Threshold:
    """Fail at a p-value of at most `c`. `worst` is the largest false-alarm probability over all rates with it.

    It is for a baseline of exactly `baseline` tasks and at most `tasks` after the cutover.
    """

    c: float
    worst: float
    baseline: int
    tasks: int


def p_value(s: int, n: int, s0: int, n0: int) -> float:
    """How likely at most `s` of `n` are approved when `s0 + s` of all `n0 + n` are and both come from one rate.

    P(K <= s) of the hypergeometric distribution; exact in integers, rounded once.
    """
    if not (0 <= s <= n and 0 <= s0 <= n0):
        raise UsageError(f"{s} of {n} and {s0} of {n0} are no counts of approved tasks: give 0 <= approved <= judged")
    total = s0 + s
    below = sum(comb(n, k) * comb(n0, total - k) for k in range(max(0, total - n0), s + 1))
    return below / comb(n0 + n, total)


def threshold(alpha: float, n0: int, tasks: int) -> Threshold:
    """The threshold for a baseline of `n0` tasks cut down to a column of the shipped table, calibrated if not in it."""
    column = column_of(n0)
    if not column:
        raise UsageError(f"a baseline of {n0} tasks is too small to test against: at least {columns()[0]} are needed")
    shipped = _table().get((alpha, tasks, column))
    return shipped if shipped is not None else calibrate(alpha, column, tasks)


def cut(good: int, total: int) -> tuple[int, int]:
    """A baseline cut down to a column of the table: (good, total), its approved tasks in proportion, rounded down.

    Both make the test less ready to fail, so that the bound of the column holds for the larger baseline too.
    """
    column = column_of(total)
    return (good * column // total if total else 0), column


def column_of(n0: int) -> int:
    """The largest column of the table that is not above `n0`; 0 below the first."""
    place = bisect_right(columns(), n0)
    return columns()[place - 1] if place else 0


@lru_cache(maxsize=4096)
def boundary(s0: int, n0: int, alpha: float, tasks: int, margin: float = 0.0) -> tuple[tuple[int, int], ...]:
    """The readable test: (n, the most approved of n that still fails) for each n where any count fails.

    A `margin` above 0 also asks that the rate after is at least that far below the one before.
    """
    c = threshold(alpha, n0, tasks).c
    good, total = cut(s0, n0)
    found: list[tuple[int, int]] = []
    s = -1
    for n in range(1, tasks + 1):
        while s < n and p_value(s + 1, n, good, total) <= c:
            s += 1
        most = s
        while most >= 0 and not is_below(most, n, s0, n0, margin):
            most -= 1
        if most >= 0:
            found.append((n, most))
    return tuple(found)


def is_below(s: int, n: int, s0: int, n0: int, margin: float) -> bool:
    """Is s of n at least `margin` (a share, to the millionth) below s0 of n0? In integers, so that a tie is a tie."""
    return 1_000_000 * (s0 * n - s * n0) >= round(margin * 1_000_000) * n0 * n


@lru_cache(maxsize=256)
def calibrate(alpha: float, n0: int, tasks: int) -> Threshold:
    """The largest c whose worst false-alarm probability over all rates is at most `alpha`; about half a second.

    Only p-values that can occur matter, so c is one of them: found by bisection, as the alarms only grow with c.
    """
    if not 0 < alpha < 1 or n0 < 1 or tasks < 1:
        raise UsageError(f"alpha {alpha}, {n0} tasks before and {tasks} after cannot be calibrated: "
                         "alpha is between 0 and 1, both counts are at least 1")  # fmt: skip
    lists = _p_values(alpha, n0, tasks)
    candidates = sorted({p for rows in lists for row in rows for p in row})
    low, high, best = 0, len(candidates), Threshold(0.0, 0.0, n0, tasks)
    while low < high:
        middle = (low + high) // 2
        worst = _worst(_crossings(candidates[middle], lists, n0, tasks))
        if worst <= alpha:
            low, best = middle + 1, Threshold(candidates[middle], worst, n0, tasks)
        else:
            high = middle
    return best


def false_alarm(rate: float, c: float, n0: int, tasks: int) -> float:
    """How likely a service whose rate stays at `rate` fails at any look, its baseline of `n0` tasks random as well."""
    return _mixed(rate, _counts(c, n0, tasks))


def worst_false_alarm(c: float, n0: int, tasks: int) -> float:
    """The largest `false_alarm` over all rates."""
    return _worst(_counts(c, n0, tasks))


@lru_cache(maxsize=64)
def _counts(c: float, n0: int, tasks: int) -> list[int]:
    return _crossings(c, _p_values(c, n0, tasks), n0, tasks)


def _p_values(most: float, n0: int, tasks: int) -> list[list[list[float]]]:
    """[s0][n - 1]: the p-values of s = 0, 1, ... up to `most`, ascending."""
    before = [comb(n0, k) for k in range(n0 + 1)]
    after = [[comb(n, k) for k in range(n + 1)] for n in range(tasks + 1)]
    both = [[comb(n0 + n, k) for k in range(n0 + n + 1)] for n in range(tasks + 1)]
    lists: list[list[list[float]]] = []
    for s0 in range(n0 + 1):
        rows: list[list[float]] = []
        for n in range(1, tasks + 1):
            row: list[float] = []
            for s in range(n + 1):
                total = s0 + s
                ways = after[n]
                below = sum(ways[k] * before[total - k] for k in range(max(0, total - n0), s + 1))
                p = below / both[n][total]
                if p > most:
                    break
                row.append(p)
            rows.append(row)
        lists.append(rows)
    return lists


def _crossings(c: float, lists: Sequence[Sequence[Sequence[float]]], n0: int, tasks: int) -> list[int]:
    """[T]: how many of the orders of n0 + tasks outcomes with T approved cross the boundary of c.

    For each s0, the paths (n, s) that have not crossed are counted step by step; a crossing takes them out.
    """
    crossing = [0] * (n0 + tasks + 1)
    whole = [comb(tasks, s) for s in range(tasks + 1)]
    for s0, rows in enumerate(lists):
        quiet = [1]
        for row in rows:
            quiet = [a + b for a, b in zip([*quiet, 0], [0, *quiet], strict=True)]
            for s in range(bisect_right(row, c)):
                quiet[s] = 0
        ways = comb(n0, s0)
        for s, (every, left) in enumerate(zip(whole, quiet, strict=True)):
            crossing[s0 + s] += ways * (every - left)
    return crossing


def _mixed(rate: float, crossing: Sequence[float]) -> float:
    """The sum of crossing[T] rate^T (1 - rate)^(M - T), by Horner's rule in the smaller of the two odds."""
    most = len(crossing) - 1
    if rate > 0.5:
        rate, crossing = 1 - rate, crossing[::-1]
    odds, total = rate / (1 - rate), 0.0
    for each in reversed(crossing):
        total = total * odds + each
    return float(total * (1 - rate) ** most)


def _worst(counts: Sequence[int]) -> float:
    """The largest value over all rates: a grid in the arcsine of the root, then every hill of it by thirds."""
    crossing = [float(each) for each in counts]
    step = pi / 2 / _RATES

    def value(angle: float) -> float:
        return _mixed(min(1.0, max(0.0, sin(angle) ** 2)), crossing)

    seen = [value(k * step) for k in range(_RATES + 1)]
    top = max(seen)
    for k in range(1, _RATES):
        if seen[k] < max(seen[k - 1], seen[k + 1]) or seen[k] < 0.9 * top:
            continue
        left, right = (k - 1) * step, (k + 1) * step
        for _ in range(_REFINED):
            a, b = left + (right - left) / 3, right - (right - left) / 3
            left, right = (a, right) if value(a) < value(b) else (left, b)
        top = max(top, value((left + right) / 2))
    return top


@lru_cache(maxsize=1)
def _table() -> MappingProxyType[tuple[float, int, int], Threshold]:
    """{(alpha, tasks, n0): threshold} of `knowledge/tables/rate-thresholds.toml`."""
    text = (knowledge.FOLDER / "tables" / "rate-thresholds.toml").read_text(encoding="utf-8")
    return MappingProxyType(
        {
            (float(row["alpha"]), int(row["tasks"]), int(n0)): Threshold(float(c), float(worst), int(n0), row["tasks"])
            for row in tomllib.loads(text)["threshold"]
            for n0, c, worst in zip(row["baseline"], row["c"], row["worst"], strict=True)
        }
    )


@lru_cache(maxsize=1)
def columns() -> tuple[int, ...]:
    """The sizes of baseline that the shipped table knows, ascending."""
    return tuple(sorted({n0 for _, _, n0 in _table()}))
