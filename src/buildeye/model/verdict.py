"""What Build-Eye holds to be true of one failed job, and what is told about one failed run."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from buildeye.model.causes import Cause, Determinism
from buildeye.model.diagnosis import Diagnosis, Evidence, Suggestion
from buildeye.model.environment import Thing
from buildeye.model.runs import Job, PullRequest, Run


class Level(StrEnum):
    """Confidence in words; the thresholds are settings (`classification.confidence_thresholds`)."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Reason(Evidence):
    """Evidence that was weighed: the log-odds it adds to the verdict's cause.

    Below 0 it speaks against the cause; 0: it was not weighed, it only tells.
    """

    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Culprit:
    """A change that may have brought a failure: `probability` among all that could, and why."""

    sha: str
    probability: float
    why: str
    pull_request: int | None = None


@dataclass(frozen=True, slots=True)
class MergeRange:
    """The commits of the base branch after the last that passed (`good`) up to the first that failed (`bad`).

    `good` is empty when no passing commit is known; `merges` counts the commits in the range that are known.
    """

    good: str
    bad: str
    merges: int = 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement on one failed job: whose problem, how sure, and every reason with its numbers.

    `rule_set` is the hash of the rules and weights it was judged by, so that a verdict can be told from a later, better
    one. `otherwise` holds the causes that were next and how probable each is. Of interference, `merge_range` and
    `culprits` (likeliest first) say where it came from, `related_pull_requests` who else is hit. `person` is who said
    so when a person did; empty for Build-Eye's own judgement.
    """

    run_id: int
    job_id: int
    cause: Cause
    category: str
    confidence: float
    level: Level
    determinism: Determinism = Determinism.UNKNOWN
    reasons: tuple[Reason, ...] = ()
    signature: str = ""
    rule_set: str = ""
    judged_at: datetime | None = None
    otherwise: tuple[tuple[Cause, float], ...] = ()
    merge_range: MergeRange | None = None
    culprits: tuple[Culprit, ...] = ()
    related_pull_requests: tuple[int, ...] = ()
    person: str = ""


WHOLE_RUN: Final = 0
"""The `job_id` of what a person said of all failed jobs of a run."""


@dataclass(frozen=True, slots=True)
class PersonVerdict:
    """What a person said of a failure; it wins over our own judgement, and is stored apart from it.

    `job_id` is WHOLE_RUN for all failed jobs of the run; `category` is empty when the person named a cause only. Of two
    for one job, or one run, the one said later counts; when that is `withdrawn`, our own judgement counts again.
    """

    repository_full_name: str
    run_id: int
    job_id: int
    cause: Cause
    category: str
    why: str
    person: str
    said_at: datetime
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class VerdictChange:
    """Our own judgement of a job became another one: what it was and is, and which reasons are new (their ids)."""

    repository_full_name: str
    run_id: int
    job_id: int
    changed_at: datetime
    cause_before: Cause
    category_before: str
    confidence_before: float
    cause: Cause
    category: str
    confidence: float
    reasons: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log to show: its 1-based number and its text, cleaned and masked."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class JobFinding:
    """One failed job with what its log says and what is held to be true of it; `lines` are at most 50, in log order.

    `environment` is what the job ran in and with, as far as its log tells.
    """

    job: Job
    diagnosis: Diagnosis
    verdict: Verdict
    lines: tuple[LogLine, ...] = ()
    environment: tuple[Thing, ...] = ()


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


@dataclass(frozen=True, slots=True)
class PullRequestFinding:
    """All that is told about one pull request: what failed on its newest commit that ran, one finding a failed run.

    `verdict` is the one of `runs` that speaks for the pull request; None when nothing failed. `passed` and `pending`
    count its other runs on `head_sha`.
    """

    pull_request: PullRequest
    head_sha: str
    verdict: Verdict | None
    runs: tuple[Finding, ...] = ()
    passed: int = 0
    pending: int = 0
