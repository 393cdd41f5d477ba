"""Verdicts beside each other: which speaks for a run, and when a judgement has changed so that people should know."""

from dataclasses import replace

import pytest

from buildeye.model import Cause, Culprit, Determinism, Level, Reason, Verdict
from buildeye.triage.judge import reconsidered, speak_for_run
from tests.triage.cases import NOW


def _verdict(job_id: int, cause: Cause, confidence: float) -> Verdict:
    return Verdict(1, job_id, cause, "x", confidence, Level.HIGH)


FOR_A_RUN = {
    "a known cause before unknown": [(1, Cause.UNKNOWN, 0.4), (2, Cause.INFRASTRUCTURE, 0.5)],
    "the surer first": [(1, Cause.CODE, 0.7), (2, Cause.INFRASTRUCTURE, 0.95)],
    "of equally sure ones the one that asks for a change": [(1, Cause.INFRASTRUCTURE, 0.93), (2, Cause.CODE, 0.91)],
    "of equal ones the first job": [(3, Cause.CODE, 0.9), (2, Cause.CODE, 0.9)],
    "a failure before a job that was stopped": [(1, Cause.CANCELLED, 0.97), (2, Cause.CODE, 0.5)],
}


@pytest.mark.parametrize("rows", FOR_A_RUN.values(), ids=FOR_A_RUN.keys())
def test_one_verdict_speaks_for_the_run_whatever_the_order(rows: list[tuple[int, Cause, float]]) -> None:
    verdicts = [_verdict(*row) for row in rows]
    assert speak_for_run(verdicts).job_id == 2
    assert speak_for_run(reversed(verdicts)).job_id == 2


BEFORE = Verdict(1, 11, Cause.CODE, "test-failure", 0.8, Level.MEDIUM)
AFTER: dict[str, tuple[Verdict, bool]] = {
    "the same": (BEFORE, False),
    "another time, other reasons": (replace(BEFORE, judged_at=NOW, reasons=(Reason("job", "a", "b", "c"),)), False),
    "a little surer": (replace(BEFORE, confidence=0.88), False),
    "much less sure": (replace(BEFORE, confidence=0.65, level=Level.MEDIUM), True),
    "another word": (replace(BEFORE, confidence=0.9, level=Level.HIGH), True),
    "another cause": (replace(BEFORE, cause=Cause.INFRASTRUCTURE), True),
    "another kind": (replace(BEFORE, category="lint"), True),
    "it is flaky": (replace(BEFORE, determinism=Determinism.FLAKY), True),
    "another culprit": (replace(BEFORE, culprits=(Culprit("a", 0.5, "it"),)), False),
}


@pytest.mark.parametrize(("after", "told"), AFTER.values(), ids=AFTER.keys())
def test_people_are_told_when_a_judgement_really_changed(after: Verdict, told: bool) -> None:
    assert reconsidered(BEFORE, after) is told
