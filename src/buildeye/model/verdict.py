"""What Build-Eye holds to be true of one failed job, and what is told about one failed run."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from buildeye.model.causes import Cause, Determinism
from buildeye.model.diagnosis import Diagnosis, Evidence, Suggestion
from buildeye.model.runs import Job, PullRequest, Run


class Level(StrEnum):
    """Confidence in words; the thresholds are settings (`classification.confidence_thresholds`)."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement on one failed job: whose problem, how sure, and every reason with its numbers.

    `rule_set` is the hash of the rules it was judged by, so that a verdict can be told from a later, better one.
    """

    run_id: int
    job_id: int
    cause: Cause
    category: str
    confidence: float
    level: Level
    determinism: Determinism = Determinism.UNKNOWN
    reasons: tuple[Evidence, ...] = ()
    signature: str = ""
    rule_set: str = ""
    judged_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log to show: its 1-based number and its text, cleaned and masked."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class JobFinding:
    """One failed job with what its log says and what is held to be true of it; `lines` are at most 50, in log order."""

    job: Job
    diagnosis: Diagnosis
    verdict: Verdict
    lines: tuple[LogLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """All that is told about one failed run.

    `verdict` is the one of `jobs` that speaks for the run (the most certain of the gravest kind); `pull_request` is
    None for runs that belong to none (nightly, push). `related_pull_requests` is filled for interference only.
    """

    run: Run
    pipeline_type: str
    verdict: Verdict
    jobs: tuple[JobFinding, ...]
    pull_request: PullRequest | None = None
    suggestions: tuple[Suggestion, ...] = ()
    related_pull_requests: tuple[int, ...] = ()
