"""How a diagnosis looks on a terminal: the answer first, then what can be checked, then what to do."""

import textwrap

from buildeye.model import Cause, Diagnosis, Evidence

_COLOUR = {Cause.CODE: 31, Cause.CONFIGURATION: 33, Cause.INFRASTRUCTURE: 35, Cause.INTERFERENCE: 34, Cause.NONE: 32}
WIDTH = 100
NAME = 7
"""Columns that the name of a block takes, with the space after it."""


def show_diagnosis(d: Diagnosis, *, color: bool) -> str:
    """The diagnosis as text, at most `WIDTH` columns where the log's own lines allow; colour only when asked for."""

    def paint(text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    kind = d.cause if d.cause in (Cause.NONE, Cause.UNKNOWN) else f"{d.cause} / {d.category}"
    sure = f" · {d.determinism} · {d.confidence:.0%} sure" if d.cause is not Cause.NONE else ""
    out = [paint(f"{kind}{sure}", _COLOUR.get(d.cause, 1)), *_wrapped(d.summary, WIDTH), ""]
    if d.key_line:
        out += [*_context(d, paint), ""]
    if d.tests:
        out += _block("Tests", list(d.tests[:5]) + ([f"and {len(d.tests) - 5} more"] if len(d.tests) > 5 else []))
    why = [e.why for e in d.evidence if e.kind in ("rule", "baseline", "words") and e.why][:1]
    out += _block("Why", [line for said in why for line in _wrapped(said, WIDTH - NAME)])
    out += _block("Do", _advice(d))
    if d.retry_helps is not None and d.cause is not Cause.NONE:
        out.append("A re-run may help." if d.retry_helps else "A re-run will not help.")
    return "\n".join(out).rstrip() + "\n"


def _context(d: Diagnosis, paint: "object") -> list[str]:
    assert d.key_line is not None and callable(paint)
    shown: dict[int, Evidence] = {e.line: e for e in d.evidence if e.line and abs(e.line - d.key_line.number) <= 12}
    lines = {n: e.quote for n, e in shown.items()} | {d.key_line.number: d.key_line.text}
    width = len(str(max(lines)))
    return [
        paint(f"▶ {n:>{width}} │ {text[:WIDTH]}", 1) if n == d.key_line.number else f"  {n:>{width}} │ {text[:WIDTH]}"
        for n, text in sorted(lines.items())
    ]


def _block(name: str, items: list[str]) -> list[str]:
    return [f"{name if i == 0 else '':{NAME - 1}} {item}" for i, item in enumerate(items)]


def _wrapped(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _advice(d: Diagnosis) -> list[str]:
    lines: list[str] = []
    indent = " " * 10
    for i, s in enumerate(d.suggestions, 1):
        lines += _wrapped(s.title, WIDTH - NAME, first=f"{i}  {s.cost:6} ", rest=indent)
        for step in s.steps:
            lines += _wrapped(step, WIDTH - NAME, first=f"{indent}- ", rest=f"{indent}  ")
        if s.command:
            lines.append(f"{indent}$ {s.command}")
    return lines
