"""The failures of a pull request, equal ones together, and whose each is: what its comment and check are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from buildeye.model import Cause, Determinism, Finding, JobFinding, Level, PullRequestFinding, Verdict
from buildeye.reports.headline import NO_FAILURE, claimed
from buildeye.triage.situation import Retry, Situation

Conclusion = Literal["success", "failure", "neutral"]


class Whose(StrEnum):
    """Who has to act on a failure, in the order they are told."""

    CHANGE = "change"
    OTHERS = "others"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"
    STOPPED = "stopped"


FOREIGN = (Whose.OTHERS, Whose.OUTSIDE)
"""Failures that are known not to be of this change."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure: the failed jobs that have it, each with its run, the surest first."""

    whose: Whose
    jobs: tuple[tuple[Finding, JobFinding], ...]

    @property
    def first(self) -> JobFinding:
        """The job that speaks for all."""
        return self.jobs[0][1]

    @property
    def verdict(self) -> Verdict:
        """The verdict on that job."""
        return self.first.verdict


def is_judged(verdict: Verdict) -> bool:
    """Whether somebody judged the job; a stand-in for a missing verdict has neither `judged_at` nor a person."""
    return verdict.judged_at is not None or bool(verdict.person)


def whose(job: JobFinding) -> Whose:
    """Who has to act on a failed job, as far as its verdict may claim."""
    cause = claimed(job)
    if cause in NO_FAILURE:
        return Whose.STOPPED
    if cause is Cause.UNKNOWN:
        return Whose.UNKNOWN
    if cause is Cause.INTERFERENCE:
        return Whose.OTHERS
    if cause is Cause.INFRASTRUCTURE or job.verdict.determinism is Determinism.FLAKY:
        return Whose.OUTSIDE
    return Whose.CHANGE


def retry_of(finding: Finding, job: JobFinding) -> Retry:
    """Whether a re-run of a failed job can pass without a change, as its advice holds too."""
    return Situation(finding.run, job.verdict, job.job, job.diagnosis, finding.pull_request).retry


def failures_of(finding: PullRequestFinding) -> list[Failure]:
    """Every failure of a pull request once, in the order of `Whose`, the surest first, whatever order the runs have."""
    alike: dict[tuple[str, ...], list[tuple[Finding, JobFinding]]] = {}
    for run in finding.runs:
        for job in run.jobs:
            alike.setdefault(_likeness(job), []).append((run, job))
    failures = [Failure(whose(jobs[0][1]), tuple(sorted(jobs, key=_rank))) for jobs in alike.values()]
    order = list(Whose)
    return sorted(failures, key=lambda failure: (order.index(failure.whose), *_rank(failure.jobs[0])))


def conclusion(finding: PullRequestFinding, failures: Sequence[Failure]) -> Conclusion:
    """How the check ends: `failure` when something looks like this change, `success` when nothing is red or pending."""
    kinds = {failure.whose for failure in failures}
    if Whose.CHANGE in kinds:
        return "failure"
    return "success" if not kinds and finding.passed and not finding.pending else "neutral"


def least_level(failures: Sequence[Failure]) -> Level:
    """The lowest level among the verdicts of failures; HIGH for none."""
    levels = list(Level)
    return max((failure.verdict.level for failure in failures), key=levels.index, default=Level.HIGH)


def _likeness(job: JobFinding) -> tuple[str, ...]:
    verdict = job.verdict
    signature = verdict.signature or job.diagnosis.signature or f"job {job.job.id}"
    return (whose(job), claimed(job), verdict.category, str(is_judged(verdict)), signature)


def _rank(entry: tuple[Finding, JobFinding]) -> tuple[bool, float, str, str, int]:
    run, job = entry
    return (not is_judged(job.verdict), -job.verdict.confidence, run.run.name, job.job.name, job.job.id)
