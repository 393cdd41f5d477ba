"""One pass of all patterns over raw bytes: which lines of a log are hit by which pattern.

Each block is searched for the texts that patterns ask for; a line that holds one is asked for the few patterns that
could be in it. What answers is cleaned, and `re` has the last word.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

from buildeye.logs.matcher import Finder, Matcher, compiled
from buildeye.logs.text import MAX_LINE, bare, clean, strip_ansi

LATE_BYTES = 1 << 20
"""Bytes before the end of a failed step, and of a log, in which patterns are looked for that are dear to look for."""
_END = b"\n\n"
"""What ends a piece that is searched. Hyperscan misses some matches that end at the last byte of what it is given."""
FIRST_HITS = 400
LAST_HITS = 100
"""Hits of one pattern that are kept: the first and the last so many; a line that repeats 100,000 times adds nothing."""


class Block(Protocol):
    """A piece of a log as `source` hands it out."""

    @property
    def offset(self) -> int: ...
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
    """What was found: lines by pattern id, how many lines there are, and where each block starts."""

    hits: dict[int, list[int]] = field(default_factory=dict)
    lines: int = 0
    starts: list[tuple[int, int, bool]] = field(default_factory=list)


def scan(log: Log, matcher: Matcher) -> Scan:
    """Read a log once for all but the late patterns; memory is bounded by the block, not by the log."""
    result = Scan()
    line = 1
    for block in log.blocks():
        result.starts.append((line, block.offset, block.continues))
        line = _scan_block(result, _readable(block), line, matcher, matcher.everywhere)
        result.lines = line - block.data.endswith(b"\n")
    return result


def scan_late(log: Log, matcher: Matcher, wanted: Set[int], ends: Sequence[int], result: Scan) -> None:
    """Look for those late patterns that are `wanted` where a failure is told; their hits join the others.

    That is before the lines `ends`, where steps failed, and at the end of the log.
    """
    if not wanted or not result.starts:
        return
    found = Scan()
    last = log.size
    places = [*(min(last, _end_of_block(log, result, line)) for line in ends), last]
    for (line, offset, continues), following in zip(result.starts, [*result.starts[1:], (0, last, False)], strict=True):
        if not continues and any(offset < place and following[1] > place - LATE_BYTES for place in places):
            _scan_block(found, log.read(offset, following[1]), line, matcher, matcher.late)
    result.hits.update((pattern, lines) for pattern, lines in found.hits.items() if pattern in wanted)


def scan_short(log: Log, matcher: Matcher) -> Scan:
    """Read a short log for all patterns."""
    result = scan(log, matcher)
    scan_late(log, matcher, matcher.late.patterns, (), result)
    return result


def _end_of_block(log: Log, result: Scan, line: int) -> int:
    """Where the block ends that a line is in."""
    return next((offset for first, offset, _ in result.starts if first > line), log.size)


def _scan_block(result: Scan, raw: bytes, line: int, matcher: Matcher, finder: Finder) -> int:
    """Find the hits of a block that begins in a line; returns the line in which the next one begins."""
    data = strip_ansi(raw)
    counted = 0
    for start, patterns in _matched(matcher, finder, data, matcher.once & result.hits.keys()):
        line += data.count(b"\n", counted, start)
        counted = start
        for pattern in patterns:
            _keep(result, pattern, line)
    return line + data.count(b"\n", counted)


def _matched(matcher: Matcher, finder: Finder, data: bytes, settled: Set[int]) -> Iterator[tuple[int, Iterable[int]]]:
    """The lines of a block that match, in order: where each starts, and the patterns it matches.

    Patterns that are `settled`, or of which one hit is enough and was seen, are not asked for again.
    """
    done = set(settled)
    for start, end, groups, shapes in _candidates(finder, data):
        line = b"\n" + data[start : min(end, start + MAX_LINE * 4)] + _END
        likely = set(shapes)
        on_match = _ids_into(likely)
        for group in groups:
            finder.groups[group].scan(line, on_match)
        likely -= done
        if likely and (sure := _confirmed(matcher.patterns, likely, line)):
            done |= matcher.once.intersection(sure)
            yield start, sure


def _candidates(finder: Finder, data: bytes) -> Iterator[tuple[int, int, Set[int], Set[int]]]:
    """Lines that some pattern may be in, in order: start, end, the groups to ask, and the shapes that were seen."""
    stop = -1
    start = 0
    groups: set[int] = set()
    shapes: set[int] = set()
    for at, what in _sightings(finder, data):
        if at > stop:
            if stop >= 0:
                yield start, stop, groups, shapes
                groups, shapes = set(), set()
            start = data.rfind(b"\n", 0, at) + 1
            stop = data.find(b"\n", at)
            stop = len(data) if stop < 0 else stop
        if what < 0:
            shapes.add(~what)
        else:
            groups.update(finder.owners[what])
    if stop >= 0:
        yield start, stop, groups, shapes


def _sightings(finder: Finder, data: bytes) -> list[tuple[int, int]]:
    """Where in a block what was seen, in order: a place within the line, and the text, or the complement of a shape."""
    seen: list[tuple[int, int]] = []
    add = seen.append
    if finder.words:
        finder.words.scan(data, lambda text, _start, end, _flags, _context: add((end - 1, text)))
    if finder.shapes:
        framed = b"\n" + data + _END
        finder.shapes.scan(framed, lambda shape, _start, end, _flags, _context: add((max(end - 2, 0), ~shape)))
    seen.sort()
    return seen


def _ids_into(found: set[int]) -> Any:
    add = found.add
    return lambda pattern, _start, _end, _flags, _context: add(pattern)


def _confirmed(patterns: Sequence[str], likely: Set[int], line: bytes) -> list[int]:
    """Those of the likely patterns that the cleaned line matches, with the runner's mark or without."""
    text = clean(line[1 : -len(_END)])
    plain = bare(text)
    return [
        i for i in likely
        if (search := compiled(patterns[i]).search)(plain) or (plain is not text and search(text))
    ]  # fmt: skip


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
