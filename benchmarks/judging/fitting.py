"""Weights fitted to labelled cases: a multinomial logit that stays near the weights it began with.

Only weights that the file lists are free, so each number keeps its meaning; the further one moves from where a person
set it, the more it costs (a Gaussian prior, that is: a maximum a posteriori estimate).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from buildeye.model import Cause, Determinism, Diagnosis
from buildeye.simulator.facts import Truth
from buildeye.triage.evidence import Piece
from buildeye.triage.fusion import is_guess
from buildeye.triage.weights import Weights

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """A diagnosis with its evidence and what was true; `counts` is how much it counts."""

    diagnosis: Diagnosis
    pieces: tuple[Piece, ...]
    truth: str
    counts: float = 1.0


def explanation_of(truth: Truth, weights: Weights) -> str:
    """The explanation that a truth is; empty for one that weights do not tell apart (cancelled jobs)."""
    if truth.cause is Cause.INTERFERENCE:
        return truth.category if truth.category in weights.causes else ""
    if truth.cause is Cause.CODE and truth.determinism is Determinism.FLAKY:
        return "flaky"
    return str(truth.cause) if str(truth.cause) in weights.causes else ""


def fit(
    examples: Sequence[Example], weights: Weights, *, pull: float = 2.0, steps: int = 1500
) -> dict[str, dict[str, float]]:
    """New numbers by table row (`prior.code`, `evidence.base-broken`, `sureness` ...)."""
    names = list(weights.causes)
    rows = row_names(weights)
    index = {row: position for position, row in enumerate(rows)}
    start, free = tables(weights, rows, names)
    x = np.zeros((len(examples), len(rows)))
    y = np.zeros(len(examples), dtype=int)
    counts = np.array([example.counts for example in examples])
    for position, example in enumerate(examples):
        for row, strength in features(example, weights):
            if row in index:
                x[position, index[row]] += strength
        y[position] = names.index(example.truth)
    truth = np.eye(len(names))[y]
    found = _descend(x, truth, counts, start, free, pull, steps)
    return {
        row: {
            name: round(float(found[index[row], column]), 2)
            for column, name in enumerate(names)
            if free[index[row], column]
        }
        for row in rows
    }


def _descend(x: Array, truth: Array, counts: Array, start: Array, free: Array, pull: float, steps: int) -> Array:
    """Adam (Kingma and Ba 2015) on the whole set."""
    weights = start.copy()
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        scores = x @ weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        slope = (x.T @ ((shares - truth) * counts[:, None]) + pull * (weights - start)) * free
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope * slope
        pace = 0.03 * (1 - step / steps) + 0.001
        weights -= pace * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def row_names(weights: Weights) -> list[str]:
    """All rows of the tables; sureness is one row a cause, since it counts for that cause alone."""
    named: Sequence[tuple[str, Mapping[str, object]]] = (
        ("prior", weights.prior), ("group", weights.group), ("evidence", weights.evidence),
    )  # fmt: skip
    return [f"{table}.{row}" for table, rows in named for row in rows] + [f"sureness.{c}" for c in weights.sureness]


def tables(weights: Weights, rows: Sequence[str], names: Sequence[str]) -> tuple[Array, Array]:
    """The numbers as a matrix, and which of them may move."""
    start, free = np.zeros((len(rows), len(names))), np.zeros((len(rows), len(names)))
    for position, row in enumerate(rows):
        table, _, name = row.partition(".")
        if table == "sureness":
            values: Mapping[str, float] = {name: weights.sureness[name]}
        else:
            values = {"prior": weights.prior, "group": weights.group, "evidence": weights.evidence}[table][name]
        for explanation, value in values.items():
            start[position, names.index(explanation)] = value
            free[position, names.index(explanation)] = 1.0
    return start, free


def features(example: Example, weights: Weights) -> list[tuple[str, float]]:
    """The rows that speak in an example, and how strongly."""
    diagnosis, said = example.diagnosis, str(example.diagnosis.cause)
    guessed = is_guess(diagnosis)
    found = [(f"prior.{'guess' if guessed else said if said in weights.prior else 'unknown'}", 1.0)]
    sure = min(max(diagnosis.confidence, 0.02), 0.98)
    found.append((f"sureness.{said}", log(sure / (1 - sure))))
    if not guessed:
        found.append((f"group.{weights.group_of(diagnosis.category)}", 1.0))
    found += [
        (f"evidence.{piece.id}", piece.strength)
        for piece in example.pieces
        if guessed or not weights.is_mute(piece.id, diagnosis.category)
    ]
    return found


_TABLE = re.compile(r"^\[([\w.-]+)\]")
_NUMBER = re.compile(r"^([\w-]+)( = )(-?[\d.]+)$")


def rewritten(text: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """The file with the new numbers; comments and order stay."""
    table, lines = "", []
    for line in text.splitlines():
        if match := _TABLE.match(line):
            table = match[1]
        elif (match := _NUMBER.match(line)) and table != "calibration":
            row = {match[1]: found[f"sureness.{match[1]}"][match[1]]} if table == "sureness" else found.get(table, {})
            if match[1] in row:
                line = f"{match[1]} = {row[match[1]]}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def isotonic(stated: Sequence[float], right: Sequence[bool], points: Sequence[float]) -> list[tuple[float, float]]:
    """Measured shares at the points, never falling (pool adjacent violators), drawn a little towards one half."""
    order = np.argsort(stated)
    values = [[float(right[i]), 1.0, stated[i]] for i in order]
    pooled: list[list[float]] = []
    for value, count, at in values:
        pooled.append([value, count, at * count])
        while len(pooled) > 1 and pooled[-2][0] >= pooled[-1][0]:
            last = pooled.pop()
            before = pooled.pop()
            total = before[1] + last[1]
            pooled.append([(before[0] * before[1] + last[0] * last[1]) / total, total, before[2] + last[2]])
    xs = [block[2] / block[1] for block in pooled]
    ys = [(block[0] * block[1] + 0.5) / (block[1] + 1.0) for block in pooled]
    ys = list(np.maximum.accumulate(ys))
    return [(point, round(float(np.interp(point, xs, ys)), 3)) for point in points]
