"""The same patterns by other matchers: ripgrep in its fastest form, and Python's `re` rule by rule.

ripgrep searches for thousands of patterns in one call very slowly (its automaton outgrows its cache), so its fastest
form is searched for first: patterns as ASCII bytes, spread on several calls, a call that takes long halved again.
"""

import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

CALLS = 16
"""Calls that the patterns are spread on at first; fewer and more were slower on the whole."""
TOO_LONG = 1.5
"""Seconds over all logs from which on a call is halved."""
PATIENCE = 30.0
"""Seconds that one call may take at all."""
_NAMED = re.compile(r"\(\?P<\w+>")


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


def grouped(program: str, patterns: Sequence[str], logs: Sequence[Path]) -> list[list[str]]:
    """The patterns in the groups in which ripgrep finds them fastest; empty when it refuses one."""
    written = [as_bytes(pattern) for pattern in patterns]
    waiting = [written[i * len(written) // CALLS : (i + 1) * len(written) // CALLS] for i in range(CALLS)]
    groups: list[list[str]] = []
    while waiting:
        group = waiting.pop()
        try:
            if call(program, group, logs, TOO_LONG if len(group) > 1 else PATIENCE) is None:
                return []
        except subprocess.TimeoutExpired:
            if len(group) == 1:
                return []
            waiting += [group[: len(group) // 2], group[len(group) // 2 :]]
        else:
            groups.append(group)
    return groups


def call(program: str, patterns: Sequence[str], logs: Sequence[Path], limit: float = PATIENCE) -> float | None:
    """Wall seconds of one call that counts matching lines; None when ripgrep refuses the patterns."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
        f.write("\n".join(patterns) + "\n")
        f.flush()
        command = [program, "--no-config", "-j1", "-a", "-c", "-f", f.name, *map(str, logs)]
        start = time.perf_counter()
        run = subprocess.run(command, capture_output=True, timeout=limit)
        return time.perf_counter() - start if run.returncode < 2 else None


def all_calls(program: str, groups: Sequence[Sequence[str]], logs: Sequence[Path]) -> float:
    """Wall seconds of all groups, one after the other; raises ValueError when a call is refused."""
    taken = [call(program, group, logs) for group in groups]
    if None in taken:
        raise ValueError("ripgrep refuses the patterns")
    return sum(t for t in taken if t is not None)


def by_re(patterns: Sequence[re.Pattern[str]], lines: Sequence[str]) -> int:
    """Hits of all patterns, one after the other over all lines, as a loop over rules does."""
    return sum(1 for pattern in patterns for line in lines if pattern.search(line))
