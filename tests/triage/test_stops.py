"""Why a job was cancelled, from facts alone; what nobody stopped is judged as a failure."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from buildeye.model import Cause, Diagnosis, Evidence
from buildeye.triage.history import History
from buildeye.triage.judge import judge
from buildeye.triage.results import Result, Subject
from buildeye.triage.thresholds import DEFAULTS
from tests.triage.cases import NOW, OWN, again, at, history, in_pull, on_base, on_main, passed, subject

STOPPED = subject(Diagnosis("job 11"), conclusion="cancelled")
LIMIT = Diagnosis(
    "job 11", Cause.INFRASTRUCTURE, "timeout", confidence=0.9, signature="actions.timeout|exceeded the maximum",
    evidence=(Evidence("rule", "actions.timeout", "exceeded the maximum", "it says so", 3),),
)  # fmt: skip
SIBLING = again(12, attempt=1, name="lint")
STOPS: dict[str, tuple[Subject, Sequence[Result], str | None]] = {
    "nobody knows why": (STOPPED, (), "by-user"),
    "a newer run of the pull request began then": (STOPPED, [in_pull(OWN, 0.3)], "superseded"),
    "a newer run began much later": (STOPPED, [in_pull(OWN, 2)], "by-user"),
    "a newer run of another pull request began": (STOPPED, [in_pull(7, 0.3)], "by-user"),
    "a newer run of another workflow began": (STOPPED, [in_pull(OWN, 0.3, workflow="Docs")], "by-user"),
    "a sibling had failed": (STOPPED, [SIBLING], "fail-fast"),
    "a sibling of another attempt had failed": (STOPPED, [replace(SIBLING, attempt=2)], "by-user"),
    "a sibling failed afterwards": (STOPPED, [replace(SIBLING, ended=at(1))], None),
    "it alone was stopped": (STOPPED, [passed(replace(SIBLING, ended=at(1)))], None),
    "its siblings had passed before": (STOPPED, [passed(SIBLING)], "by-user"),
    "no runner took it for a day": (
        subject(Diagnosis("job 11"), conclusion="cancelled", runner_name="", completed_at=at(24)), (), None,
    ),
    "its log names a limit": (subject(LIMIT, conclusion="cancelled"), (), None),
    "its log names lost memory, but a newer run began": (
        subject(replace(LIMIT, category="out-of-memory"), conclusion="cancelled"), [in_pull(OWN, 0.3)], "superseded",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("of", "results", "category"), STOPS.values(), ids=STOPS.keys())
def test_why_a_job_was_stopped(of: Subject, results: Sequence[Result], category: str | None) -> None:
    verdict = judge(of, history(results), DEFAULTS, NOW)
    if category is None:
        assert verdict.cause is not Cause.CANCELLED
        return
    assert (verdict.cause, verdict.category) == (Cause.CANCELLED, category)
    assert [reason.id for reason in verdict.reasons] == [f"job.{category}"]
    assert verdict.level is DEFAULTS.level(verdict.confidence)


def test_a_job_that_ran_into_its_limit_is_of_the_infrastructure() -> None:
    verdict = judge(subject(LIMIT, conclusion="cancelled"), History(), DEFAULTS, NOW)
    assert (verdict.cause, verdict.category) == (Cause.INFRASTRUCTURE, "timeout")


def test_on_the_base_branch_the_next_push_supersedes() -> None:
    pushed = on_main(Diagnosis("job 11"), conclusion="cancelled")
    assert judge(pushed, history([passed(on_base(51, 0.3))]), DEFAULTS, NOW).category == "superseded"
    assert judge(pushed, history([passed(on_base(51, 3))]), DEFAULTS, NOW).category == "by-user"
