"""buildlog-consultant, Debian's reader of build logs: the line it found, its context, and its kind of problem.

Its matcher panics on some long lines; a log on which it does is read again with lines cut short.
"""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.contract import CONTEXT, Found, answer

SHORT = 1000
KINDS = (
    ("no-space-on-device", "infrastructure", "disk-full"),
    ("command-missing", "configuration", "missing-tool"),
    ("missing-python-module", "code", "import"),
    ("missing-node-module", "code", "import"),
    ("missing-c-header", "code", "compile"),
    ("timed-out", "infrastructure", "timeout"),
    ("missing-", "configuration", "dependency"),
    ("unsatisfied-", "configuration", "dependency"),
    ("apt-", "infrastructure", "package-index"),
)
"""Kinds of problems of the tool (what they start with), with the contract's cause and category."""


def consult(lines: list[str], _good: list[str] | None) -> Found | None:
    """What the tool says of a log."""
    match, problem = find(lines) or find([line[:SHORT] for line in lines]) or (None, None)
    if match is None:
        return None
    numbers = getattr(match, "linenos", [match.lineno])
    first, last = numbers[0], numbers[-1]
    kind = problem.kind if problem is not None else ""
    cause, category = next(((c, g) for start, c, g in KINDS if kind.startswith(start)), ("unknown", "unknown"))
    span = (max(1, first - CONTEXT), min(len(lines), last + CONTEXT))
    return Found(match.lineno, [span], cause, category, f"{kind} {problem or ''} {match.line}"[:400])


def find(lines: list[str]) -> tuple[Any, Any] | None:
    """Match and problem; None when the tool panicked."""
    common = importlib.import_module("buildlog_consultant.common")
    try:
        return common.find_build_failure_description([line + "\n" for line in lines])  # type: ignore[no-any-return]  # the tool is not installed where types are checked
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - its panics are no Exception
        return None


if __name__ == "__main__":
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    answer(consult)
