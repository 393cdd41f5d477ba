"""Patterns of rules compiled for raw bytes and for cleaned lines, kept on disk by content.

The plain text that each pattern asks for makes one linear-time database for raw bytes; the patterns themselves make
another for the lines that hold such text. The cost grows slowly with the number of rules, and no pattern can hang.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import hyperscan

from buildeye.logs.literals import SHORTEST, required
from buildeye.model import UsageError

_FORM = 12
"""Raised when the cached form changes."""


def hyperscan_pattern(pattern: str) -> bytes:
    """The same pattern for raw bytes that begin and end with a line feed: `^` and `$` stand for what may be there.

    `^` is also behind what cleaning takes away, `$` before it. Real anchors are not used: where many patterns have
    them, matches are lost that depend on the line before.
    """
    flags, body = ("(?i)", pattern[4:]) if pattern.startswith("(?i)") else ("", pattern)
    if body.startswith("^"):
        body = r"\W(?:" + body[1:] + ")"
    if body.endswith("$") and not body.endswith(r"\$"):
        body = body[:-1] + r"[ \t\r]*\n"
    elif body.endswith("$)") and not body.endswith(r"\$)"):
        body = body[:-2] + r"[ \t\r]*\n)"
    return (flags + body).encode()


def hyperscan_problem(pattern: str) -> str | None:
    """Why the linear-time compiler refuses a pattern; None when it takes it."""
    try:
        hyperscan.Database().compile(expressions=[hyperscan_pattern(pattern)], flags=[0])
    except hyperscan.HyperscanError as e:
        return f"the linear-time matcher refuses it ({e})"
    return None


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """`re` form of a rule pattern, for captures on a cleaned line."""
    return re.compile(pattern)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Compiled patterns; a pattern's id is its position in the list it was compiled from.

    Most patterns need some plain text of their own to be in a line: `words` finds all such texts at once. The few
    others are in `shapes`, as raw lines have them; those of them that may wait until more is known of the log
    (`late_ids`) are in `late`. Lines found by these are cleaned, and `exact` says in linear time which patterns they
    match.
    """

    words: Any
    shapes: Any
    late: Any
    exact: tuple[Any, ...]
    late_ids: frozenset[int] = frozenset()
    once: frozenset[int] = frozenset()

    @classmethod
    def compile(
        cls,
        patterns: Sequence[str],
        cache: Path | None = None,
        once: frozenset[int] = frozenset(),
        waiting: frozenset[int] = frozenset(),
    ) -> "Matcher":
        """Compile, or take from the folder `cache` what was compiled from the same patterns before.

        Of the patterns in `once` only the first hit of a log is kept; those in `waiting` may be left to `scan_late`.
        """
        version = f"{getattr(hyperscan, '__version__', '')}|{_FORM}"
        key = "\0".join([version, *map(str, sorted(waiting)), *patterns])
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        if cache and (kept := _load(cache, name)):
            return replace(kept, once=once)
        with ThreadPoolExecutor(SHARES) as pool:
            shares = [range(first, len(patterns), SHARES) for first in range(SHARES)]
            exact = [pool.submit(_compile_exact, patterns, share) for share in shares]
            texts, rest = _sort_out(patterns)
            late, early = ([i for i in rest if (i in waiting) is wanted] for wanted in (True, False))
            made = cls(
                _compile([text.encode() for text in texts], range(len(texts)), literal=True),
                _compile([hyperscan_pattern(patterns[i]) for i in early], early),
                _compile([hyperscan_pattern(patterns[i]) for i in late], late),
                tuple(share.result() for share in exact),
                frozenset(late),
                once,
            )
        if cache:
            _store(cache, name, made)
        return made


def _compile_exact(patterns: Sequence[str], share: Sequence[int]) -> Any:
    return _compile([patterns[i].encode() for i in share], share)


_PARTS = ("words", "shapes", "late")
SHARES = 2
"""Parts in which the patterns for cleaned lines are compiled, each on a core of its own."""


def _sort_out(patterns: Sequence[str]) -> tuple[list[str], list[int]]:
    """The texts to look for, and the patterns for which there is no such text."""
    texts: set[str] = set()
    rest: list[int] = []
    for i, pattern in enumerate(patterns):
        wanted = _required(pattern)
        texts |= wanted or set()
        if wanted is None:
            rest.append(i)
    return sorted(text for text in texts if not _holds_another(text, texts)), rest


def _holds_another(text: str, texts: Set[str]) -> bool:
    """Does the text hold a shorter one of `texts`, so that looking for that one finds it too?"""
    size = len(text)
    return any(text[i:j] in texts for i in range(size) for j in range(i + SHORTEST // 2, size + 1) if j - i < size)


def _required(pattern: str) -> Set[str] | None:
    try:
        return required(pattern)
    except re.error:
        return None


def _compile(expressions: Sequence[bytes], ids: Iterable[int], *, literal: bool = False) -> Any:
    if not expressions:
        return None
    flags = [hyperscan.HS_FLAG_CASELESS if literal else 0] * len(expressions)
    database = hyperscan.Database()
    try:
        database.compile(expressions=expressions, ids=list(ids), flags=flags, literal=literal)
    except hyperscan.HyperscanError as e:
        raise UsageError(_refused(expressions, e)) from e
    return database


def _refused(expressions: Sequence[bytes], error: Exception) -> str:
    for expression in expressions:
        if said := hyperscan_problem(expression.decode()):
            return f"rule pattern {expression.decode()!r}: {said}; check the pack with `build-eye rules lint`"
    return f"the failure rules do not compile together ({error}); check the packs with `build-eye rules lint`"


def _load(cache: Path, name: str) -> Matcher | None:
    try:
        late = json.loads((cache / f"{name}.late.json").read_bytes())
        parts = {part: _loaded(cache / f"{name}.{part}.hsdb") for part in _PARTS}
        exact = tuple(_loaded(cache / f"{name}.exact{i}.hsdb") for i in range(SHARES))
        return Matcher(**parts, exact=exact, late_ids=frozenset(late))
    except (OSError, ValueError, TypeError, hyperscan.HyperscanError):
        return None


def _loaded(path: Path) -> Any:
    data = path.read_bytes()
    if not data:
        return None
    database = hyperscan.loadb(data, hyperscan.HS_MODE_BLOCK)
    database.scratch = hyperscan.Scratch(database)
    return database


def _store(cache: Path, name: str, made: Matcher) -> None:
    """Keep what was compiled for the next call; a cache that cannot be written is no reason to fail."""
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        parts = [(part, getattr(made, part)) for part in _PARTS]
        for part, database in [*parts, *((f"exact{i}", database) for i, database in enumerate(made.exact))]:
            _put(cache / f"{name}.{part}.hsdb", hyperscan.dumpb(database) if database is not None else b"")
        _put(cache / f"{name}.late.json", json.dumps(sorted(made.late_ids)).encode())
    except OSError:
        return


def kept_database(expressions: Sequence[bytes], ids: Sequence[int], cache: Path) -> Any:
    """A small database, from the cache when the same was compiled before."""
    version = f"{getattr(hyperscan, '__version__', '')}|{_FORM}".encode()
    path = cache / f"{hashlib.sha256(b'|'.join([version, *expressions])).hexdigest()[:24]}.small.hsdb"
    try:
        return _loaded(path)
    except (OSError, hyperscan.HyperscanError):
        made = _compile(expressions, ids)
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        _put(path, hyperscan.dumpb(made))
    except OSError:
        return made
    return made


def _put(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as f:
        f.write(data)
    Path(f.name).replace(path)


def cache_folder() -> Path:
    """Where compiled databases are kept: `$XDG_CACHE_HOME/build-eye`, by default under `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "build-eye"
