"""One pass of all patterns over raw bytes: which lines of a log are hit by which pattern.

The plain text that each pattern asks for compiles into one linear-time database, cached on disk by content; it sees
each block once. The lines that hold such text are cleaned, and a second database says which patterns they match. Both
are linear in the text, and how many rules there are hardly matters; `re` only takes captures from lines that matched.
"""

import hashlib
import json
import os
import re
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import hyperscan

from buildeye.logs.literals import SHORTEST, required
from buildeye.logs.text import MAX_LINE, bare, clean, strip_ansi
from buildeye.model import UsageError

_FORM = 10
"""Raised when the cached form changes."""
LATE_BYTES = 6 << 20
FIRST_HITS = 400
LAST_HITS = 100
"""Hits of one pattern that are kept: the first and the last so many; a line that repeats 100,000 times adds nothing."""


class Block(Protocol):
    """A piece of a log as `source` hands it out."""

    @property
    def offset(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def continues(self) -> bool: ...
    @property
    def data(self) -> bytes: ...


class Log(Protocol):
    """What the engine needs of a log: blocks in order, and bytes at random."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    def blocks(self, size: int = ...) -> Iterable[Block]: ...
    def read(self, start: int, end: int) -> bytes: ...


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
        wanted = required(pattern) if _is_regular(pattern) else None
        texts |= wanted or set()
        if wanted is None:
            rest.append(i)
    return sorted(text for text in texts if not _holds_another(text, texts)), rest


def _holds_another(text: str, texts: Set[str]) -> bool:
    """Does the text hold a shorter one of `texts`, so that looking for that one finds it too?"""
    size = len(text)
    return any(text[i:j] in texts for i in range(size) for j in range(i + SHORTEST, size + 1) if j - i < size)


def _is_regular(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


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


def _put(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as f:
        f.write(data)
    Path(f.name).replace(path)


def cache_folder() -> Path:
    """Where compiled databases are kept: `$XDG_CACHE_HOME/build-eye`, by default under `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "build-eye"


@dataclass(slots=True)
class Scan:
    """What one pass found: lines by pattern id, how many lines there are, and where each block starts."""

    hits: dict[int, list[int]] = field(default_factory=dict)
    lines: int = 0
    starts: list[tuple[int, int, bool]] = field(default_factory=list)


def scan(log: Log, matcher: Matcher) -> Scan:
    """Read a log once, block by block; memory is bounded by the block, not by the log."""
    result = Scan()
    skip = matcher.late_ids
    for block in log.blocks():
        result.starts.append((block.line, block.offset, block.continues))
        data = strip_ansi(_readable(block))
        result.lines = _scan_block(result, data, block.line, matcher, (matcher.words, matcher.shapes), skip)
    return result


def scan_late(log: Log, matcher: Matcher, wanted: frozenset[int], result: Scan) -> None:
    """A second look at the end of the log, for those late patterns that are `wanted`; their hits join the others.

    A failure is told at the end of a log, so the last `LATE_BYTES` are enough for patterns that are dear to look for.
    """
    if not wanted or matcher.late is None or not result.starts:
        return
    found = Scan()
    near_end = [start for start in result.starts if start[1] >= result.starts[-1][1] - LATE_BYTES]
    for (line, offset, continues), following in zip(near_end, [*near_end[1:], (0, log.size, False)], strict=True):
        if not continues:
            data = strip_ansi(log.read(offset, following[1]))
            _scan_block(found, data, line, matcher, (matcher.late,), frozenset())
    result.hits.update((pattern, lines) for pattern, lines in found.hits.items() if pattern in wanted)


def _scan_block(
    result: Scan, data: bytes, line: int, matcher: Matcher, finders: Sequence[Any], skip: frozenset[int]
) -> int:
    """Find the hits of a block and number its lines, going forward once; returns the number of its last line."""
    counted = 0
    for start, patterns in _matched(data, _candidates(data, finders), matcher.exact):
        line += data.count(b"\n", counted, start)
        counted = start
        for pattern in patterns:
            if pattern not in skip and not (pattern in matcher.once and pattern in result.hits):
                _keep(result, pattern, line)
    line += data.count(b"\n", counted)
    return line - 1 if data.endswith(b"\n") else line


def _candidates(data: bytes, finders: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Lines that may match some pattern, in order: (start, end) in the block."""
    ends: list[int] = []
    framed = b"\n" + data + b"\n"
    for finder in finders:
        if finder is not None:
            finder.scan(framed, match_event_handler=_ends_into(ends))
    ends.sort()
    stop = -1
    for end in ends:
        inside = max(end - 2, 0)
        if inside > stop or stop < 0:
            start = data.rfind(b"\n", 0, inside) + 1
            stop = data.find(b"\n", inside)
            stop = len(data) if stop < 0 else stop
            yield start, stop


def _ends_into(ends: list[int]) -> Any:
    add = ends.append

    def on_match(_pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
        add(end)

    return on_match


def _matched(data: bytes, spans: Iterable[tuple[int, int]], exact: Sequence[Any]) -> Iterator[tuple[int, set[int]]]:
    """The lines among `spans` that match, by their start, with the patterns they match.

    Each line is a scan of its own: in one buffer with others, a large database of anchored patterns loses matches.
    """
    scans = [database.scan for database in exact if database is not None]
    for start, end in spans:
        found: set[int] = set()
        on_match = _ids_into(found)
        text = clean(data[start : min(end, start + MAX_LINE * 4)])
        plain = bare(text)
        for said in (text,) if plain == text else (text, plain):
            raw = said.encode("utf-8", "replace")
            for scan_line in scans:
                scan_line(raw, match_event_handler=on_match)
        if found:
            yield start, found


def _ids_into(found: set[int]) -> Any:
    add = found.add

    def on_match(pattern: int, _start: int, _end: int, _flags: int, _context: object) -> None:
        add(pattern)

    return on_match


def _readable(block: Block) -> bytes:
    """The bytes of a block without the middle of a line that is longer than a block: nobody reads that far."""
    if not block.continues:
        return block.data
    end = block.data.find(b"\n")
    return b"" if end < 0 else block.data[end:]


def _keep(result: Scan, pattern: int, line: int) -> None:
    lines = result.hits.setdefault(pattern, [])
    if not lines or lines[-1] != line:
        lines.append(line)
    if len(lines) > FIRST_HITS + 2 * LAST_HITS:
        del lines[FIRST_HITS : FIRST_HITS + LAST_HITS]


class Lines:
    """Cleaned lines of a log by number, read again from where they are; keeps the last two blocks at hand."""

    def __init__(self, log: Log, found: Scan) -> None:
        self._log = log
        self._starts = found.starts
        self._first = [line for line, _, _ in found.starts]
        self.count = found.lines
        self._pages: dict[int, tuple[bytes, array[int]]] = {}
        self._texts: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        """The cleaned text of a line (1-based); empty beyond the ends."""
        if number not in self._texts:
            if len(self._texts) > 50_000:
                self._texts.clear()
            self._texts[number] = clean(self.raw(number)) if 1 <= number <= self.count else ""
        return self._texts[number]

    def raw(self, number: int) -> bytes:
        """The bytes of a line (1-based), cut at 64 KiB."""
        page = bisect_right(self._first, number) - 1
        while page > 0 and self._first[page] == number and self._starts[page][2]:
            page -= 1
        data, ends = self._page(page)
        index = number - self._first[page]
        start = ends[index - 1] + 1 if index else 0
        end = ends[index] if index < len(ends) else len(data)
        return data[start : min(end, start + 65536)]

    def _page(self, page: int) -> tuple[bytes, "array[int]"]:
        if page not in self._pages:
            if len(self._pages) > 1:
                del self._pages[next(iter(self._pages))]
            start = self._starts[page][1]
            end = self._starts[page + 1][1] if page + 1 < len(self._starts) else self._log.size
            data = self._log.read(start, end)
            self._pages[page] = (data, array("q", (m.start() for m in re.finditer(rb"\n", data))))
        return self._pages[page]

    def between(self, start: int, end: int) -> list[tuple[int, str]]:
        """Numbered cleaned lines from `start` to `end`, both included, cut to what exists."""
        return [(n, self[n]) for n in range(max(1, start), min(self.count, end) + 1)]
