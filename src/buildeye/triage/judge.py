"""One failed job, what its log says, and where the same failure was seen before: whose problem is it?

Evidence adds up in log-odds; what each piece weighs stands in one table. The reasons of a verdict are all shown, also
those that speak against it.
"""

import math
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from datetime import datetime, timedelta

from buildeye.model import Cause, Determinism, Diagnosis, Evidence, Job, Level, PullRequest, Reason, Run, Verdict

BROKEN_TRUNK = 3.2
OTHER_PULL_REQUEST = 1.1
OWN_FILES = -2.5
SAME_COMMIT_PASSED = -2.2
"""Log-odds of each piece of evidence for `interference`; the last two speak against it."""
PRIOR = -1.6
"""Log-odds that a failure belongs to somebody else before anything is known: about one in six."""

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
class Window:
    """Around a failure, how far others count (settings `classification.related_hours_before` and `_after`)."""

    before: timedelta = timedelta(hours=12)
    after: timedelta = timedelta(hours=3)


WINDOW = Window()


@dataclass(frozen=True, slots=True)
class Sighting:
    """The same signature somewhere else: on the base branch (`pull_request` None) or in another pull request.

    `at` is when that job ended; `passed_at` when the same job next passed on the base branch, None when it has not.
    """

    signature: str
    run_id: int
    head_sha: str
    at: datetime
    pull_request: int | None = None
    author: str = ""
    on_base: bool = False
    passed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """All facts about one failed job that a judgement may use."""

    run: Run
    job: Job
    diagnosis: Diagnosis
    pull_request: PullRequest | None = None
    sightings: Sequence[Sighting] = ()
    passed_on_same_commit: bool = False


def judge(case: Case, thresholds: Thresholds, now: datetime, window: Window = WINDOW) -> Verdict:
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
        odds, found = _interference(case, window)
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
        reasons=tuple(Reason(e.kind, e.id, e.quote, e.why, e.line) for e in reasons),
        signature=diagnosis.signature,
        rule_set=diagnosis.rule_set,
        judged_at=now,
    )


def _can_be_others(diagnosis: Diagnosis) -> bool:
    specific = "|" in diagnosis.signature and not diagnosis.signature.startswith(
        ("unknown|", "no-log|", "no-job|", "step.")
    )
    return diagnosis.cause is Cause.CODE and specific and diagnosis.category not in _OWN_FAULT


def _interference(case: Case, window: Window) -> tuple[float, list[Evidence]]:
    """Log-odds that another change is to blame, and the evidence with its numbers."""
    began = case.run.run_started_at or case.run.created_at
    if began is None:
        return PRIOR, []
    odds, found = PRIOR, []
    same = [s for s in case.sightings if s.signature == case.diagnosis.signature and s.run_id != case.run.id]
    base = _on_base(case, same, began, window)
    others = _in_others(case, same, began, window)
    if base:
        first = min(base, key=lambda s: (s.at, s.run_id))
        odds += BROKEN_TRUNK
        found.append(
            Evidence(
                "history",
                "base-branch",
                first.head_sha[:12],
                f"the base branch fails alike in {_count({s.run_id for s in base}, 'run', 'runs')}, "
                f"first in run {first.run_id}",
            )
        )
    if others:
        odds += OTHER_PULL_REQUEST * min(len(others), 4)
        numbers = ", ".join(f"#{n}" for n in others[:6])
        found.append(
            Evidence(
                "history",
                "other-pull-requests",
                numbers,
                f"{_count(others, 'other pull request fails', 'other pull requests fail')} alike within "
                f"{window.before // timedelta(hours=1)} h",
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
    if found and case.passed_on_same_commit:
        odds += SAME_COMMIT_PASSED
    return odds, found


def _on_base(case: Case, same: Sequence[Sighting], began: datetime, window: Window) -> list[Sighting]:
    """Failures of the base branch that this change did not bring and that nobody had mended when its run began.

    Once the change is merged, only failures before its own merge count.
    """
    broken = (s for s in same if s.on_base and (s.passed_at is None or s.passed_at > began))
    base = [s for s in broken if s.at <= began + window.after]
    if case.pull_request is None:
        return [s for s in base if s.at < began and s.head_sha != case.run.head_sha]
    merged = [s.at for s in base if s.head_sha == case.pull_request.merge_commit_sha]
    return [s for s in base if not merged or s.at < min(merged)]


def _in_others(case: Case, same: Sequence[Sighting], began: datetime, window: Window) -> list[int]:
    """Numbers of other authors' pull requests that failed alike around the same time."""
    own = case.pull_request
    if own is None:
        return []
    near = (s for s in same if began - window.before <= s.at <= began + window.after)
    numbers = {s.pull_request for s in near if not own.author or s.author != own.author}
    return sorted(n for n in numbers if n is not None and n != own.number)


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
