"""Test cases as their reports tell them: what ran in which job, how it ended, and what it said.

Where a report lacks a value it is empty or 0: the table that keeps them has PyTorch's columns, which know no NULL.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b


class CaseResult(StrEnum):
    """How a test case ended. `flaky`: it failed, was run again in the same job, and passed."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    FLAKY = "flaky"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One thing a test case ended with: a failure, an error, a failed try before a re-run, or why it was skipped."""

    message: str = ""
    text: str = ""
    type: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One test case of a report; `ordinal` is its place in the report, from 0, `seconds` what it took.

    `status` is the word the report itself uses, empty when it has none. `file` and `line` are as the report has them.
    """

    ordinal: int
    name: str
    classname: str = ""
    file: str = ""
    line: int = 0
    seconds: float = 0.0
    status: str = ""
    failures: tuple[Outcome, ...] = ()
    errors: tuple[Outcome, ...] = ()
    reruns: tuple[Outcome, ...] = ()
    skips: tuple[Outcome, ...] = ()

    @property
    def result(self) -> CaseResult:
        """How it ended: an error outweighs a failure, that a re-run, that a skip."""
        if self.errors:
            return CaseResult.ERROR
        if self.failures:
            return CaseResult.FAILED
        if self.reruns:
            return CaseResult.FLAKY
        return CaseResult.SKIPPED if self.skips else CaseResult.PASSED


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a report comes from. `job_id` is 0 when it is not known which job of the run wrote it.

    `report` tells reports of one run apart and stays the same when a report is read again; `folder` is the name of the
    folder the report lay in; `reported_at` is when it was made (UTC).
    """

    repository_full_name: str
    run_id: int
    report: str
    reported_at: datetime
    run_attempt: int = 1
    job_id: int = 0
    folder: str = ""

    @property
    def report_id(self) -> int:
        """64 bits, unsigned, made of the run and `report`."""
        key = f"{self.repository_full_name}\n{self.run_id}\n{self.report}"
        return int.from_bytes(blake2b(key.encode(errors="surrogatepass"), digest_size=8).digest())


@dataclass(frozen=True, slots=True)
class CaseRun:
    """A test case and where its report comes from: one row of the warehouse."""

    origin: Origin
    case: Case
