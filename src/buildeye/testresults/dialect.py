"""What the elements and attributes of the many JUnit dialects mean; there is no standard, so the tables here are it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from buildeye.model.cases import Case, Outcome

KINDS: Final[Mapping[str, str]] = {
    "failure": "failures",
    "error": "errors",
    "skipped": "skips",
    "rerun": "reruns",
    "rerunFailure": "reruns",
    "rerunError": "reruns",
    "flakyFailure": "reruns",
    "flakyError": "reruns",
}
"""Which list of a case an element belongs to. A re-run that failed after a failure, and one before a pass, are both
tries that failed: whether the case failed says its own `failure` or `error`."""
NOT_RUN: Final = ("notrun", "disabled", "skipped", "suppressed", "ignored", "inconclusive")
"""Words for a case that did not run, of GoogleTest and CTest (`status`, `result`), compared in small letters."""
FAILED: Final = ("fail", "failed", "failure")
LONGEST_TEXT: Final = 65_536  # characters of one outcome's text; the middle of longer ones is left out
LONGEST_NAME: Final = 4_096
MOST_OUTCOMES: Final = 100  # of one kind in one case
_HEAD: Final = LONGEST_TEXT // 2
_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,2})?")
_GROUPED: Final = re.compile(r"[1-9][0-9]{0,2}(?:[,\u00a0\u202f' ][0-9]{3})+(?:\.[0-9]+|,[0-9]{1,2})?")
_YEAR: Final = 366 * 86_400.0  # seconds; a test that took longer did not


def outcome_kind(name: str) -> str:
    """The list of a case that an element fills; empty when it fills none."""
    return KINDS.get(name, "")


def seconds(text: str) -> float:
    """A time attribute in seconds: `1.5`, `1,234.5`, `0,25`, `1e-05`, `3.2s`; 0 for what is none, and below 0."""
    plain = text.strip().removesuffix("s").strip()
    if _GROUPED.fullmatch(plain):
        plain = re.sub(r"[,\u00a0\u202f' ](?=[0-9]{3}(?![0-9]))", "", plain)
    if plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    return min(float(plain), _YEAR) if _NUMBER.fullmatch(plain) else 0.0


def line_number(text: str) -> int:
    """A line attribute; 0 for what is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


@dataclass(frozen=True, slots=True)
class Suite:
    """What a test suite hands down to its cases."""

    name: str = ""
    file: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str], above: "Suite | None") -> "Suite":
        """The suite with these attributes inside another."""
        file = given.get("file") or given.get("filepath") or (above.file if above else "")
        return cls(given.get("name", "")[:LONGEST_NAME], file[:LONGEST_NAME])


@dataclass(slots=True)
class Draft:
    """A test case that is being read. `element` is the name of the element that ends it."""

    element: str
    given: Mapping[str, str]
    suite: Suite
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    _open: str = ""
    _depth: int = 0
    _heading: Outcome = field(default_factory=Outcome)
    _pieces: list[str] = field(default_factory=list)
    _length: int = 0

    @classmethod
    def of_case(cls, given: Mapping[str, str], suite: Suite) -> "Draft":
        """A `testcase` element."""
        return cls("testcase", given, suite)

    @classmethod
    def of_suite(cls, suite: Suite) -> "Draft":
        """A suite that failed as a whole, told as a case of the suite's name."""
        return cls("", {"name": suite.name or "(suite)", "classname": suite.name}, suite)

    def open(self, name: str, given: Mapping[str, str]) -> bool:
        """An element begins inside; whether its text is wanted."""
        if self._open:
            self._depth += 1
            return self._depth == 1 and name.lower() in ("stacktrace", "stack-trace", "message")
        if not outcome_kind(name):
            return False
        self._open, self._depth = name, 0
        self.element = self.element or name
        message = given.get("message", "")
        self._heading = Outcome(message[:LONGEST_TEXT], "", given.get("type", "")[:LONGEST_NAME])
        self._pieces, self._length = [], 0
        return True

    def text(self, data: str) -> None:
        """Text of the open outcome: the beginning and the end are kept."""
        self._length += len(data)
        self._pieces.append(data)
        if len(self._pieces) > 64 or self._length > 2 * LONGEST_TEXT:
            self._pieces = [_shortened("".join(self._pieces))]
            self._length = len(self._pieces[0])

    def close(self, name: str) -> bool:
        """An element ends; whether text that follows is wanted again."""
        if self._open and self._depth:
            self._depth -= 1
            return self._depth == 0
        if self._open == name:
            told = Outcome(self._heading.message, _shortened("".join(self._pieces)).strip(), self._heading.type)
            kept = self.outcomes.setdefault(outcome_kind(name), [])
            if len(kept) < MOST_OUTCOMES:
                kept.append(told)
            self._open, self._pieces = "", []
        return False

    def ends_with(self, name: str) -> bool:
        """Whether the element that just ended is the case itself."""
        return not self._open and name == self.element

    def case(self, ordinal: int) -> Case:
        """The finished case."""
        given = self.given
        word = given.get("status") or given.get("result") or ""
        skips, failures = self._of("skips"), self._of("failures")
        said = {word.lower(), given.get("result", "").lower()}
        not_run = bool(said & set(NOT_RUN)) or given.get("executed", "").lower() == "false"
        if not_run and not any(self.outcomes.values()):
            skips = (Outcome(word),)
        if said & set(FAILED) and not any(self.outcomes.values()):
            failures = (Outcome(word),)
        return Case(
            ordinal=ordinal,
            name=given.get("name", "")[:LONGEST_NAME],
            classname=(given.get("classname") or given.get("class") or self.suite.name)[:LONGEST_NAME],
            file=(given.get("file") or given.get("filepath") or self.suite.file)[:LONGEST_NAME],
            line=line_number(given.get("line") or given.get("lineno") or ""),
            seconds=seconds(given.get("time") or given.get("duration") or ""),
            status=word[:LONGEST_NAME],
            failures=failures,
            errors=self._of("errors"),
            reruns=self._of("reruns"),
            skips=skips,
        )

    def _of(self, kind: str) -> tuple[Outcome, ...]:
        return tuple(self.outcomes.get(kind, ()))


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    mark = "\n[…]\n"
    return text[: _HEAD - len(mark)] + mark + text[-_HEAD:]
