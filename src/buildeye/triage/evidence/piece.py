"""One piece of evidence before it is weighed, and the spans in which judges look around."""

from dataclasses import dataclass
from datetime import timedelta
from math import log2
from typing import Literal


@dataclass(frozen=True, slots=True)
class Piece:
    """What one judge found: `id` names its weights, `strength` (0 and up) how much of it there is."""

    id: str
    strength: float
    quote: str
    why: str
    kind: Literal["history", "infrastructure", "person"] = "history"


@dataclass(frozen=True, slots=True)
class Window:
    """How far around a failure others count (settings `classification`): as related, and as known from before."""

    before: timedelta = timedelta(hours=12)
    after: timedelta = timedelta(hours=3)
    known: timedelta = timedelta(days=21)


def count_strength(count: float, most: float = 4.0) -> float:
    """Many say more than one, but not many times more: 1 is 1, 3 is 2, 7 is 3; at most `most`."""
    return min(log2(1 + count), most)


def counted(count: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{count} {one if count == 1 else many}"
