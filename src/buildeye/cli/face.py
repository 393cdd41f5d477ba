"""How a diagnosis looks on a terminal: the answer first, then what can be checked, then what to do."""

from buildeye.model import Cause, Diagnosis, Evidence

_COLOUR = {Cause.CODE: 31, Cause.CONFIGURATION: 33, Cause.INFRASTRUCTURE: 35, Cause.INTERFERENCE: 34, Cause.NONE: 32}
WIDTH = 100


def show_diagnosis(d: Diagnosis, *, color: bool) -> str:
    """The diagnosis as text, at most `WIDTH` columns where the log's own lines allow; colour only when asked for."""

    def paint(text: str, code: int) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    kind = d.cause if d.cause in (Cause.NONE, Cause.UNKNOWN) else f"{d.cause} / {d.category}"
    sure = f" · {d.determinism} · {d.confidence:.0%} sure" if d.cause is not Cause.NONE else ""
    out = [paint(f"{kind}{sure}", _COLOUR.get(d.cause, 1)), d.summary, ""]
    if d.key_line:
        out += [*_context(d, paint), ""]
    if d.tests:
        out += _block("Tests", list(d.tests[:5]) + ([f"and {len(d.tests) - 5} more"] if len(d.tests) > 5 else []))
    why = [e.why for e in d.evidence if e.kind in ("rule", "baseline", "words") and e.why][:1]
    out += _block("Why", why) + _block("Do", _advice(d))
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
    return [f"{name if i == 0 else '':6} {item}" for i, item in enumerate(items)]


def _advice(d: Diagnosis) -> list[str]:
    lines: list[str] = []
    for i, s in enumerate(d.suggestions, 1):
        lines.append(f"{i}  {s.cost:6} {s.title}")
        lines += [f"          - {step}" for step in s.steps]
        if s.command:
            lines.append(f"          $ {s.command}")
    return lines
