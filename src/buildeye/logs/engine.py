"""One pass of all patterns over raw bytes: which lines of a log are hit by which pattern.

Each block is searched for the words that patterns ask for; the lines that hold one are cleaned, and an exact matcher
says which patterns they match. `re` only takes captures, from lines that matched.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from buildeye.logs.matcher import Matcher
from buildeye.logs.text import MAX_LINE, bare, clean, strip_ansi

LATE_BYTES = 6 << 20
"""Bytes at the end of a log in which patterns are looked for that are dear to look for."""
MANY = 20_000
"""Lines looked at closely before it pays to remember those that match nothing."""
MOST_QUIET = 50_000
"""Lines without a match that are remembered."""
_STAMP = re.compile(rb"^\d{4}-\d\d-\d\d[T ][\d:.,]{8,18}(?:Z|[+-]\d\d:?\d\d)? ?")
_LONG_NUMBER = re.compile(rb"\d{4,}")
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


@dataclass(slots=True)
class Scan:
    """What one pass found: lines by pattern id, how many lines there are, and where each block starts."""

    hits: dict[int, list[int]] = field(default_factory=dict)
    lines: int = 0
    starts: list[tuple[int, int, bool]] = field(default_factory=list)
    quiet: set[bytes] = field(default_factory=set)
    candidates: int = 0


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
    for start, patterns in _matched(result, data, _candidates(data, finders), matcher.exact):
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


def _matched(
    result: Scan, data: bytes, spans: Iterable[tuple[int, int]], exact: Sequence[Any]
) -> Iterator[tuple[int, set[int]]]:
    """The lines among `spans` that match, by their start, with the patterns they match.

    Each line is a scan of its own: in one buffer with others, a large database of anchored patterns loses matches.
    Once a log has had `MANY` candidates, lines that match nothing are remembered without their stamp and long numbers:
    what a log says a million times is read once.
    """
    scans = [database.scan for database in exact if database is not None]
    for start, end in spans:
        result.candidates += 1
        shape = _shape(data[start:end]) if result.candidates > MANY else b""
        if shape and shape in result.quiet:
            continue
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
        elif shape and len(result.quiet) < MOST_QUIET and len(shape) < MAX_LINE:
            result.quiet.add(shape)


def _shape(raw: bytes) -> bytes:
    """A raw line without its stamp and with every long number the same."""
    return _LONG_NUMBER.sub(b"#", _STAMP.sub(b"", raw, 1) if raw[4:5] == b"-" else raw)


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
