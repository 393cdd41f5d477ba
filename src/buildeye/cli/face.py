"""How a diagnosis looks on a terminal: the answer first, then what can be checked, then what to do.

Only text of the diagnosis and of the lines read with it is shown: those are masked. Nothing here measures time or reads
the log; what that took comes in as `Effort`.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from buildeye.cli.terminal import Look, cells, cut, folded, wrapped
from buildeye.logs.diagnose import LogReading
from buildeye.logs.reading import MAX_TESTS
from buildeye.logs.secrets import strip_controls
from buildeye.model import Cause, Cost, Determinism, Diagnosis, Evidence, Suggestion

PROSE = 120
"""Cells that sentences and what stands at the right use at most, however wide the terminal is."""
NAME = 7
"""Cells that the name of a block takes, with the space after it."""
BEFORE, AFTER = 3, 3
"""Lines of the log shown around the key line."""
MORE = 3
"""Other telling lines that are shown with them."""
TESTS = 4
KEY_LINE = 3
"""Lines of the terminal that the key line may take; every other line of the log is cut to one."""
HEADLINE = 3
"""Lines that the headline may take."""

_BOLD, _DIM = 1, 2
_COLOUR = {
    Cause.CODE: 31, Cause.CONFIGURATION: 33, Cause.INFRASTRUCTURE: 35, Cause.INTERFERENCE: 34, Cause.CANCELLED: 36,
    Cause.NONE: 32, Cause.UNKNOWN: 33,
}  # fmt: skip
_COST = {Cost.LOW: "low", Cost.MEDIUM: "mid", Cost.HIGH: "high"}
_MORE_TESTS = re.compile(r" \(and \d+ more tests?\)$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“`])")


@dataclass(frozen=True, slots=True)
class Effort:
    """What reading took, and which rules can name a cause: `lines` of the log, time, ids of rules of that tier."""

    lines: int
    milliseconds: float
    causes: Collection[str] = ()


def show_diagnosis(reading: LogReading, look: Look, effort: Effort | None = None) -> str:
    """The diagnosis as text that ends in a line feed; no line of it but a command is wider than the terminal."""
    d = reading.diagnosis
    blocks = [
        [*_verdict(d, look, effort), *_headline(d, look)],
        _context(reading, look),
        [*_tests(d, look), *_block("Why", _why(d), look), *_advice(d.suggestions, look), *_foot(d, look, effort)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def name_line(name: str, look: Look) -> str:
    """A rule across the terminal with the name of the log that follows."""
    width = min(look.width, PROSE)
    begin = f"── {cut(_plain(name), width - 6)} "
    return look.paint(begin + "─" * (width - cells(begin)), _BOLD)


def _plain(text: str) -> str:
    """Text of one line, whatever it was."""
    return strip_controls(text.replace("\t", "    "))


def _verdict(d: Diagnosis, look: Look, effort: Effort | None) -> list[str]:
    parts = [d.cause.value if d.cause in (Cause.NONE, Cause.UNKNOWN) else f"{d.cause} / {_plain(d.category)}"]
    if d.cause is Cause.UNKNOWN:
        parts.append("the log does not say enough")
    else:
        parts += [] if d.determinism is Determinism.UNKNOWN else [d.determinism.value]
        guess = "a guess, " if any(map(_is_likeness, d.evidence)) else ""
        parts.append(f"{guess}{d.confidence * 100:.0f} % sure")
    left, right = " · ".join(parts), _count(d, effort)
    width = min(look.width, PROSE)
    painted = look.paint(left, _BOLD, _COLOUR[d.cause])
    gap = width - cells(left) - cells(right)
    if not right:
        return [painted]
    return [painted + " " * gap + right] if gap >= 2 else [painted, " " * max(0, width - cells(right)) + right]


def _count(d: Diagnosis, effort: Effort | None) -> str:
    number = len(_distinct(d.tests))
    if not number:
        return ""
    most = "+" if len(d.tests) >= MAX_TESTS else ""
    tests = f"{number}{most} {'test' if number == 1 else 'tests'}"
    sole = number > 1 and effort and d.cause is not Cause.UNKNOWN and not _candidates(d, effort)
    return f"{tests}, 1 cause" if sole else tests


def _distinct(tests: Sequence[str]) -> list[str]:
    """Tests once each: `test_b` is left out where `tests/test_a.py::test_b` is there."""
    return [
        _plain(t)
        for t in tests
        if not any(len(o) > len(t) and o.endswith(t) and not o[-len(t) - 1].isalnum() for o in tests)
    ]


def _headline(d: Diagnosis, look: Look) -> list[str]:
    """The first sentence of the summary, and what it says of a log that is not whole."""
    said, _, ends_early = d.summary.partition(" The log ends early: ")
    step = next((e.quote[:80] for e in d.evidence if e.id == "step"), "")
    if step:
        said = said.rpartition(f' Step "{step}" failed')[0] or said
    first = _SENTENCE_END.split(_plain(said), maxsplit=1)[0].rstrip(".")
    first = _MORE_TESTS.sub("", first)
    width = min(look.width, PROSE)
    lines = [look.paint(line, _BOLD) for line in wrapped(first, width, most=HEADLINE)]
    return lines + (wrapped(f"The log ends early: {_plain(ends_early)}", width) if ends_early else [])


def _context(reading: LogReading, look: Look) -> list[str]:
    d = reading.diagnosis
    if d.key_line is None:
        return []
    key = d.key_line.number
    rows = _rows(reading, key)
    number = len(str(max(rows)))
    indent = _shared_indent(list(rows.values()))
    lines = []
    for n, text in sorted(rows.items()):
        place = f"{'▶' if n == key else ' '} {n:>{number}} │ "
        room = look.width - len(place)
        if n != key:
            lines.append(look.paint(place, _DIM) + cut(text[indent:], room))
            continue
        rest = " " * (number + 3) + "│ "
        shown = folded(text[indent:], room, KEY_LINE)
        lines += [look.paint((rest if i else place) + part, _BOLD) for i, part in enumerate(shown)]
    return lines


def _rows(reading: LogReading, key: int) -> dict[int, str]:
    """The key line, its neighbours, and other lines that tell, by number; nothing twice, nothing behind the end."""
    d = reading.diagnosis
    texts = {e.line: e.quote for e in d.evidence if e.line} | {line.number: line.text for line in reading.lines}
    end = next((e.line for e in d.evidence if e.id == "exit" and e.line and e.line >= key), None)
    near = [n for n in texts if key - BEFORE <= n <= key + AFTER]
    telling = [e.line for e in d.evidence if e.line and e.id == "tally"]
    beside = [e.line for e in d.evidence if e.line and e.id in ("context", "place")]
    telling += sorted(beside, key=lambda n: (abs(n - key), n))
    rows = {key: _plain(d.key_line.text if d.key_line else "")}
    seen = {rows[key].strip()}
    for wanted, most in ((near, BEFORE + AFTER), (telling, MORE)):
        taken = 0
        for n in wanted:
            text = _plain(texts[n]).rstrip()
            if n == key or _is_mark(text):
                continue
            if taken == most or text.strip() in seen or not text.strip() or (end and n > end):
                continue
            rows[n], taken = text, taken + 1
            seen.add(text.strip())
    return rows


def _is_mark(text: str) -> bool:
    return text.startswith(("##[group]", "##[endgroup]"))


def _shared_indent(texts: Sequence[str]) -> int:
    return min((len(t) - len(t.lstrip()) for t in texts if t.strip()), default=0)


def _tests(d: Diagnosis, look: Look) -> list[str]:
    tests = _distinct(d.tests)
    if len(tests) < 2:
        return []
    room = min(look.width, PROSE) - NAME
    shown = [cut(t, room) for t in tests[:TESTS]]
    if len(tests) > TESTS:
        least = "at least " if len(d.tests) >= MAX_TESTS else ""
        shown.append(f"and {least}{len(tests) - TESTS} more")
    return _labelled("Tests", shown, look)


def _labelled(name: str, lines: Sequence[str], look: Look) -> list[str]:
    return [
        (look.paint(name, _BOLD) + " " * (NAME - len(name)) if i == 0 else " " * NAME) + line
        for i, line in enumerate(lines)
    ]


def _block(name: str, text: str, look: Look) -> list[str]:
    return _labelled(name, wrapped(_plain(text), min(look.width, PROSE) - NAME), look)


def _why(d: Diagnosis) -> str:
    """One sentence on the step, one or two on the line."""
    if not d.evidence:
        return ""
    first = d.evidence[0]
    step = next((_step_name(e.quote) for e in d.evidence if e.id == "step"), "")
    failed = f'Step "{step}" failed. ' if step else ""
    return failed + _reason(d, first)


def _reason(d: Diagnosis, first: Evidence) -> str:
    if first.kind == "rule" and d.cause is Cause.UNKNOWN:
        return f"Rule {first.id} knows the line, but too weakly to decide ({d.confidence * 100:.0f} %). {first.why}"
    if first.kind == "rule":
        return " ".join(_SENTENCE_END.split(first.why)[:2])
    if first.kind == "baseline":
        return "The passing log does not have this line."
    if first.kind == "step":
        return f'No rule knows a line of this log; the name "{_step_name(first.quote)}" says what its failure is.'
    if _is_likeness(first):
        return f"No rule knows a line of this log; known failures use such words ({first.why})."
    if first.kind == "words":
        return "No rule knows a line of this log; this one was said last and loudest before the end."
    return first.why


def _is_likeness(first: Evidence) -> bool:
    """Does the verdict rest on the words of the line alone?"""
    return first.id.startswith("like.")


def _step_name(name: str) -> str:
    return cut(_plain(name).rstrip(" \\"), 60)


def show_lines(reading: LogReading, look: Look) -> list[str]:
    """What the log says in a sentence, and its telling lines with their numbers."""
    context = _context(reading, look)
    return [*_headline(reading.diagnosis, look), *([""] if context else []), *context]


def _advice(suggestions: Sequence[Suggestion], look: Look) -> list[str]:
    return _labelled("Do", advice(suggestions, look, min(look.width, PROSE) - NAME), look)


def advice(suggestions: Sequence[Suggestion], look: Look, room: int) -> list[str]:
    """What to do, cheapest first, in lines of `room` cells; commands are as long as they are."""
    lines: list[str] = []
    indent = " " * 9
    for i, s in enumerate(suggestions, 1):
        lines += wrapped(_plain(s.title), room, first=f"{i}  {_COST[s.cost]:4}  ", rest=indent)
        for step in s.steps:
            lines += wrapped(_plain(step), room, first=f"{indent}- ", rest=f"{indent}  ")
        if s.command:
            lines.append(indent + look.paint(f"$ {_plain(s.command)}", _BOLD))
    return lines


def _candidates(d: Diagnosis, effort: Effort) -> list[str]:
    """Other rules that could have named a cause, best first."""
    key = d.evidence[0].id if d.evidence else ""
    ids = [e.id for e in d.evidence if e.kind == "rule" and e.id != key and e.id in effort.causes]
    return [_plain(name) for name in dict.fromkeys(ids)]


def _foot(d: Diagnosis, look: Look, effort: Effort | None) -> list[str]:
    """Whether a re-run helps at the left; at the right what the verdict was chosen from."""
    left = ""
    if d.retry_helps is not None and d.cause is not Cause.NONE:
        left = "A re-run may help." if d.retry_helps else "A re-run will not help."
    elif d.cause is Cause.UNKNOWN and d.key_line and all(e.kind != "baseline" for e in d.evidence):
        left = "A passing log of this job tells more: --baseline GOOD"
    width = min(look.width, PROSE)
    right = _packed(_facts(d, effort), width) if effort else []
    if not right:
        return [left] if left else []
    gap = width - cells(left) - cells(right[0])
    if left and (gap < 2 or len(right) > 1):
        return [left, *(_right(line, width, look) for line in right)]
    return [left + " " * gap + look.paint(right[0], _DIM), *(_right(line, width, look) for line in right[1:])]


def _right(text: str, width: int, look: Look) -> str:
    return " " * max(0, width - cells(text)) + look.paint(text, _DIM)


def _facts(d: Diagnosis, effort: Effort) -> list[str]:
    facts = []
    first = d.evidence[0] if d.evidence else None
    if d.cause is not Cause.NONE and first:
        others = _candidates(d, effort)
        named = ", ".join(others[:2]) + (f" and {len(others) - 2} more" if len(others) > 2 else "")
        by_rule = first.kind == "rule"
        facts = [f"other candidates: {named or 'none'}"] if by_rule or named else []
        facts.append(f"rule {_plain(first.id)}" if by_rule else "no rule")
    ms = effort.milliseconds
    took = f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
    return [*facts, f"{effort.lines:,} {'line' if effort.lines == 1 else 'lines'} in {took}"]


def _packed(parts: Sequence[str], width: int) -> list[str]:
    """Parts joined by dots, in as few lines as they fit."""
    lines: list[str] = []
    for part in parts:
        joined = f"{lines[-1]} · {part}" if lines else part
        if lines and cells(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(cut(part, width))
    return lines
