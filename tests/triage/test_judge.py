"""What is judged of one failed job, from what its log says and where else the same was seen."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.model import Cause, Determinism, Diagnosis, Evidence, Level, Reason, Verdict
from buildeye.triage.judge import Case, Sighting, Thresholds, Window, judge, speak_for_run
from tests.triage.cases import BEGAN, NOW, OWN, SIGNATURE, diagnosis, in_pull, job, judged, on_base, pull, reasons, run


def test_a_failure_seen_nowhere_else_is_what_its_log_says() -> None:
    verdict = judged()
    assert (verdict.cause, verdict.category, verdict.confidence) == (Cause.CODE, "test-failure", 0.86)
    assert verdict.level is Level.MEDIUM
    assert not reasons(verdict)


def test_a_failure_that_the_base_branch_had_before_is_interference() -> None:
    verdict = judged(on_base())
    assert (verdict.cause, verdict.category) == (Cause.INTERFERENCE, "broken-trunk")
    assert verdict.determinism is Determinism.DETERMINISTIC
    (reason,) = [r for r in verdict.reasons if r.id == "base-branch"]
    assert "1 run, first in run 50" in reason.why
    assert reason.quote == "b" * 12


@pytest.mark.parametrize(("mended", "cause"), [(-1.0, Cause.CODE), (1.0, Cause.INTERFERENCE)])
def test_a_base_branch_that_was_mended_before_the_run_began_excuses_nobody(mended: float, cause: Cause) -> None:
    seen = replace(on_base(), passed_at=BEGAN + timedelta(hours=mended))
    assert judged(seen).cause is cause


def test_a_run_of_the_base_branch_counts_once_however_often_it_was_seen() -> None:
    verdict = judged(on_base(50), on_base(50), on_base(51, -2))
    assert "2 runs, first in run 50" in next(r.why for r in verdict.reasons if r.id == "base-branch")
    assert verdict.confidence == judged(on_base()).confidence


def test_of_two_runs_that_ended_together_the_one_with_the_lower_number_is_first() -> None:
    assert judged(on_base(51), on_base(50)) == judged(on_base(50), on_base(51))


@pytest.mark.parametrize(("others", "cause"), [(1, Cause.CODE), (2, Cause.INTERFERENCE), (3, Cause.INTERFERENCE)])
def test_it_takes_two_other_pull_requests_to_take_the_blame_off(others: int, cause: Cause) -> None:
    verdict = judged(*(in_pull(n) for n in range(1, others + 1)), thresholds=Thresholds(low=0.6))
    assert verdict.cause is cause
    assert reasons(verdict) == ["other-pull-requests"]


def test_more_sightings_never_make_interference_less_likely() -> None:
    seen = [in_pull(n) for n in range(1, 8)]
    sure = [judged(on_base(), *seen[:n]).confidence for n in range(8)]
    assert sure == sorted(sure)
    assert sure[0] < sure[-1]


NOT_OTHERS = {
    "another signature": in_pull(7, signature="pytest.assertion|tests/test_z.py::test_z"),
    "the same pull request": in_pull(OWN),
    "the same author": in_pull(7, author="dev-own"),
    "too long before": in_pull(7, -12.1),
    "too long after": in_pull(7, 3.1),
    "the base branch, but later": on_base(hours=3.1),
    "the same run": Sighting(SIGNATURE, 1, "a" * 40, BEGAN, 7, "dev-7", on_base=True),
    "another signature on the base branch": on_base(signature="pytest.assertion|tests/test_z.py::test_z"),
}


@pytest.mark.parametrize("seen", NOT_OTHERS.values(), ids=NOT_OTHERS.keys())
def test_what_says_nothing_about_others_is_left_out(seen: Sighting) -> None:
    assert judged(seen) == judged()


def test_the_window_around_a_failure_is_a_setting() -> None:
    case = Case(run(), job(), diagnosis(), pull(), [in_pull(7, -20), in_pull(8, -20)])
    assert judge(case, Thresholds(), NOW).cause is Cause.CODE
    wide = judge(case, Thresholds(), NOW, Window(timedelta(hours=48), timedelta()))
    assert wide.cause is Cause.INTERFERENCE
    assert any("within 48 h" in reason.why for reason in wide.reasons)


@pytest.mark.parametrize(
    "named",
    [{"files": ("src/a.py",)}, {"tests": ("src/a.py::test_b",)}, {"tests": ("src/a.py::TestA::test_b[1]",)}],
    ids=["file", "test", "test in a class"],
)
def test_files_that_the_change_touches_speak_against_others(named: dict[str, object]) -> None:
    mine = judged(on_base(), of=diagnosis(**named), change=pull(changed_files=("src/a.py",)))
    assert reasons(mine) == ["base-branch", "own-files"]
    assert mine.cause is Cause.CODE
    elsewhere = judged(on_base(), of=diagnosis(**named), change=pull(changed_files=("src/b.py",)))
    assert elsewhere.cause is Cause.INTERFERENCE


def test_own_files_alone_are_no_news() -> None:
    assert not reasons(judged(of=diagnosis(files=("src/a.py",)), change=pull(changed_files=("src/a.py",))))


def test_a_base_branch_that_this_very_change_broke_does_not_excuse_it() -> None:
    merged = pull(merge_commit_sha="d" * 40)
    verdict = judged(on_base(50, 1, "d" * 40), on_base(51, 2), change=merged)
    assert verdict.cause is Cause.CODE
    assert judged(on_base(49, 0.5), on_base(50, 1, "d" * 40), change=merged).cause is Cause.INTERFERENCE


@pytest.mark.parametrize("category", ["policy", "format", "lint", "docs", "merge-conflict", "coverage"])
def test_equal_failures_that_are_each_their_own_never_become_interference(category: str) -> None:
    verdict = judged(on_base(), in_pull(1), in_pull(2), in_pull(3), of=diagnosis(category=category))
    assert (verdict.cause, verdict.category) == (Cause.CODE, category)


@pytest.mark.parametrize(
    "given",
    [
        {"cause": Cause.INFRASTRUCTURE, "category": "network"},
        {"cause": Cause.CONFIGURATION, "category": "dependency"},
        {"signature": "pytest.assertion"},
        {"signature": ""},
        {"signature": "step.test-failure|Run tests|x"},
    ],
    ids=["infrastructure", "configuration", "signature without a place", "no signature", "only the step is known"],
)
def test_only_a_failure_of_code_that_can_be_told_apart_can_be_somebody_elses(given: dict[str, str]) -> None:
    of = diagnosis(**given)
    seen = (on_base(signature=of.signature), in_pull(1, signature=of.signature), in_pull(2, signature=of.signature))
    assert judged(*seen, of=of).cause is of.cause


def test_the_same_commit_that_passed_makes_it_flaky() -> None:
    verdict = judged(passed=True)
    assert (verdict.cause, verdict.determinism) == (Cause.CODE, Determinism.FLAKY)
    assert reasons(verdict) == ["same-commit-passed"]


def test_a_pass_on_the_same_commit_speaks_against_a_broken_trunk() -> None:
    flaky = judged(on_base(), passed=True)
    assert (flaky.cause, flaky.determinism) == (Cause.CODE, Determinism.FLAKY)
    assert set(reasons(flaky)) == {"same-commit-passed", "base-branch"}


def test_the_base_branch_itself_is_broken_by_others_only_when_it_failed_before_on_another_commit() -> None:
    def on_main(*seen: Sighting) -> Cause:
        pushed = run(event="push", head_branch="main")
        return judge(Case(pushed, job(), diagnosis(), None, seen), Thresholds(), NOW).cause

    assert on_main(on_base()) is Cause.INTERFERENCE
    assert on_main(on_base(hours=1)) is Cause.CODE
    assert on_main(on_base(sha="a" * 40)) is Cause.CODE
    assert on_main(in_pull(1), in_pull(2), in_pull(3)) is Cause.CODE


def test_a_run_without_times_is_judged_by_its_log_alone() -> None:
    case = Case(run(run_started_at=None, created_at=None), job(), diagnosis(), pull(), [on_base(), in_pull(1)])
    assert judge(case, Thresholds(), NOW).cause is Cause.CODE


LEVELS = [
    (1.0, Level.HIGH), (0.9, Level.HIGH), (0.8999, Level.MEDIUM), (0.7, Level.MEDIUM), (0.6999, Level.LOW),
    (0.5, Level.LOW), (0.4999, Level.NONE), (0.0, Level.NONE),
]  # fmt: skip


@pytest.mark.parametrize(("confidence", "level"), LEVELS)
def test_a_probability_has_a_word(confidence: float, level: Level) -> None:
    assert Thresholds().level(confidence) is level
    verdict = judged(of=diagnosis(confidence=confidence))
    assert verdict.level is level
    assert (verdict.cause is Cause.UNKNOWN) == (level is Level.NONE)


def test_thresholds_are_settings() -> None:
    strict = Thresholds(high=0.99, medium=0.95, low=0.9)
    assert judged(thresholds=strict).cause is Cause.UNKNOWN
    assert judged(thresholds=Thresholds(high=0.8)).level is Level.HIGH


def test_unknown_stays_unknown_whatever_was_seen_elsewhere() -> None:
    of = Diagnosis("job 11", signature="unknown|no such thing", confidence=0.3)
    seen = [on_base(signature=of.signature), *(in_pull(n, signature=of.signature) for n in range(1, 6))]
    verdict = judged(*seen, of=of)
    assert (verdict.cause, verdict.category, verdict.level) == (Cause.UNKNOWN, "unknown", Level.NONE)


def test_a_verdict_keeps_every_reason_of_its_diagnosis_and_says_by_which_rules() -> None:
    said = (Evidence("rule", "pytest.assertion", "assert 1 == 2", "it says so", 3),)
    verdict = judged(on_base(), of=diagnosis(evidence=said, rule_set="abc"))
    assert verdict.reasons[0] == Reason("rule", "pytest.assertion", "assert 1 == 2", "it says so", 3)
    assert (verdict.rule_set, verdict.signature, verdict.judged_at) == ("abc", SIGNATURE, NOW)


SIGHTINGS = st.lists(
    st.one_of(
        st.builds(lambda run_id, at: on_base(run_id, at, f"{run_id:040}"), st.integers(50, 53), st.floats(-30, 5)),
        st.builds(in_pull, st.integers(98, 104), st.floats(-15, 5)),
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(SIGHTINGS, st.randoms(use_true_random=False), st.booleans())
def test_the_order_of_sightings_does_not_matter(seen: list[Sighting], chance: "object", passed: bool) -> None:
    shuffled = list(seen)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a Random
    assert judged(*shuffled, passed=passed) == judged(*seen, passed=passed)


@settings(max_examples=60, deadline=None)
@given(SIGHTINGS)
def test_seeing_the_same_twice_changes_nothing(seen: list[Sighting]) -> None:
    assert judged(*seen, *seen) == judged(*seen)


def _verdict(job_id: int, cause: Cause, confidence: float) -> Verdict:
    return Verdict(1, job_id, cause, "x", confidence, Level.HIGH)


FOR_A_RUN = {
    "a known cause before unknown": [(1, Cause.UNKNOWN, 0.4), (2, Cause.INFRASTRUCTURE, 0.5)],
    "the surer first": [(1, Cause.CODE, 0.7), (2, Cause.INFRASTRUCTURE, 0.95)],
    "of equally sure ones the one that asks for a change": [(1, Cause.INFRASTRUCTURE, 0.93), (2, Cause.CODE, 0.91)],
    "of equal ones the first job": [(3, Cause.CODE, 0.9), (2, Cause.CODE, 0.9)],
}


@pytest.mark.parametrize("rows", FOR_A_RUN.values(), ids=FOR_A_RUN.keys())
def test_one_verdict_speaks_for_the_run_whatever_the_order(rows: list[tuple[int, Cause, float]]) -> None:
    verdicts = [_verdict(*row) for row in rows]
    assert speak_for_run(verdicts).job_id == 2
    assert speak_for_run(reversed(verdicts)).job_id == 2
