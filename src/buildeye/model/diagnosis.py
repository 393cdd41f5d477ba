"""The diagnosis of one log, as the contract prints it, and the advice that goes with it."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal

from buildeye.model.causes import Cause, Cost, Determinism

EvidenceKind = Literal["job", "step", "rule", "baseline", "words", "history", "infrastructure", "person"]


@dataclass(frozen=True, slots=True)
class KeyLine:
    """The one line to read first: its 1-based number in the input and its text, cleaned and masked."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines worth reading, 1-based, both ends included."""

    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason for a diagnosis or verdict; `line` is None when the evidence is not a line of the log."""

    kind: EvidenceKind
    id: str
    quote: str
    why: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing to do, with what it costs; `command` is empty when there is none to copy."""

    title: str
    cost: Cost = Cost.LOW
    steps: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What one log says about why its job failed (shared contract `diagnosis`).

    `confidence` is the probability that `cause` is right; below 0.5 the honest answer was `unknown`.
    `signature` is equal for equal failures: it holds no times, runner paths or numbers that vary.
    `retry_helps` says whether a re-run can pass without a change; None when the evidence does not say.
    """

    log: str
    cause: Cause = Cause.UNKNOWN
    category: str = "unknown"
    determinism: Determinism = Determinism.UNKNOWN
    confidence: float = 0.0
    summary: str = ""
    key_line: KeyLine | None = None
    excerpts: tuple[Excerpt, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    signature: str = ""
    suggestions: tuple[Suggestion, ...] = ()
    retry_helps: bool | None = None
    rule_set: str = field(default="", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON object."""
        return dataclasses.asdict(self)
