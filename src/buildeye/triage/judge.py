"""One failed job, what its log says, and what happened around it: whose problem is it?

Judges gather evidence (`evidence/`), weights turn it into probabilities (`fusion`), and the likeliest cause becomes the
verdict with every reason and its weight, also those that speak against it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from buildeye.model import Cause, Culprit, Determinism, Level, MergeRange, Reason, Verdict, home_cause
from buildeye.triage.culprits import origin_of, rank
from buildeye.triage.evidence import Piece, Window, gather
from buildeye.triage.fusion import Belief, believe, calibrated, weight_of
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject, is_nameless
from buildeye.triage.stops import judge_stop
from buildeye.triage.thresholds import DEFAULTS, Thresholds
from buildeye.triage.weights import Weights, packaged_weights

NO_HISTORY = History()
WINDOW = Window()
SHORT_OF_SURE = 0.01
"""So much a verdict stays below `high` where the log or the history is missing."""
TOLD = 0.05
"""Causes less probable than this are not told as possible others."""
SURELY = 0.8
"""So probable chance must be before a failure of code is called flaky; below one in five it is called deterministic."""
MAY_PASS = frozenset({"flaky", "infrastructure", "code", "configuration"})
BRANCH_WIDE = frozenset({"broken-trunk", "concurrent-merge"})


def judge(
    subject: Subject,
    history: History = NO_HISTORY,
    thresholds: Thresholds = DEFAULTS,
    now: datetime | None = None,
    *,
    window: Window = WINDOW,
    weights: Weights | None = None,
) -> Verdict:
    """The verdict on one failed or cancelled job; an `unknown` is an answer."""
    weights = weights or packaged_weights()
    if subject.own.conclusion == "cancelled":
        stop = judge_stop(subject, history, thresholds, now)
        if stop is not None:
            return stop if history.covers(subject.own.ended, window.after) else _short_of_sure(stop, thresholds)
    alike = history.alike(subject)
    pieces = gather(subject, history, window, alike)
    belief = believe(subject.diagnosis, pieces, weights)
    cause = weights.causes[belief.best]
    missing = what_is_missing(subject, history, window)
    confidence = round(calibrated(belief.of_cause(cause), weights), 3)
    if missing is not None:
        confidence = min(confidence, _most(thresholds))
    level = thresholds.level(confidence)
    told = cause if level is not Level.NONE else Cause.UNKNOWN
    verdict = Verdict(
        run_id=subject.run.id,
        job_id=subject.job.id,
        cause=told,
        category=_category(subject, belief, cause, pieces) if told is not Cause.UNKNOWN else "unknown",
        confidence=confidence,
        level=level,
        determinism=_determinism(subject, belief, pieces),
        reasons=(*_reasons(subject, pieces, belief, weights), *([missing] if missing else [])),
        signature=subject.diagnosis.signature,
        rule_set=f"{subject.diagnosis.rule_set}+{weights.digest}",
        judged_at=now,
        otherwise=_otherwise(belief, told),
    )
    return _with_origin(verdict, subject, history, window, alike) if told is Cause.INTERFERENCE else verdict


def _most(thresholds: Thresholds) -> float:
    """What is stated at most where something is missing."""
    return max(thresholds.medium, round(thresholds.high - SHORT_OF_SURE, 3))


def _short_of_sure(stop: Verdict, thresholds: Thresholds) -> Verdict:
    confidence = min(stop.confidence, _most(thresholds))
    return replace(stop, confidence=confidence, level=thresholds.level(confidence))


def what_is_missing(subject: Subject, history: History, window: Window) -> Reason | None:
    """Why this verdict cannot be sure: the log was not read, or nothing is known of the hours around the failure."""
    own = subject.own
    if is_nameless(own.signature):
        return Reason("job", "log-missing", own.name, "its log was not read, so no verdict on it is sure")
    if not history.covers(own.ended, window.after):
        return Reason(
            "job", "history-missing", own.name,
            "the warehouse does not know what ran in the hours before and with it, so no verdict on it is sure",
        )  # fmt: skip
    return None


def _reasons(subject: Subject, pieces: Sequence[Piece], belief: Belief, weights: Weights) -> tuple[Reason, ...]:
    """What the log said first, then what history said, the weightiest first; for and against alike."""
    said = [Reason(e.kind, e.id, e.quote, e.why, e.line) for e in subject.diagnosis.evidence]
    weighed = [
        Reason(p.kind, p.id, p.quote, p.why, weight=round(weight_of(p, belief, subject.diagnosis, weights), 2))
        for p in pieces
    ]
    weighed.sort(key=lambda r: -abs(r.weight))
    return (*said, *(r for r in weighed if r.weight))


def _otherwise(belief: Belief, told: Cause) -> tuple[tuple[Cause, float], ...]:
    others = [(cause, round(p, 3)) for cause, p in belief.causes.items() if cause is not told and p >= TOLD]
    return tuple(sorted(others, key=lambda each: (-each[1], each[0])))


def _category(subject: Subject, belief: Belief, cause: Cause, pieces: Sequence[Piece]) -> str:
    """The kind of interference; else what the log said, when it is of that cause, or what the evidence points to."""
    if cause is Cause.INTERFERENCE:
        return belief.best
    said = subject.diagnosis
    if said.cause is cause and said.category != "unknown":
        return said.category
    if home_cause(said.category) is cause:
        return said.category
    if cause is Cause.INFRASTRUCTURE:
        found = {piece.id for piece in pieces}
        if "runner-sick" in found:
            return "runner-host"
        return "github-service" if found & {"outage", "incident"} else "runner-host"
    return "test-failure" if cause is Cause.CODE else "workflow"


def _determinism(subject: Subject, belief: Belief, pieces: Sequence[Piece]) -> Determinism:
    """Would the same commit fail again? What was seen outweighs what is usual of a cause."""
    found, best, said = {piece.id for piece in pieces}, belief.best, subject.diagnosis
    if best == "runner-contention" or (best in MAY_PASS and "same-run-passed" in found):
        return Determinism.FLAKY
    if best == "infrastructure":
        lasts = "same-run-failed-again" in found and said.retry_helps is False
        return Determinism.DETERMINISTIC if lasts else Determinism.FLAKY
    if best in ("code", "configuration") and said.determinism is not Determinism.UNKNOWN:
        return said.determinism
    if belief.explanations["flaky"] >= SURELY:
        return Determinism.FLAKY
    return Determinism.DETERMINISTIC if belief.explanations["flaky"] <= 1 - SURELY else Determinism.UNKNOWN


def _with_origin(
    verdict: Verdict, subject: Subject, history: History, window: Window, alike: Sequence[Result]
) -> Verdict:
    """The verdict with the range of merges, who may have brought it, and who else is hit."""
    own = subject.own
    hit = sorted(
        {
            r.pull_request
            for r in alike
            if r.pull_request is not None and r.pull_request != own.pull_request and not r.on_base
            and abs(r.built - own.built) <= max(window.before, window.after) * 2
        }
    )  # fmt: skip
    culprits: tuple[Culprit, ...] = ()
    span: MergeRange | None = None
    if verdict.category in BRANCH_WIDE:
        origin = origin_of(subject, history, alike)
        if origin is not None and origin.merges:
            culprits = rank(subject, history, origin)
            span = MergeRange(origin.good, origin.bad, len(origin.merges))
    return replace(verdict, merge_range=span, culprits=culprits, related_pull_requests=tuple(hit))


def reconsidered(before: Verdict, after: Verdict, least: float = 0.15) -> bool:
    """Has the judgement changed so much that people should know: another cause or kind, or another certainty?"""
    if (before.cause, before.category, before.determinism) != (after.cause, after.category, after.determinism):
        return True
    return before.level is not after.level or abs(before.confidence - after.confidence) >= least


_GRAVITY = (
    Cause.CODE,
    Cause.CONFIGURATION,
    Cause.INTERFERENCE,
    Cause.INFRASTRUCTURE,
    Cause.UNKNOWN,
    Cause.CANCELLED,
    Cause.NONE,
)


def speak_for_run(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that stands for several: a known cause first, then the surer, then the one its author must act on."""
    return min(
        verdicts,
        key=lambda v: (_GRAVITY.index(v.cause) >= 4, -round(v.confidence, 1), _GRAVITY.index(v.cause), v.job_id),
    )
