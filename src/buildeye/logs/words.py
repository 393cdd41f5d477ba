"""Where to look when no rule knows a log: lines that sound like failure, the last cluster of them before the end."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from buildeye.logs.lines import Lines
from buildeye.logs.marks import Mark
from buildeye.logs.matcher import Database, cache_folder, kept_database
from buildeye.logs.structure import Structure
from buildeye.logs.text import bare


class _Sound(IntEnum):
    """What a line sounds like."""

    STRONG = 0
    WEAK = 1
    HARMLESS = 2
    FRAME = 3
    WRAPPER = 4


_SOUNDS: tuple[tuple[_Sound, str], ...] = (
    (_Sound.STRONG, r"(?i)\b(?:fatal|panic(?:ked)?|exception|segmentation fault|core dumped)\b"),
    (_Sound.STRONG, r"(?i)\b(?:undefined reference|abort(?:ed|ing)?)\b"),
    (_Sound.STRONG, r"(?i)\berror\b ?(?:\([^)]{1,30}\))?[:\[]"),
    (_Sound.STRONG, r"\w(?:Error|Exception)\b"),
    (_Sound.STRONG, r"^E {3}\S"),
    (_Sound.STRONG, r"\b(?:FAILED|FAIL|ERROR)\b"),
    (_Sound.STRONG, r"^\[?[EF]\d{3,8} \d\d:\d\d:\d\d\.\d"),
    (_Sound.WEAK, r"(?i)\b(?:errors?|fail(?:ed|ure|ures|s|ing)?|cannot|could not|unable|denied|refused)\b"),
    (_Sound.WEAK, r"(?i)\b(?:not found|no such|missing|invalid|killed|timed? ?out)\b"),
    (
        _Sound.WEAK,
        r"(?i)\b(?:rejected|insufficient|exceed(?:ed|s)|unreachable|mismatch|corrupt(?:ed)?)\b",
    ),
    (_Sound.WEAK, r"(?i)\b(?:unauthorized|undefined|unresolved|unrecognized|unexpected|unsupported|not enough)\b"),
    (_Sound.WEAK, r"(?i)\b(?:expired|forbidden)\b"),
    (_Sound.WEAK, r"(?:✗|✘|❌|×)"),
    (_Sound.HARMLESS, r"(?i)\b0 (?:errors?|failed|failures?)\b|\bno errors?\b|\berrors?[:=] ?0\b"),
    (_Sound.HARMLESS, r"(?i)(?:^|\W)warn(?:ing)?\b"),
    (_Sound.HARMLESS, r"(?i)\W--?[\w-]{0,30}(?:error|fail|timeout)"),
    (_Sound.HARMLESS, r"(?i)\b(?:continue|fail)[-_]on[-_]error|\bif-no-files-found"),
    (_Sound.HARMLESS, r"(?i)(?:on|test|handle)_?(?:error|failure)\b|\berror\.(?:rs|js|c|h|py|go)\b"),
    (_Sound.HARMLESS, r"\bPASSED\b"),
    (_Sound.HARMLESS, r"(?:={5}|-{5}|\*{5}|#{5}|(?:═){3}|(?:─){3}|(?:━){3})"),
    (_Sound.FRAME, r"^\s+(?:at |File \"|from )"),
    (_Sound.FRAME, r"^\s*\.\.\. \d+ more"),
    (_Sound.FRAME, r"^\s*Traceback \(most recent call last\)"),
    (_Sound.FRAME, r"^Exception raised from \S+ at "),
    (_Sound.WRAPPER, r"(?i)(?:process completed|exited) with (?:exit )?(?:code|status)"),
    (_Sound.WRAPPER, r"(?i)(?:exit(?:ed)?|returned(?: a)?(?: non-zero)?) (?:exit )?(?:code|status)"),
    (_Sound.WRAPPER, r"(?i)custom container implementation failed|failed to run script step|npm err!|elifecycle"),
    (_Sound.WRAPPER, r"(?i)finished: failure|marked build as failure|returned non-zero exit"),
)
"""Words by what they sound like, matched in linear time; a line may sound like several things."""


@lru_cache(maxsize=1)
def _ear() -> Database:
    return kept_database([p for _, p in _SOUNDS], [int(sound) for sound, _ in _SOUNDS], cache_folder())


def _sounds(text: str) -> set[int]:
    heard: set[int] = set()
    add = heard.add
    _ear().scan(text.encode("utf-8", "replace"), lambda sound, *_: add(sound))
    return heard


CLEAR = 0.45
"""From this weight on a line names a failure; below, it only sounds a little like one."""
DIFF_REACH = 60
"""Lines before the end within which the last hunk of a diff has to begin."""
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_DIFF_MARKS = ("+", "-", " ", "", "\\")
REACH = 4000
"""Lines before the end that are read when no rule speaks; older lines seldom tell why a job ended."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A line that sounds like failure, and how much it does."""

    line: int
    text: str
    weight: float


def weight(text: str) -> float:
    """How much a cleaned line sounds like the reason of a failure: 0 not at all, 1 and more clearly."""
    heard = _sounds(bare(text))
    if _Sound.FRAME in heard:
        return 0.0
    value = 1.0 if _Sound.STRONG in heard else 0.5 if _Sound.WEAK in heard else 0.0
    if not value:
        return 0.0
    if _Sound.WRAPPER in heard:
        return 0.15
    if _Sound.HARMLESS in heard:
        value *= 0.25
    return value + (0.2 if text.startswith("##[error]") else 0.0)


def spots(lines: Lines, structure: Structure, only: Sequence[int] | None = None) -> list[Spot]:
    """Lines that sound like failure, in the failed step or before the end, strongest first, the earlier of equals.

    `only` limits the search to these lines (those that are new against a baseline).
    """
    section = structure.failed
    last = structure.end
    first = max(1, last - REACH, section.start if section else 1)
    numbers = range(min(last, lines.count), first - 1, -1) if only is None else only
    heard = (Spot(n, lines[n], w) for n in numbers if not structure.is_echo(n) and (w := weight(lines[n])) > 0)
    return sorted(_last_cluster(heard) if only is None else heard, key=lambda s: (-s.weight, s.line))


def noted(lines: Lines, structure: Structure) -> int | None:
    """The first error that the runner noted and that is more than an exit code."""
    for n in structure.marks.get(Mark.ANNOTATION, ()):
        if _Sound.WRAPPER not in _sounds(lines[n]) and not structure.is_echo(n):
            return n
    return None


def diff_at_end(lines: Lines, structure: Structure) -> int | None:
    """The first changed line of a diff that ends what a step printed; None when it does not end in one.

    A check that prints what it would change, and then fails, ends so.
    """
    last = last_said(lines, structure)
    if last is None:
        return None
    first = max(1, last - DIFF_REACH)
    head = next((n for n in range(last, first - 1, -1) if _HUNK.search(lines[n])), None)
    if head is None or not all(lines[n][:1] in _DIFF_MARKS for n in range(head + 1, last + 1)):
        return None
    return next((n for n in range(head + 1, last + 1) if lines[n].startswith(("+", "-"))), None)


def last_said(lines: Lines, structure: Structure) -> int | None:
    """The last line before the failure was told that says something itself: no mark, no wrapper, no echo, not blank."""
    section = structure.failed
    first = max(1, section.start if section else 1, structure.end - 50)
    for n in range(min(structure.end, lines.count), first - 1, -1):
        text = lines[n]
        if (
            len(text.strip()) > 3
            and not text.startswith("##[")
            and not structure.is_echo(n)
            and _Sound.WRAPPER not in _sounds(text)
        ):
            return n
    return None


def _last_cluster(backwards: Iterable[Spot], gap: int = 60) -> list[Spot]:
    """The last run of spots that holds a strong one; a failure ends a log, what stands far above it was survived."""
    last: list[Spot] = []
    cluster: list[Spot] = []
    for spot in backwards:
        if cluster and cluster[-1].line - spot.line > gap:
            if any(s.weight >= 1 for s in cluster):
                return cluster
            last, cluster = last or cluster, []
        cluster.append(spot)
    return cluster if any(s.weight >= 1 for s in cluster) else last or cluster
