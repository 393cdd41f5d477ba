"""What is said of a job without a log, and of which runs anything is said at all."""

from datetime import timedelta

import pytest

from buildeye.model import Cause, Job, Step
from buildeye.triage.facts import can_hold_failures, diagnose_facts, diagnose_run, is_failure, is_superseded
from tests.triage.cases import BEGAN, job, run

DID_NOT_RUN = (Step("Set up job", 1, "completed", "skipped"),)
FACTS = {
    "cancelled": (job(conclusion="cancelled"), Cause.CANCELLED, "by-user"),
    "out of time": (job(conclusion="timed_out"), Cause.INFRASTRUCTURE, "timeout"),
    "no step, a runner": (job(steps=()), Cause.INFRASTRUCTURE, "runner-lost"),
    "only skipped steps": (job(steps=DID_NOT_RUN), Cause.INFRASTRUCTURE, "runner-lost"),
    "no step, no runner": (job(steps=(), runner_name=None), Cause.INFRASTRUCTURE, "runner-unavailable"),
    "a step failed": (job(), Cause.UNKNOWN, "unknown"),
}


@pytest.mark.parametrize(("of", "cause", "category"), FACTS.values(), ids=FACTS.keys())
def test_without_a_log_the_facts_of_the_job_speak(of: Job, cause: Cause, category: str) -> None:
    diagnosis = diagnose_facts(of, "GitHub no longer has its log")
    assert (diagnosis.cause, diagnosis.category) == (cause, category)
    assert diagnosis.evidence
    assert "unit" in diagnosis.summary


def test_what_is_not_known_says_which_step_failed_and_why_there_is_no_log() -> None:
    diagnosis = diagnose_facts(job(), "GitHub no longer has its log")
    assert diagnosis.summary == 'Job "unit" failed in step "Run tests"; GitHub no longer has its log.'


def test_what_a_rerun_may_heal_comes_with_the_command_for_it() -> None:
    (advice,) = diagnose_facts(job(steps=()), "").suggestions
    assert advice.command == "gh run rerun --failed 1"


def test_a_run_without_a_known_job_is_unknown() -> None:
    diagnosis = diagnose_run(run())
    assert (diagnosis.cause, diagnosis.confidence) == (Cause.UNKNOWN, 0.0)
    assert "no failed job of it is known" in diagnosis.summary


def test_a_run_that_could_not_start_has_a_workflow_file_that_is_not_valid() -> None:
    diagnosis = diagnose_run(run(conclusion="startup_failure", path=".github/workflows/e2e.yaml"))
    assert (diagnosis.cause, diagnosis.category) == (Cause.CONFIGURATION, "workflow")


CONCLUSIONS = {
    "failure": True, "timed_out": True, "startup_failure": True, "success": False, "skipped": False, "neutral": False,
    "cancelled": False, "action_required": False, "stale": False, None: False,
}  # fmt: skip


@pytest.mark.parametrize(("conclusion", "failed"), CONCLUSIONS.items())
def test_only_what_failed_is_a_failure(conclusion: str | None, failed: bool) -> None:
    assert is_failure(run(conclusion=conclusion)) is failed
    assert can_hold_failures(run(conclusion=conclusion)) is (failed or conclusion == "cancelled")


LATER = BEGAN + timedelta(minutes=5)
OTHERS = {
    "a newer run of the branch": ({"created_at": LATER}, True),
    "an older run": ({"created_at": BEGAN - timedelta(minutes=5)}, False),
    "another workflow": ({"created_at": LATER, "workflow_id": 10}, False),
    "another branch": ({"created_at": LATER, "head_branch": "else"}, False),
    "another event": ({"created_at": LATER, "event": "push"}, False),
    "a run without a time": ({"created_at": None}, False),
}


@pytest.mark.parametrize(("other", "superseded"), OTHERS.values(), ids=OTHERS.keys())
def test_a_cancelled_run_is_superseded_by_a_newer_one_of_its_kind(other: dict[str, object], superseded: bool) -> None:
    stopped = run(conclusion="cancelled")
    assert is_superseded(stopped, [stopped, run(id=2, **other)]) is superseded


def test_a_run_that_failed_is_not_superseded() -> None:
    assert not is_superseded(run(), [run(id=2, created_at=LATER)])
