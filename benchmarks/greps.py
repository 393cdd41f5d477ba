"""The same patterns by other matchers: ripgrep in its fastest form, and Python's `re` rule by rule."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BIG_TABLES = ["--dfa-size-limit", "1G", "--regex-size-limit", "1G"]
GROUPS = (1, 4, 8, 16, 32)
PATIENCE = 12.0
"""Seconds that one form may take in the choice of the fastest."""
_NAMED = re.compile(r"\(\?P<\w+>")


@dataclass(frozen=True)
class Form:
    """One way to call ripgrep: which program, on how many calls the patterns are spread, with which options."""

    program: str
    groups: int
    options: tuple[str, ...]
    name: str


def plain_patterns(patterns: Sequence[str]) -> list[str]:
    """Each pattern once, without names of groups, which ripgrep takes only once and which cost time."""
    return list(dict.fromkeys(_NAMED.sub("(?:", pattern) for pattern in patterns))


def as_bytes(pattern: str) -> str:
    r"""The pattern with `\w` and its like as ASCII: fewer states, so the faster form for ripgrep."""
    if not pattern.isascii():
        return pattern
    if pattern.startswith("(?i)"):
        return f"(?i-u:{pattern[4:]})"
    return f"(?-u:{pattern})"


def seconds(form: Form, patterns: Sequence[str], logs: Sequence[Path], patience: float = 600.0) -> float | None:
    """Wall seconds over all calls; None when the program refuses the patterns or takes longer than `patience`."""
    taken = 0.0
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
        for group in range(form.groups):
            f.seek(0)
            f.truncate()
            f.write("\n".join(patterns[group :: form.groups]) + "\n")
            f.flush()
            command = [form.program, "--no-config", "-j1", "-a", "-c", *form.options, "-f", f.name, *map(str, logs)]
            start = time.perf_counter()
            try:
                run = subprocess.run(command, capture_output=True, timeout=max(patience - taken, 0.1))
            except subprocess.TimeoutExpired:
                return None
            taken += time.perf_counter() - start
            if run.returncode > 1:
                return None
    return taken


def fastest(programs: Sequence[str], patterns: Sequence[str], piece: Path) -> tuple[Form, list[str]] | None:
    """The form that takes least time on a piece of a log, with the patterns as it wants them."""
    best: tuple[float, Form, list[str]] | None = None
    forms = (("ASCII", [as_bytes(p) for p in patterns]), ("Unicode", list(patterns)))
    for program in programs:
        for kind, written in forms:
            for groups in GROUPS if kind == "ASCII" else (1, 16):
                for options in ((), tuple(BIG_TABLES)) if kind == "ASCII" else ((),):
                    form = Form(program, groups, options, f"{kind}, {groups} calls {' '.join(options)}".strip())
                    limit = min(PATIENCE, 2 * best[0]) if best else PATIENCE
                    taken = seconds(form, written, [piece], limit)
                    if taken is not None and (best is None or taken < best[0]):
                        best = (taken, form, written)
    if best is None:
        return None
    print(f"ripgrep at its best: {best[1].name}", file=sys.stderr)
    return best[1], best[2]


def by_re(patterns: Sequence[re.Pattern[str]], lines: Sequence[str]) -> int:
    """Hits of all patterns, one after the other over all lines, as a loop over rules does."""
    return sum(1 for pattern in patterns for line in lines if pattern.search(line))
