"""What a log itself says of chance: a test that failed was run again, and passed or failed once more.

Wordings of pytest-rerunfailures, flaky, PyTorch's run_test.py, surefire, nextest, gotestsum, Bazel, Playwright, vitest,
Cypress, minitest-retry and rspec-retry; retried steps are those of nick-fields/retry.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from buildeye.logs.lines import Lines
from buildeye.logs.marks import Mark
from buildeye.logs.structure import Structure
from buildeye.model import Determinism

if TYPE_CHECKING:
    from buildeye.logs.choose import Hit

LISTED = 12
"""Lines below a heading in which the tests that passed again are listed."""
TOLD = 60
"""Lines above the mark of a further try in which its test was named."""
SHORTEST_NAME = 4
_HEADING = re.compile(r"(?::|\bflaky)\s*$")
_PARTS = re.compile(r"::| › | > |#")


def passed_again(test: str, lines: Lines, structure: Structure) -> int | None:
    """The line that says that a test passed when it was run again; None when there is none."""
    for n in structure.marks.get(Mark.PASSED_AGAIN, ()):
        reach = LISTED if _HEADING.search(lines[n]) else 0
        if _named(test, (lines[k] for k in range(n, n + reach + 1))):
            return n
    return None


def failed_again(test: str, lines: Lines, structure: Structure) -> int | None:
    """The line that says that a test failed when it was run again; None when there is none."""
    for n in structure.marks.get(Mark.FAILED_AGAIN, ()):
        if _named(test, (lines[k] for k in range(n, max(n - TOLD, 0), -1))):
            return n
    return None


def recovered(line: int, structure: Structure) -> bool:
    """Does a line belong to a step that a later attempt brought to a good end?"""
    section = structure.section_at(line)
    return section is not None and structure.next_mark(Mark.RECOVERED, line, section.end) is not None


def given_up(line: int, structure: Structure) -> int | None:
    """The line that says that all attempts of the step failed to which `line` belongs."""
    section = structure.section_at(line)
    return structure.next_mark(Mark.GIVEN_UP, line, section.end if section else structure.lines)


def seen(hit: "Hit", test: str, lines: Lines, structure: Structure) -> tuple[Determinism, int | None, str]:
    """How a failure behaved when it was tried again in the same job, the line that says so, and what it says.

    Without such a line that is what the rule says, no line, and nothing. `test` is the failing test, or empty.
    """
    if test and (at := passed_again(test, lines, structure)):
        return Determinism.FLAKY, at, "the same test passed when it was run again in this job"
    if test and (at := failed_again(test, lines, structure)):
        return Determinism.DETERMINISTIC, at, "the same test failed again when it was run again in this job"
    open_question = hit.rule.determinism is Determinism.UNKNOWN and not hit.rule.retryable
    if open_question and (at := given_up(hit.line, structure)):
        return Determinism.DETERMINISTIC, at, "every attempt of this step failed"
    return hit.rule.determinism, None, ""


def _named(test: str, texts: Iterable[str]) -> bool:
    names = [re.escape(name.strip()) for name in (test, _PARTS.split(test)[-1]) if len(name.strip()) >= SHORTEST_NAME]
    named = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None
    return named is not None and any(named.search(text) for text in texts)
