"""One failed job, what its log says, and where the same failure was seen before: whose problem is it?

Evidence adds up in log-odds; what each piece weighs stands in one table. The reasons of a verdict are all shown, also
those that speak against it.
"""

import math
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime, timedelta

from buildeye.model import Cause, Determinism, Diagnosis, Evidence, Job, Level, PullRequest, Run, Verdict

BROKEN_TRUNK = 3.2
OTHER_PULL_REQUEST = 1.1
OWN_FILES = -2.5
SAME_COMMIT_PASSED = 2.2
"""Log-odds of each piece of evidence for `interference`; `SAME_COMMIT_PASSED` speaks for flaky."""
PRIOR = -1.6
"""Log-odds that a failure belongs to somebody else before anything is known: about one in six."""

BEFORE, AFTER = timedelta(hours=12), timedelta(hours=3)
"""Around a failure, how far other pull requests count."""

_OWN_FAULT = frozenset({"policy", "format", "lint", "docs", "merge-conflict", "coverage", "permission", "secret"})
"""Categories in which equal failures of different pull requests are each their own: a wrong title is nobody else's."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least probability for each word of confidence (settings `classification.confidence_thresholds`)."""

    high: float = 0.9
    medium: float = 0.7
    low: float = 0.5

    def level(self, confidence: float) -> Level:
        """The word for a probability; NONE below `low`."""
        if confidence >= self.high:
            return Level.HIGH
        if confidence >= self.medium:
            return Level.MEDIUM
        return Level.LOW if confidence >= self.low else Level.NONE


@dataclass(frozen=True, slots=True)
class Sighting:
    """The same signature somewhere else: on the base branch (`pull_request` None) or in another pull request."""

    signature: str
    run_id: int
    head_sha: str
    at: datetime
    pull_request: int | None = None
    author: str = ""
    on_base: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """All facts about one failed job that a judgement may use."""

    run: Run
    job: Job
    diagnosis: Diagnosis
    pull_request: PullRequest | None = None
    sightings: Sequence[Sighting] = ()
    passed_on_same_commit: bool = False


def judge(case: Case, thresholds: Thresholds, now: datetime) -> Verdict:
    """The verdict on one failed job; an `unknown` is an answer."""
    diagnosis = case.diagnosis
    reasons = list(diagnosis.evidence)
    cause, category, confidence = diagnosis.cause, diagnosis.category, diagnosis.confidence
    determinism = diagnosis.determinism
    if case.passed_on_same_commit:
        determinism = Determinism.FLAKY
        reasons.append(
            Evidence("history", "same-commit-passed", case.job.head_sha[:12], "the same job passed on the same commit")
        )
    if _can_be_others(diagnosis):
        odds, found = _interference(case)
        reasons += found
        probability = 1 / (1 + math.exp(-odds))
        if probability >= max(thresholds.low, 0.6):
            cause, confidence = Cause.INTERFERENCE, probability
            category = "broken-trunk"
            determinism = Determinism.DETERMINISTIC if determinism is Determinism.UNKNOWN else determinism
    level = thresholds.level(confidence)
    if level is Level.NONE:
        cause, category = Cause.UNKNOWN, "unknown"
    return Verdict(
        run_id=case.run.id,
        job_id=case.job.id,
        cause=cause,
        category=category,
        confidence=round(confidence, 3),
        level=level,
        determinism=determinism,
        reasons=tuple(reasons),
        signature=diagnosis.signature,
        rule_set=diagnosis.rule_set,
        judged_at=now,
    )


def _can_be_others(diagnosis: Diagnosis) -> bool:
    specific = "|" in diagnosis.signature and not diagnosis.signature.startswith(
        ("unknown|", "no-log|", "no-job|", "step.")
    )
    return diagnosis.cause is Cause.CODE and specific and diagnosis.category not in _OWN_FAULT


def _interference(case: Case) -> tuple[float, list[Evidence]]:
    """Log-odds that another change is to blame, and the evidence with its numbers."""
    began = case.run.run_started_at or case.run.created_at
    if began is None:
        return PRIOR, []
    odds, found = PRIOR, []
    same = [s for s in case.sightings if s.signature == case.diagnosis.signature and s.run_id != case.run.id]
    base = [s for s in same if s.on_base and s.at <= began + AFTER]
    own = case.pull_request.number if case.pull_request else None
    author = case.pull_request.author if case.pull_request else ""
    others = {s.pull_request: s for s in same if s.pull_request not in (None, own)
              and began - BEFORE <= s.at <= began + AFTER and (not author or s.author != author)}  # fmt: skip
    if own is None:
        base = [s for s in base if s.at < began and s.head_sha != case.run.head_sha]
    if base:
        first = min(base, key=lambda s: s.at)
        odds += BROKEN_TRUNK
        found.append(
            Evidence(
                "history",
                "base-branch",
                first.head_sha[:12],
                f"the base branch fails alike in {_count(base, 'run', 'runs')}, first in run {first.run_id}",
            )
        )
    if others and own is not None:
        odds += OTHER_PULL_REQUEST * min(len(others), 4)
        numbers = ", ".join(f"#{n}" for n in sorted(n for n in others if n is not None)[:6])
        found.append(
            Evidence(
                "history",
                "other-pull-requests",
                numbers,
                f"{_count(others, 'other pull request fails', 'other pull requests fail')} alike within "
                f"{BEFORE.seconds // 3600} h",
            )
        )
    touched = _touched(case)
    if found and touched:
        odds += OWN_FILES
        found.append(
            Evidence(
                "history",
                "own-files",
                ", ".join(touched[:4]),
                "against it: this change touches a file that the failure names",
            )
        )
    return odds, found


def _count(things: Sized, one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"


def _touched(case: Case) -> list[str]:
    changed = set(case.pull_request.changed_files) if case.pull_request else set()
    named = {*case.diagnosis.files, *(t.split("::")[0] for t in case.diagnosis.tests)}
    return sorted(changed & named)


_GRAVITY = (
    Cause.INTERFERENCE,
    Cause.CODE,
    Cause.CONFIGURATION,
    Cause.INFRASTRUCTURE,
    Cause.UNKNOWN,
    Cause.CANCELLED,
    Cause.NONE,
)


def speak_for_run(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that stands for a run: a known cause first, then the surer, then the one that asks for a change."""
    return min(
        verdicts,
        key=lambda v: (_GRAVITY.index(v.cause) >= 4, -round(v.confidence, 1), _GRAVITY.index(v.cause), v.job_id),
    )
