"""Does it hit others? Equal failures and passes in other pull requests, near in time and before."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from buildeye.triage.evidence.others import judge_others
from buildeye.triage.evidence.piece import Window
from buildeye.triage.evidence.unread import judge_unread
from buildeye.triage.results import Result
from tests.triage.cases import OTHER, OWN, diagnosis, in_pull, on_base, on_main, passed, pieces, subject

FIRST = {"others-fail-alike", "others-failed-first"}
FAILS: dict[str, tuple[Sequence[Result], set[str]]] = {
    "another pull request failed before": ([in_pull(7)], FIRST),
    "another pull request failed afterwards": ([in_pull(7, 1)], {"others-fail-alike", "failed-first"}),
    "this change failed before it, at an earlier commit": (
        [in_pull(7), in_pull(OWN, -2)], {"others-fail-alike", "failed-first"},
    ),
    "a test in common under another signature": (
        [in_pull(7, signature=OTHER, tests=("tests/test_a.py::test_b",))], FIRST,
    ),
    "the base branch failed": ([on_base()], {"others-failed-first"}),
    "another signature": ([in_pull(7, signature=OTHER)], set()),
    "the same pull request": ([in_pull(OWN)], set()),
    "the same author, who is one of several": ([in_pull(7, author="dev-own"), passed(in_pull(8, -5))], set()),
    "the same author, who started all there is": ([in_pull(7, author="dev-own")], FIRST),
    "the base branch, by the same author": ([on_base()], {"others-failed-first"}),
    "the same run": ([in_pull(7, run_id=1)], set()),
    "just inside the window": ([in_pull(7, -12)], FIRST),
    "too long before": ([in_pull(7, -12.1)], set()),
    "too long after": ([in_pull(7, 3.4)], set()),
    "a branch of a fork whose pull request is not known": (
        [in_pull(7, pull_request=None, branch="patch")], FIRST,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), FAILS.values(), ids=FAILS.keys())
def test_who_else_fails_alike(results: Sequence[Result], found: set[str]) -> None:
    of = subject(of=diagnosis(tests=("tests/test_a.py::test_b",)))
    every = pieces(judge_others, of, results).keys()
    assert every - {"seen-before", "first-seen", "others-pass"} == found


def test_other_pull_requests_are_named_and_counted_once() -> None:
    piece = pieces(judge_others, subject(), [in_pull(7), in_pull(7, -2, job_id=3, run_id=3), in_pull(8)])
    assert piece["others-fail-alike"].quote == "#7, #8"
    assert piece["others-fail-alike"].why.startswith("2 other pull requests fail")


def test_a_failure_of_the_base_branch_itself_has_no_first_among_changes() -> None:
    assert pieces(judge_others, on_main(), [in_pull(7)]).keys() == {"others-fail-alike"}


def test_a_signature_that_names_no_failure_joins_nothing() -> None:
    for signature in ("no-log|unit|Run tests", "unknown|# # at #", ""):
        seen = [in_pull(7, signature=signature), in_pull(8, signature=signature)]
        assert pieces(judge_others, subject(diagnosis(signature=signature)), seen) == {}


def test_the_window_around_a_failure_is_a_setting() -> None:
    wide = Window(before=timedelta(hours=48))
    assert "others-fail-alike" in pieces(judge_others, subject(), [in_pull(7, -20)], window=wide)
    assert "others-fail-alike" not in pieces(judge_others, subject(), [in_pull(7, -20)])


PASSES: dict[str, tuple[Sequence[Result], bool]] = {
    "afterwards, in another pull request": ([passed(in_pull(7, 1))], True),
    "between two equal failures": ([in_pull(8, -2), passed(in_pull(7, -1))], True),
    "before it began": ([passed(in_pull(7, -1))], False),
    "after the last equal failure": ([in_pull(8, -2), passed(in_pull(7, 1))], False),
    "another job": ([passed(in_pull(7, 1, name="lint"))], False),
    "the same pull request": ([passed(in_pull(OWN, 1))], False),
    "too late to count": ([passed(in_pull(7, 3.4))], False),
}


@pytest.mark.parametrize(("results", "told"), PASSES.values(), ids=PASSES.keys())
def test_others_that_pass_while_this_fails(results: Sequence[Result], told: bool) -> None:
    assert ("others-pass" in pieces(judge_others, subject(), results)) is told


BEFORE: dict[str, tuple[Sequence[Result], set[str]]] = {
    "days ago in another pull request": ([in_pull(7, -100)], {"seen-before"}),
    "longer ago than is asked": ([in_pull(7, -24 * 22)], set()),
    "days ago in this pull request": ([in_pull(OWN, -100)], {"first-seen"}),
    "never, and a day is known": ([passed(in_pull(7, -24)), passed(in_pull(8, 1))], {"first-seen"}),
    "never, and an hour is known": ([passed(in_pull(7, -1)), passed(in_pull(8, 1))], set()),
    "never, and what is known ends before": ([passed(in_pull(7, -48)), passed(in_pull(8, -24))], set()),
}


@pytest.mark.parametrize(("results", "found"), BEFORE.values(), ids=BEFORE.keys())
def test_whether_it_was_seen_before(results: Sequence[Result], found: set[str]) -> None:
    later = [passed(in_pull(9, 1))] if found == {"first-seen"} else []
    every = pieces(judge_others, subject(), [*results, *later])
    assert every.keys() & {"seen-before", "first-seen"} == found


def test_the_longer_nobody_else_failed_so_the_more_it_says() -> None:
    def strength(days: int) -> float:
        known = [passed(in_pull(7, -24 * days)), passed(in_pull(8, 1))]
        return pieces(judge_others, subject(), known)["first-seen"].strength

    assert strength(1) < strength(3) < strength(8) == strength(20) == 1


def test_what_fails_in_nearly_every_run_fails_everywhere() -> None:
    found = pieces(judge_others, subject(), [in_pull(n, -n / 10) for n in range(1, 6)])
    assert "fails-everywhere" in found and "fails-now-and-then" not in found
    assert found["fails-everywhere"].quote == "6 of 6"


def test_what_fails_once_in_ten_runs_fails_now_and_then() -> None:
    seen = [in_pull(1, -4), in_pull(2, -2), *(passed(in_pull(n, -n / 10)) for n in range(10, 39))]
    found = pieces(judge_others, subject(), seen)
    assert "fails-now-and-then" in found and "fails-everywhere" not in found
    assert found["fails-now-and-then"].quote == "3 of 32"


def test_two_equal_failures_are_too_few_for_a_rate() -> None:
    found = pieces(judge_others, subject(), [in_pull(1)])
    assert not {"fails-everywhere", "fails-now-and-then"} & found.keys()


MUTE = subject(diagnosis(signature="no-log|unit|Run tests"))
UNREAD: dict[str, tuple[Sequence[Result], set[str]]] = {
    "it fails in two other places": (
        [in_pull(7, signature=OTHER), in_pull(8, signature=OTHER)], {"job-fails-elsewhere"},
    ),
    "it fails in one other place": ([in_pull(7)], set()),
    "it passes in another place": ([passed(in_pull(7))], {"job-passes-elsewhere"}),
    "it does both": (
        [in_pull(7), in_pull(8), passed(in_pull(9))], {"job-fails-elsewhere", "job-passes-elsewhere"},
    ),
    "it passes in this pull request": ([passed(in_pull(OWN))], set()),
    "another job passes": ([passed(in_pull(7, name="lint"))], set()),
    "it passes long before": ([passed(in_pull(7, -7))], set()),
    "it fails and passes then in one pull request": (
        [in_pull(7, -3), passed(in_pull(7, -2, job_id=3)), in_pull(8)], {"job-fails-elsewhere"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), UNREAD.values(), ids=UNREAD.keys())
def test_where_the_log_says_nothing_the_job_speaks_for_itself(results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_unread, MUTE, results).keys() == found


def test_where_the_log_names_the_failure_the_job_is_not_asked() -> None:
    assert pieces(judge_unread, subject(), [in_pull(7, signature=OTHER), passed(in_pull(8))]) == {}
