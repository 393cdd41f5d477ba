"""One pass of all patterns over raw bytes: which lines of a log are hit by which pattern.

Patterns of all rules and of the log's own marks compile into one linear-time database, cached on disk by content. The
database sees each block once; captures are taken by `re` later, on the few lines that hit.
"""

import hashlib
import os
import re
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import hyperscan

from buildeye.logs.text import clean, strip_ansi
from buildeye.model import UsageError

_FLAGS = hyperscan.HS_FLAG_MULTILINE
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
    """The same pattern for raw bytes: `^` also behind what cleaning takes away, `$` also before what it takes away."""
    flags, body = ("(?i)", pattern[4:]) if pattern.startswith("(?i)") else ("", pattern)
    if body.startswith("^"):
        body = r"(?:^|\W)(?:" + body[1:] + ")"
    if body.endswith("$") and not body.endswith(r"\$"):
        body = body[:-1] + r"[ \t\r]*$"
    elif body.endswith("$)") and not body.endswith(r"\$)"):
        body = body[:-2] + r"[ \t\r]*$)"
    return (flags + body).encode()


def hyperscan_problem(pattern: str) -> str | None:
    """Why the linear-time compiler refuses a pattern; None when it takes it."""
    try:
        hyperscan.Database().compile(expressions=[hyperscan_pattern(pattern)], flags=[_FLAGS])
    except hyperscan.HyperscanError as e:
        return f"the linear-time matcher refuses it ({e})"
    return None


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """`re` form of a rule pattern, for captures on a cleaned line."""
    return re.compile(pattern)


@dataclass(frozen=True, slots=True)
class Matcher:
    """A compiled database of patterns; a pattern's id is its position in the list it was compiled from."""

    database: Any

    @classmethod
    def compile(cls, patterns: Sequence[str], cache: Path | None = None) -> "Matcher":
        """Compile, or take from the folder `cache` what was compiled from the same patterns before."""
        expressions = [hyperscan_pattern(p) for p in patterns]
        version = f"{getattr(hyperscan, '__version__', '')}|1".encode()
        name = f"{hashlib.sha256(version + b'|'.join(expressions)).hexdigest()[:24]}.hsdb"
        if cache and (loaded := _load(cache / name)):
            return cls(loaded)
        database = hyperscan.Database()
        try:
            database.compile(expressions=expressions, ids=list(range(len(patterns))), flags=[_FLAGS] * len(patterns))
        except hyperscan.HyperscanError as e:
            raise UsageError(_refused(patterns) or f"the failure rules do not compile together ({e})") from e
        if cache:
            _store(cache / name, hyperscan.dumpb(database))
        return cls(database)


def _refused(patterns: Sequence[str]) -> str:
    for pattern in patterns:
        if said := hyperscan_problem(pattern):
            return f"rule pattern {pattern!r}: {said}; check the pack with `build-eye rules lint`"
    return ""


def _load(path: Path) -> Any | None:
    try:
        database = hyperscan.loadb(path.read_bytes(), hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except (OSError, hyperscan.HyperscanError):
        return None
    return database


def _store(path: Path, data: bytes) -> None:
    """Keep a database for the next call; a cache that cannot be written is no reason to fail."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as f:
            f.write(data)
        Path(f.name).replace(path)
    except OSError:
        return


def cache_folder() -> Path:
    """Where compiled databases are kept: `$XDG_CACHE_HOME/build-eye`, by default under `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "build-eye"


@dataclass(slots=True)
class Scan:
    """What one pass found: candidate lines by pattern id, how many lines there are, and where each block starts."""

    hits: dict[int, list[int]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    lines: int = 0
    starts: list[tuple[int, int, bool]] = field(default_factory=list)


def scan(log: Log, matcher: Matcher) -> Scan:
    """Read a log once, block by block; memory is bounded by the block, not by the log."""
    result = Scan()
    database = matcher.database
    last = 0
    for block in log.blocks():
        result.starts.append((block.line, block.offset, block.continues))
        data = strip_ansi(_readable(block))
        found: list[tuple[int, int]] = []
        database.scan(data, match_event_handler=_collector(found))
        last = _number(result, data, block.line, sorted(set(found)))
        result.lines = last
    return result


def _readable(block: Block) -> bytes:
    """The bytes of a block without the middle of a line that is longer than a block: nobody reads that far."""
    if not block.continues:
        return block.data
    end = block.data.find(b"\n")
    return b"" if end < 0 else block.data[end:]


def _collector(found: list[tuple[int, int]]) -> Any:
    add = found.append

    def on_match(pattern: int, _start: int, end: int, _flags: int, _context: object) -> None:
        add((end, pattern))

    return on_match


def _number(result: Scan, data: bytes, first_line: int, found: list[tuple[int, int]]) -> int:
    """Turn end offsets into line numbers, going forward through the block once; returns the block's last line."""
    line, position, seen = first_line, 0, -1
    at_line: set[int] = set()
    for end, pattern in found:
        stop = end - 1 if end and data[end - 1 : end] == b"\n" else end
        line += data.count(b"\n", position, stop)
        position = max(position, stop)
        if line != seen:
            seen, at_line = line, set()
        if pattern not in at_line:
            at_line.add(pattern)
            _keep(result, pattern, line)
    line += data.count(b"\n", position)
    return line - 1 if data.endswith(b"\n") else line


def _keep(result: Scan, pattern: int, line: int) -> None:
    lines = result.hits.setdefault(pattern, [])
    if lines and lines[-1] == line:
        return
    count = result.counts.get(pattern, 0) + 1
    result.counts[pattern] = count
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
