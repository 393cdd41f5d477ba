"""What matters of a log in at most so many tokens: for an agent, which pays for each and forgets what is too much.

Order: what is known (cause, summary, key line), then the lines worth reading, best first and with their numbers, then
what to do. The same diagnosis always gives the same text.

How tokens are estimated, since every model cuts text its own way: the greater of characters / 3.2 and a count of
pieces. A piece is up to five letters, up to two digits, one sign (up to four of the same), a run of several spaces, a
line feed; a letter outside ASCII counts as many as its UTF-8 bytes less one. Logs are full of signs and digits, so this
says more than common tokenizers do, rarely less.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from buildeye.logs.diagnose import LogReading
from buildeye.model import Cause, Determinism, Diagnosis, Excerpt, UsageError

LEAST = 50
"""Tokens below which nothing useful can be said."""
PER_CHARACTER = 3.2
LONGEST_LINE = 400
"""Characters of a log line that are quoted."""
FOR_HEAD = 0.45
"""Share of the tokens that what is known may take; the lines need the rest."""
HEAD = 32
"""Tokens that what is known may take in any case."""
SHORT = 150
"""Up to so many tokens lines of the log are worth more than advice."""
FOR_ADVICE = 0.2
"""Share of the tokens that is kept for what to do."""
MOST_LINES = 2000

_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|\n|  +|([^\w\s])\1*|[^ -~\n]|[^ ]")
_CUT = " …"


def tokens(text: str) -> int:
    """An upper estimate of the tokens of a text; the module says how. Of whole lines joined it is at most the sum."""
    pieces = sum(map(_pieces, _PIECE.finditer(text)))
    return max(pieces, -int(-len(text) // PER_CHARACTER))


def _pieces(found: "re.Match[str]") -> int:
    text = found[0]
    if not text.isascii():
        return sum(max(1, len(char.encode("utf-8", "replace")) - 1) for char in text)
    if text.isalpha():
        return -(-len(text) // 5)
    if text.isdigit():
        return -(-len(text) // 2)
    return 1 if text.isspace() else -(-len(text) // 4)


def brief(reading: LogReading, most: int) -> str:
    """The text for an agent, at most `most` tokens as `tokens` counts; raises UsageError below LEAST.

    `reading` needs its lines: read it with `show=lines_for(most)`.
    """
    if most < LEAST:
        raise UsageError(f"{most} tokens are too few to say anything; give at least {LEAST}")
    page = _Page(most)
    _head(page, reading.diagnosis, max(HEAD, int(most * FOR_HEAD)))
    advice = _advice(reading.diagnosis)
    kept = min(sum(tokens(line + "\n") for line in advice), int(most * FOR_ADVICE)) if most > SHORT else 0
    _lines(page, reading, most - kept)
    for line in advice:
        if not page.add(line):
            break
    return page.text


def lines_for(most: int) -> int:
    """How many lines of a log are worth reading for a text of so many tokens: a line takes four at least."""
    return min(MOST_LINES, most // 4)


@dataclass
class _Page:
    """Lines written so far, never more than `most` tokens."""

    most: int
    used: int = 0
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def add(self, line: str, until: int = 0, *, cut: bool = False) -> bool:
        """Write a line if the page stays within `until` (default: all) tokens; with `cut`, as much of it as fits."""
        room = (until or self.most) - self.used
        if tokens(line + "\n") > room:
            line = _shortened(line, room) if cut else ""
            if not line:
                return False
        self.lines.append(line + "\n")
        self.used += tokens(line + "\n")
        return True


def _shortened(line: str, room: int) -> str:
    """The longest beginning of a line that takes at most `room` tokens with its line feed; empty when none does."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if tokens(line[:middle] + _CUT + "\n") <= room:
            low = middle
        else:
            high = middle - 1
    return line[:low] + _CUT if low else ""


def _head(page: _Page, d: Diagnosis, until: int) -> None:
    known = d.cause.value if d.cause in (Cause.NONE, Cause.UNKNOWN) else f"{d.cause}/{d.category}"
    repeats = "" if d.determinism is Determinism.UNKNOWN else f", {d.determinism}"
    where = f"; key line {d.key_line.number}" if d.key_line else ""
    page.add(f"{known}{repeats}, {d.confidence:.2f}{where}", cut=True)
    page.add(f"summary: {d.summary}", until, cut=True)
    more = []
    if d.retry_helps is not None and d.cause is not Cause.NONE:
        more.append("re-run: may help" if d.retry_helps else "re-run: will not help")
    if len(d.tests) > 1:
        more.append("tests: " + _some(d.tests))
    if d.files:
        more.append("files: " + _some(d.files))
    for line in more:
        page.add(line, until)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _advice(d: Diagnosis) -> list[str]:
    lines = []
    for i, s in enumerate(d.suggestions, 1):
        lines.append(f"advice {i} ({s.cost}): {s.title}" + (f" $ {s.command}" if s.command else ""))
        lines += [f"  - {step}" for step in s.steps]
    return lines


def _lines(page: _Page, reading: LogReading, until: int) -> None:
    """Excerpts best first; of each the lines nearest to its best one, as many as fit; the key line even if cut."""
    texts = {line.number: line.text for line in reading.lines}
    key = reading.diagnosis.key_line
    if key:
        texts[key.number] = key.text
    done: set[int] = set()
    for excerpt in _spans(reading.diagnosis):
        centre = key.number if key and excerpt.start <= key.number <= excerpt.end else excerpt.start
        numbers = [n for n in range(excerpt.start, excerpt.end + 1) if n in texts and n not in done]
        room = until - page.used - _around(excerpt)
        chosen = _nearest(room, texts, numbers, centre)
        if not chosen:
            if key and centre == key.number and centre not in done:
                page.add(_numbered(key.number, key.text), until, cut=True)
                done.add(key.number)
            continue
        done.update(chosen)
        for line in _with_gaps(chosen, texts, excerpt):
            page.add(line, until)


def _spans(d: Diagnosis) -> Iterable[Excerpt]:
    """The excerpts, the one with the key line first."""
    key = d.key_line.number if d.key_line else 0
    holding = [e for e in d.excerpts if e.start <= key <= e.end]
    if key and not holding:
        holding = [Excerpt(key, key, "the key line")]
    return [*holding, *(e for e in d.excerpts if e not in holding)]


def _around(excerpt: Excerpt) -> int:
    """Tokens that the title of an excerpt and the mark of a gap behind it take."""
    return tokens(f"lines {excerpt.end}-{excerpt.end}: {excerpt.why[:60]}\n") + _gap(excerpt.end)


def _gap(most: int) -> int:
    return tokens(f"… {most} lines left out\n")


def _nearest(room: int, texts: dict[int, str], numbers: Sequence[int], centre: int) -> list[int]:
    """The lines around the centre that `room` tokens hold, with the marks of gaps between them."""
    chosen: list[int] = []
    used = 0
    for n in sorted(numbers, key=lambda n: (abs(n - centre), n)):
        cost = tokens(_numbered(n, texts[n]) + "\n")
        if chosen and n not in (min(chosen) - 1, max(chosen) + 1):
            cost += _gap(numbers[-1])
        if used + cost > room:
            break
        chosen.append(n)
        used += cost
    return sorted(chosen)


def _with_gaps(chosen: Sequence[int], texts: dict[int, str], excerpt: Excerpt) -> Iterator[str]:
    yield f"lines {chosen[0]}-{chosen[-1]}: {excerpt.why[:60]}"
    before = chosen[0] - 1
    for n in chosen:
        if n > before + 1:
            yield f"… {n - before - 1} lines left out"
        yield _numbered(n, texts[n])
        before = n
    if excerpt.end > before:
        yield f"… {excerpt.end - before} lines left out"


def _numbered(number: int, text: str) -> str:
    return f"{number}: {text[:LONGEST_LINE]}{_CUT if len(text) > LONGEST_LINE else ''}"
