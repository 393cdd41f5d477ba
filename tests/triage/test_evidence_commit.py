"""The same commit again, the same pull request before and after, and what became of equal failures when retried."""

from collections.abc import Sequence
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.model.shares import wilson_low
from buildeye.triage.evidence.commit import judge_commit
from buildeye.triage.evidence.flaky import flip_score, judge_flaky, retried
from buildeye.triage.evidence.piece import count_strength
from buildeye.triage.results import Result
from tests.triage.cases import (
    OTHER,
    OWN,
    again,
    history,
    in_pull,
    on_base,
    on_main,
    passed,
    pieces,
    subject,
)

SAME = "a" * 40
AGAIN: dict[str, tuple[Sequence[Result], set[str]]] = {
    "nothing is known": ((), set()),
    "another attempt passed": ([passed(again())], {"same-run-passed"}),
    "another attempt passed on another runner": (
        [passed(again(runner="runner-2"))], {"same-run-passed", "passed-on-another-runner"},
    ),
    "another attempt passed on a runner nobody knows": ([passed(again(runner=""))], {"same-run-passed"}),
    "another attempt and another run passed": (
        [passed(again()), passed(in_pull(OWN, 1, head_sha=SAME))], {"same-run-passed"},
    ),
    "another run of the commit passed": ([passed(in_pull(OWN, 1, head_sha=SAME))], {"same-commit-passed"}),
    "another job passed": ([passed(again(name="lint"))], set()),
    "the job itself is no other": ([passed(again(11, attempt=1))], set()),
    "another attempt failed alike": ([again()], {"same-run-failed-again"}),
    "another attempt failed otherwise": ([again(signature=OTHER)], {"fails-otherwise-again"}),
    "another attempt was cancelled": ([again(conclusion="cancelled")], set()),
    "it failed again and passed then": (
        [again(12), passed(again(13, attempt=3))], {"same-run-passed", "same-run-failed-again"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), AGAIN.values(), ids=AGAIN.keys())
def test_what_the_same_commit_did_again(results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_commit, subject(), results).keys() == found


SAME_PULL: dict[str, tuple[Sequence[Result], set[str]]] = {
    "the commit before failed alike": ([in_pull(OWN, -1)], {"same-pull-fails-alike"}),
    "the commit before failed otherwise": ([in_pull(OWN, -1, signature=OTHER)], set()),
    "the commit before passed": ([passed(in_pull(OWN, -1))], {"pull-passed-before"}),
    "the next commit passed": ([passed(in_pull(OWN, 1))], {"mended-by-push"}),
    "the next commit was cancelled, that after it passed": (
        [in_pull(OWN, 1, conclusion="cancelled", job_id=3), passed(in_pull(OWN, 2))], {"mended-by-push"},
    ),
    "the next commit failed alike, that after it passed": (
        [in_pull(OWN, 1, job_id=3), passed(in_pull(OWN, 2, head_sha="f" * 40))], {"same-pull-fails-alike"},
    ),
    "another pull request passed before and afterwards": ([passed(in_pull(7, -1)), passed(in_pull(7, 1))], set()),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), SAME_PULL.values(), ids=SAME_PULL.keys())
def test_what_other_commits_of_the_pull_request_did(results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_commit, subject(), results).keys() == found


def test_the_base_branch_is_no_pull_request() -> None:
    assert pieces(judge_commit, on_main(), [passed(on_base(51, -1)), passed(on_base(52, 1))]) == {}


def test_the_attempt_that_passed_is_named() -> None:
    assert pieces(judge_commit, subject(), [passed(again(12, attempt=3))])["same-run-passed"].quote == "attempt 3"


def _retried(number: int, *, passes: bool) -> list[Result]:
    """An equal failure in another pull request that was run again."""
    first = in_pull(number, -24)
    second = in_pull(number, -23, job_id=5000 + number, run_id=first.run_id, attempt=2)
    return [first, passed(second) if passes else second]


def test_equal_failures_that_passed_when_retried_make_it_known_as_flaky() -> None:
    found = pieces(judge_flaky, subject(), [r for n in range(5) for r in _retried(n + 1, passes=True)])
    assert found.keys() == {"known-flaky"}
    assert found["known-flaky"].quote == "5 of 5"
    assert "65%" in found["known-flaky"].why


def test_equal_failures_that_failed_again_speak_against_it() -> None:
    found = pieces(judge_flaky, subject(), [r for n in range(3) for r in _retried(n + 1, passes=False)])
    assert found.keys() == {"fails-when-retried"}
    assert found["fails-when-retried"].quote == "3 of 3"


def test_one_attempt_is_no_retry() -> None:
    known = history([in_pull(7), *_retried(8, passes=True)])
    assert retried(known.with_signature(subject().own.signature), known) == (1, 1)
    assert pieces(judge_flaky, subject(), [in_pull(7), in_pull(8)]) == {}


def test_retries_outside_the_known_days_do_not_count() -> None:
    long_ago = [in_pull(7, -24 * 22), passed(in_pull(7, -24 * 22, job_id=3, attempt=2))]
    assert pieces(judge_flaky, subject(), long_ago) == {}


FLIPS = {
    "": 0,
    "F": 0,
    "PFP": 1,
    "PFFP": 1,
    "PFFFP": 0,
    "PFPFP": 2,
    "FP": 0,
    "PF": 0,
    "PxP": 0,
    "PFxP": 0,
    "PFcP": 1,
    "PFPFFFPFP": 2,
}


@pytest.mark.parametrize(("streak", "flips"), FLIPS.items())
def test_short_streaks_are_flips_and_streaks_of_three_are_breakage(streak: str, flips: int) -> None:
    rows = []
    for number, sign in enumerate(streak):
        row = on_base(number, number)
        rows.append(
            {
                "P": passed(row), "F": row, "x": on_base(900 + number, number),
                "c": on_base(number, number, conclusion="cancelled"),
            }[sign]
        )  # fmt: skip
    assert flip_score(rows, {row.job_id for row in rows if row.failed and row.job_id < 900}) == flips


def test_a_failure_that_comes_and_goes_on_the_base_branch_is_told() -> None:
    rows = [on_base(n, n - 90) if n % 3 == 1 else passed(on_base(n, n - 90)) for n in range(51, 63)]
    assert pieces(judge_flaky, subject(), rows)["comes-and-goes"].quote == "4"
    broken = [on_base(n, n - 90) if 54 < n < 60 else passed(on_base(n, n - 90)) for n in range(51, 63)]
    assert pieces(judge_flaky, subject(), broken) == {}


# Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3.
WILSON = [(81, 263, 0.2553), (15, 148, 0.0624), (0, 20, 0.0), (1, 29, 0.0061)]


@pytest.mark.parametrize(("successes", "trials", "low"), WILSON)
def test_wilsons_bound_is_that_of_the_books(successes: int, trials: int, low: float) -> None:
    assert wilson_low(successes, trials, z=1.959964) == pytest.approx(low, abs=0.00005)


@given(st.integers(1, 500), st.data())
def test_at_wilsons_bound_what_was_seen_is_just_as_far_off_as_chance_allows(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(1, trials))
    low, share = wilson_low(successes, trials), successes / trials
    assert share - low == pytest.approx(1.645 * sqrt(low * (1 - low) / trials))


def test_where_nothing_was_tried_nothing_is_known() -> None:
    assert wilson_low(0, 0) == wilson_low(0, 10) == 0


def test_many_say_more_than_one_but_not_without_end() -> None:
    assert [count_strength(n) for n in (1, 3, 7, 15, 1000)] == [1, 2, 3, 4, 4]
