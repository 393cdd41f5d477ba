"""Jobs that were stopped: by a newer run, by a sibling that failed, by the time limit, or by a person."""

from datetime import datetime, timedelta

from buildeye.model import Cause, Determinism, Diagnosis, Reason, Verdict
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject
from buildeye.triage.thresholds import Thresholds

SHORTLY = timedelta(minutes=3)
DAY = timedelta(hours=23)
LIMITS = frozenset({"timeout", "runner-lost", "runner-unavailable", "out-of-memory"})


def judge_stop(subject: Subject, history: History, thresholds: Thresholds, now: datetime | None) -> Verdict | None:
    """Why a job was cancelled, from facts alone; None when nobody stopped it and it must be judged as a failure."""
    own = subject.own
    siblings = [r for r in history.of_run(own.run_id) if r.attempt == own.attempt and r.job_id != own.job_id]
    failed = [r for r in siblings if r.failed and own.ended - SHORTLY * 10 <= r.ended <= own.ended + SHORTLY]
    newer = _newer(own, history)
    limit = said_to_stop_itself(subject.diagnosis)
    if limit and (subject.diagnosis.category == "timeout" or (newer is None and not failed)):
        return None
    if newer is not None:
        found = ("superseded", 0.97, f"a newer run of the same workflow began then (run {newer.run_id})")
    elif failed:
        near = max(failed, key=lambda r: r.ended)
        found = ("fail-fast", 0.9, f'job "{near.name}" of the same run had failed, which stops the others')
    elif (not own.runner and own.ended - own.built >= DAY) or _alone(own, siblings):
        return None
    else:
        found = ("by-user", 0.8, "no newer run and no failed job of this run explains it")
    category, sure, why = found
    return Verdict(
        run_id=own.run_id,
        job_id=own.job_id,
        cause=Cause.CANCELLED,
        category=category,
        confidence=sure,
        level=thresholds.level(sure),
        determinism=Determinism.UNKNOWN,
        reasons=(Reason("job", f"job.{category}", own.name, why),),
        signature=f"cancelled|{category}",
        rule_set=subject.diagnosis.rule_set,
        judged_at=now,
    )


def said_to_stop_itself(diagnosis: Diagnosis) -> bool:
    """Does the log name a limit or a lost machine? GitHub calls a job cancelled that ran into its time limit."""
    ruled = any(evidence.kind == "rule" for evidence in diagnosis.evidence)
    return ruled and diagnosis.cause is Cause.INFRASTRUCTURE and diagnosis.category in LIMITS


def _newer(own: Result, history: History) -> Result | None:
    """A run of the same workflow for the same pull request, or branch, that was created when this one was stopped."""
    rows = history.on_base(own.key) if own.on_base else history.of_whole_change(own.change)
    return next(
        (r for r in rows if r.workflow == own.workflow and r.run_id != own.run_id
         and own.built < r.built <= own.ended + SHORTLY), None,
    )  # fmt: skip


def _alone(own: Result, siblings: list[Result]) -> bool:
    """Was this job alone stopped while its siblings ran on? People stop runs; time limits stop jobs."""
    return (
        bool(siblings)
        and not any(r.conclusion == "cancelled" for r in siblings)
        and any(r.ended > own.ended + SHORTLY for r in siblings)
    )
