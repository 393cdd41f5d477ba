"""Which jobs are shards of one: a name without its shard numbers, told from a version matrix by its neighbours.

`test (1/5)`, `test (1 of 5)` and `test (shard 1)` say what they are. `test (default, 1, 5, linux)` and `node (18, 20)`
do not: two whole numbers k, n with 1 <= k <= n side by side. They are a shard when the names that differ in them alone
hold at least half of the n parts for some n: shards are counted from 1 without gaps and nearly all are seen, versions
are not. Once that holds the other n of these names are shards too: jobs are split anew now and then. One number alone
(`node (18)`) may be a version and stays.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_SHARD: Final = re.compile(r"(?:shard\s*)?\d+\s*(?:/|\bof\b)\s*\d+|shard\s*\d+", re.IGNORECASE)
_VALUES: Final = re.compile(r"\s*\(([^()]*)\)")
_NUMBER: Final = re.compile(r"\d{1,6}", re.ASCII)
_HERE: Final = "#"


def folded_names(names: Iterable[str]) -> dict[str, str]:
    """Each name with the name of the job it is a shard of, or itself; order and repetition of names do not matter."""
    known = set(names)
    sharded = _sharded(known)
    return {name: _folded(name, sharded) if "(" in name else name for name in known}


def _sharded(names: Iterable[str]) -> frozenset[str]:
    """Names with `#` in place of two numbers that are a shard."""
    parts: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for name in names:
        for found in _VALUES.finditer(name):
            values = _split(found)
            for place, k, n in _pairs(values):
                parts[_without(found, values, place)][n].add(k)
    return frozenset(
        name for name, by_count in parts.items() if any(2 * len(seen) >= n for n, seen in by_count.items())
    )


def _folded(name: str, sharded: frozenset[str]) -> str:
    return _VALUES.sub(lambda found: _kept(found, sharded), name)


def _kept(found: "re.Match[str]", sharded: frozenset[str]) -> str:
    """The values between two brackets that are no shard, with the brackets; '' when all are."""
    values = _split(found)
    pairs = {place for place, _, _ in _pairs(values) if _without(found, values, place) in sharded}
    kept: list[str] = []
    place = 0
    while place < len(values):
        if place in pairs:
            place += 2
            continue
        if not _SHARD.fullmatch(values[place]):
            kept.append(values[place])
        place += 1
    return f" ({', '.join(kept)})" if kept else ""


def _split(found: "re.Match[str]") -> list[str]:
    return [value.strip() for value in found[1].split(",")]


def _pairs(values: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Places at which two whole numbers k, n stand side by side, 1 <= k <= n; with both."""
    for place in range(len(values) - 1):
        if _NUMBER.fullmatch(values[place]) and _NUMBER.fullmatch(values[place + 1]):
            k, n = int(values[place]), int(values[place + 1])
            if 1 <= k <= n:
                yield place, k, n


def _without(found: "re.Match[str]", values: Sequence[str], place: int) -> str:
    """The whole name with `#` in place of the two values."""
    inside = ", ".join([*values[:place], _HERE, *values[place + 2 :]])
    return f"{found.string[: found.start(1)]}{inside}{found.string[found.end(1) :]}"
