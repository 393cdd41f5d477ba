"""Rules of PyTorch's log classifier (`[[rule]]` with `name` and `pattern`), from a file of the user's own.

    BENCH_PYTORCH_RULES=ruleset.toml python benchmarks/peers/pytorch_rules.py --json LOG...

Its choice: the earliest rule of the file that matches wins, and of its lines the last.
"""

import os
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.contract import Found, answer, around

FILE = "BENCH_PYTORCH_RULES"
LONGEST = 2000
"""Characters of a line that are matched: the patterns are not made for a matcher that goes back."""


@cache
def rules() -> list[tuple[str, re.Pattern[str]]]:
    """Names and patterns in the order of the file; those that `re` cannot read are left out."""
    read = []
    for rule in tomllib.loads(Path(os.environ[FILE]).read_text(encoding="utf-8")).get("rule", []):
        try:
            read.append((str(rule["name"]), re.compile(rule["pattern"])))
        except re.error:
            print(f"{rule['name']}: not read by re", file=sys.stderr)
    return read


def classify(lines: list[str], _good: list[str] | None) -> Found | None:
    """The line that the rules choose."""
    for name, pattern in rules():
        for number in range(len(lines), 0, -1):
            if pattern.search(lines[number - 1][:LONGEST]):
                return Found(number, around(number, len(lines)), summary=name)
    return None


if __name__ == "__main__":
    answer(classify)
