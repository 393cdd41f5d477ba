"""The rules of the system this one grew out of, as a peer: words of code trouble first, then of infrastructure.

The first that is found wins; a log without any of them, and a job without a log, is called infrastructure. Its rule for
interference needs a list of recent merges and is only asked where no word is found; it plays no part here.
"""

import re

_CODE = (
    r"AssertionError", r"assert\s+\w+\s*==", r"FAILED\s+[\w/]+\.py", r"test_\w+.*failed",
    r"error:\s+", r"undefined\s+symbol", r"compilation\s+failed", r"CMake Error", r"clang:\s+error",
    r"ImportError", r"ModuleNotFoundError", r"cannot\s+import\s+name", r"AttributeError",
    r"vllm\.\w+\s+not\s+found", r"kernel\s+compile\s+failed",
)  # fmt: skip
_PATTERN = re.compile("|".join(_CODE), re.IGNORECASE)
EXCERPT_LINES = 200


def cause_of(log: str) -> str:
    """`code` or `infrastructure`, from the last lines of a log; an empty one is infrastructure."""
    excerpt = "\n".join(log.splitlines()[-EXCERPT_LINES:])
    return "code" if _PATTERN.search(excerpt) else "infrastructure"
