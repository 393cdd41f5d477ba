"""Weights fitted to labelled cases: a multinomial logit that stays near the weights it began with.

Only weights that the file lists are free, so each number keeps its meaning; the further one moves from where a person
set it, the more it costs (a Gaussian prior, that is: a maximum a posteriori estimate).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from buildeye.model import Cause, Determinism, Diagnosis
from buildeye.simulator.facts import Truth
from buildeye.triage.evidence import Piece
from buildeye.triage.fusion import prior_scores, rows_of
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
    """New weights by kind of evidence; what is probable before evidence stays as it is."""
    names, rows = list(weights.causes), list(weights.evidence)
    index = {row: position for position, row in enumerate(rows)}
    start, free = tables(weights, rows, names)
    x = np.zeros((len(examples), len(rows)))
    before = np.zeros((len(examples), len(names)))
    for position, example in enumerate(examples):
        scores = prior_scores(example.diagnosis, weights)
        before[position] = [scores[name] for name in names]
        for piece in example.pieces:
            if rows_of(piece, example.diagnosis, weights):
                x[position, index[piece.id]] += piece.strength
    truth = np.eye(len(names))[[names.index(example.truth) for example in examples]]
    counts = np.array([example.counts for example in examples])
    found = _descend(x, before, truth, counts, start, free, pull, steps)
    return {
        row: {name: round(float(found[i, j]), 2) for j, name in enumerate(names) if free[i, j]}
        for row, i in index.items()
    }


def _descend(
    x: Array, before: Array, truth: Array, counts: Array, start: Array, free: Array, pull: float, steps: int
) -> Array:
    """Adam (Kingma and Ba 2015) on the whole set."""
    weights = start.copy()
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        scores = before + x @ weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        slope = (x.T @ ((shares - truth) * counts[:, None]) + pull * (weights - start)) * free
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope * slope
        pace = 0.03 * (1 - step / steps) + 0.001
        weights -= pace * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def tables(weights: Weights, rows: Sequence[str], names: Sequence[str]) -> tuple[Array, Array]:
    """The weights as a matrix, and which of them may move."""
    start, free = np.zeros((len(rows), len(names))), np.zeros((len(rows), len(names)))
    for position, row in enumerate(rows):
        for explanation, value in weights.evidence[row].items():
            start[position, names.index(explanation)] = value
            free[position, names.index(explanation)] = 1.0
    return start, free


_TABLE = re.compile(r"^\[evidence\.([\w-]+)\]")
_NUMBER = re.compile(r"^([\w-]+)( = )(-?[\d.]+)$")


def rewritten(text: str, found: Mapping[str, Mapping[str, float]]) -> str:
    """The file with the new numbers; comments and order stay."""
    table, lines = "", []
    for line in text.splitlines():
        if line.startswith("["):
            match = _TABLE.match(line)
            table = match[1] if match else ""
        elif match := _NUMBER.match(line):
            row = found.get(table, {})
            if match[1] in row:
                line = f"{match[1]} = {row[match[1]]}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def balanced(examples: Sequence[Example]) -> list[Example]:
    """Rare explanations count more, by the root of their rarity: the first failure of a trunk is rare, and matters."""
    counts = Counter(example.truth for example in examples)
    mean = len(examples) / len(counts)
    return [replace(each, counts=each.counts * (mean / counts[each.truth]) ** 0.5) for each in examples]


def isotonic(
    stated: Sequence[float], right: Sequence[bool], points: Sequence[float], *, trust: float = 40.0
) -> list[tuple[float, float]]:
    """Measured shares around each point, never falling; as if `trust` more cases had been as right as was stated.

    Of the cases between the neighbours of a point; what is below 0.5 is told as unknown and stays as stated.
    """
    xs, ys = np.array(stated), np.array(right, dtype=float)
    edges = [0.0, *((low + high) / 2 for low, high in pairwise(points)), 1.01]
    found, top = [], 0.0
    for point, low, high in zip(points, edges, edges[1:], strict=False):
        here = (xs >= low) & (xs < high)
        value = (ys[here].sum() + trust * point) / (here.sum() + trust) if point > 0.5 else point
        top = max(top, value)
        found.append((point, round(float(top), 3)))
    return found
