"""Which cause a failure that no rule knows is like: by the words of its line, and of the lines beside it.

Method: logistic regression (L2) on words and pairs of words, learnt from the examples of the rules and from invented
logs (`benchmarks/likeness.py` makes the table). What it says is a likeness, not knowledge: it is never stated as sure.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from buildeye import knowledge
from buildeye.logs.text import bare, clean
from buildeye.model import Cause

AROUND = 4
"""Lines before and behind the key line whose words count, half as much."""
MOST_SURE = 0.8
_WORD = re.compile(r"[A-Za-z]{2,}")
_HUMP = re.compile(r"([a-z])([A-Z])")


@dataclass(frozen=True, slots=True)
class Likeness:
    """The likeliest cause with its probability, the likeliest category of that cause, and the words that spoke most."""

    cause: Cause
    category: str
    probability: float
    words: tuple[str, ...]


def likeness(lines: Sequence[str], key: int) -> Likeness:
    """What the line with index `key` is like, among the lines around it."""
    table = _table()
    found = features(lines, key)
    causes = _softmax(_scores(table["cause"], found))
    cause = max(causes, key=causes.__getitem__)
    categories = _scores(table["category"], found)
    own = {name: score for name, score in categories.items() if table["home"].get(name) == cause}
    category = max(own, key=own.__getitem__)
    return Likeness(Cause(cause), category, min(causes[cause], MOST_SURE), _telling(table["cause"], found, cause))


def features(lines: Sequence[str], key: int) -> dict[str, float]:
    """Words and pairs of words of the key line, and words of the lines around it, each with how much it counts."""
    first, last = max(0, key - AROUND), key + AROUND + 1
    near = [_words(bare(clean(line.encode()))) for line in lines[first:last]]
    own = near[key - first]
    found = {f"n:{word}": 0.5 for words in near for word in words}
    found |= {f"k:{word}": 1.0 for word in own}
    return found | {f"k:{one} {more}": 1.0 for one, more in pairwise(own)}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_HUMP.sub(r"\1 \2", text))]


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((knowledge.FOLDER / "tables" / "likeness.json").read_text(encoding="utf-8"))
    return table


def _scores(model: Mapping[str, Any], found: Mapping[str, float]) -> dict[str, float]:
    scores = list(model["bias"])
    for feature, value in found.items():
        for i, weight in model["words"].get(feature, {}).items():
            scores[int(i)] += weight * value
    return dict(zip(model["names"], scores, strict=True))


def _softmax(scores: Mapping[str, float]) -> dict[str, float]:
    highest = max(scores.values())
    parts = {name: math.exp(score - highest) for name, score in scores.items()}
    whole = sum(parts.values())
    return {name: part / whole for name, part in parts.items()}


def _telling(model: Mapping[str, Any], found: Mapping[str, float], cause: str, most: int = 4) -> tuple[str, ...]:
    i = str(model["names"].index(cause))
    weights = {f[2:]: model["words"].get(f, {}).get(i, 0.0) * value for f, value in found.items()}
    return tuple(word for word in sorted(weights, key=lambda w: (-weights[w], w)) if weights[word] > 0.05)[:most]
