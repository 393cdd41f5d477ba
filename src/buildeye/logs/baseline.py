"""What is new in a failing log: its lines without what varies, compared with a passing log of the same job.

Method: masked set difference, as LogJuicer and CiDiff compare lines. New lines are then cut down to those that tell of
the failure: what only reports progress goes, and of each span the part from its first error to its last stays.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from buildeye.logs.engine import Log
from buildeye.logs.text import clean

_VARIES = re.compile(
    r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b[0-9a-f]{7,64}\b"
    r"|\b0x[0-9a-f]+\b"
    r"|/tmp/[\w./-]+"
    r"|/home/runner/(?:work/[^/\s]+/[^/\s]+/)?|/__w/(?:[^/\s]+/[^/\s]+/)?|/Users/runner/work/[^/\s]+/[^/\s]+/"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\b"
    r"|\d+(?:[.,:]\d+)*(?:\s?(?:ns|us|ms|s|m|h|sec|min|secs|mins|seconds|minutes|[kmgt]i?b(?:/s|ps)?|bytes|b)\b)?"
)
_PROGRESS = re.compile(
    r"^\s*(?:\[?(?:INFO|DEBUG|TRACE)\]?\s|(?:Download(?:ing|ed)|Fetching|Fetched|Uploading|Uploaded|Progress|Extracting"
    r"|Receiving objects|Resolving deltas|remote: (?:Count|Compress|Enumerat)|Get:\d|Hit:\d|Unpacking|Setting up"
    r"|Collecting|Installing|Using cached|Compiling|Building)\b)"
    r"|^[\s\d.:%kMGB/|-]+$|^\s*\W{3,}\s*$|^\s*$"
)
"""Lines that only say how far something is: levels below a warning, downloads, tables of numbers, rulers."""
MOST_LINES = 1_000_000
"""Lines that are remembered of one log, in some 100 MB at most."""
GAP = 3
"""Lines that say nothing and may stand between two parts of one finding."""


def mask(line: str) -> str:
    """A cleaned line without what differs between two runs of the same job: times, sizes, hashes, ids, numbers."""
    return " ".join(_VARIES.sub("#", line).split())


def line_hash(line: str) -> int:
    """64 bits that are equal for lines which differ only in what varies."""
    return int.from_bytes(hashlib.blake2b(mask(line).encode("utf-8", "replace"), digest_size=8).digest(), "big")


def each_line(log: Log) -> Iterator[tuple[int, bytes]]:
    """All lines of a log with their numbers, in bounded memory; a very long line comes in its first piece only."""
    number, rest = 0, b""
    for block in log.blocks():
        pieces = (rest + block.data).split(b"\n")
        rest = pieces.pop()[:65536]
        for piece in pieces:
            number += 1
            yield number, piece
    if rest:
        yield number + 1, rest


def line_set(log: Log) -> set[int]:
    """The hashes of all lines of a passing log: what `--baseline` and the stored baseline of a job are.

    Of a log with more than `MOST_LINES` different lines it holds the first so many.
    """
    known: set[int] = set()
    for _, raw in each_line(log):
        known.add(line_hash(clean(raw)))
        if len(known) >= MOST_LINES:
            break
    return known


def new_lines(log: Log, known: Set[int]) -> list[int]:
    """Numbers of lines of a log that its baseline does not have, the last `MOST_LINES` of them; blank lines are never
    new."""
    found: deque[int] = deque(maxlen=MOST_LINES)
    for number, raw in each_line(log):
        text = clean(raw)
        if text.strip() and line_hash(text) not in known:
            found.append(number)
    return list(found)


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive lines, both ends included."""

    start: int
    end: int


def spans(numbers: Iterable[int], gap: int = 2) -> list[Span]:
    """Join line numbers into spans; up to `gap` lines between two are taken in."""
    result: list[Span] = []
    for n in sorted(numbers):
        if result and n - result[-1].end <= gap + 1:
            result[-1] = Span(result[-1].start, n)
        else:
            result.append(Span(n, n))
    return result


def findings(
    new: Sequence[int], text_of: Callable[[int], str], weight_of: Callable[[str], float], anchors: Set[int]
) -> list[Span]:
    """The parts of the new lines that tell of the failure, in log order.

    `anchors` are lines that rules named; a part that holds one counts whatever its words. Falls back to all new lines
    that are more than progress when no part has an error in it.
    """
    telling = [n for n in new if n in anchors or not _PROGRESS.search(text_of(n))]
    parts = [part for span in spans(telling, GAP) for part in _parts(span, text_of, weight_of, anchors)]
    return parts or spans(telling) or spans(new)


def _parts(
    span: Span, text_of: Callable[[int], str], weight_of: Callable[[str], float], anchors: Set[int]
) -> list[Span]:
    """From the first error of a span to its last, with the lines that hang on it: frames, indented lines."""
    loud = [n for n in range(span.start, span.end + 1) if n in anchors or weight_of(text_of(n)) >= 0.5]
    if not loud:
        return []
    end = loud[-1]
    while end < span.end and _hangs_on(text_of(end + 1)):
        end += 1
    return [Span(loud[0], end)]


def _hangs_on(text: str) -> bool:
    return bool(text.strip()) and (text[:1].isspace() or text.startswith(("at ", "Caused by", "...", "|", "^")))
