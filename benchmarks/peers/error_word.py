"""A naive peer: the last line that holds a word for failure, as `grep -iE 'error|...' | tail -1` finds it."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.peers.contract import Found, answer, around

WORDS = re.compile(r"(?i)\b(?:error|errors|fatal|failed|failure|exception|panic|panicked|traceback)\b")


def last_error_word(lines: list[str], _good: list[str] | None) -> Found | None:
    """The last line with such a word, from the end."""
    for number in range(len(lines), 0, -1):
        if WORDS.search(lines[number - 1]):
            return Found(number, around(number, len(lines)), summary=lines[number - 1][:200])
    return None


if __name__ == "__main__":
    answer(last_error_word)
