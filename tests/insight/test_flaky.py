"""Which tests are flaky: histories with their right answers; order and repetition never matter."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest  # type: ignore[import-untyped]

from buildeye.insight.flaky import (
    UNSEEN,
    CommitCounts,
    Flakiness,
    FlakySettings,
    FlakyState,
    judge_flaky,
)
from buildeye.model.shares import wilson_low

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHORT = FlakySettings(least_clean=3, doubt=0.5)


def history(letters: str, branch: str = "main", first: int = 0) -> list[CommitCounts]:
    """Commits an hour apart, oldest first: O only passed, X only failed, F both."""
    return [
        CommitCounts(
            f"{branch}{n}", NOON + timedelta(hours=n), branch,
            passed=letter == "O", failed=letter == "X", mixed=letter == "F",
        )
        for n, letter in enumerate(letters, first)
        if letter != "~"
    ]  # fmt: skip


def judged(letters: str, *more: CommitCounts, settings: FlakySettings = SHORT) -> Flakiness:
    return judge_flaky([*history(letters), *more], settings)


@pytest.mark.parametrize(
    ("letters", "state", "flaky", "failed", "broken", "clean", "needed"),
    [
        ("OOOO", "steady", 0, 0, 0, 4, 0),
        ("OXOO", "steady", 0, 1, 0, 2, 0),
        ("OOFO", "flaky", 1, 0, 0, 1, 3),
        ("FOO", "flaky", 1, 0, 0, 2, 3),
        ("FOOO", "recovered", 1, 0, 0, 3, 3),
        ("FO~OO", "recovered", 1, 0, 0, 3, 3),
        ("FOOOF", "flaky", 2, 0, 0, 0, 3),
        ("FOOXOO", "flaky", 1, 1, 0, 2, 3),
        ("FOOXOOO", "recovered", 1, 1, 0, 3, 3),
        ("OOXXX", "broken", 0, 3, 3, 2, 0),
        ("OOXX", "steady", 0, 2, 0, 0, 0),
        ("FOOXXX", "broken", 1, 3, 3, 2, 3),
        ("FXXXOOO", "recovered", 1, 3, 3, 3, 3),
        ("OFXXXFO", "flaky", 2, 3, 3, 1, 3),
        ("XXX", "broken", 0, 3, 3, 0, 0),
        ("XFX", "flaky", 1, 2, 0, 0, 3),
        ("FFFF", "flaky", 4, 0, 0, 0, 3),
        ("OOOOOOOOFOOO", "flaky", 1, 0, 0, 3, 6),
        ("OOOOOOOOFOOOOOO", "recovered", 1, 0, 0, 6, 6),
    ],
)  # fmt: skip
def test_a_history_has_one_right_answer(
    letters: str, state: str, flaky: int, failed: int, broken: int, clean: int, needed: int
) -> None:
    found = judged(letters)
    assert (found.state, found.flaky, found.failed, found.broken) == (state, flaky, failed, broken)
    assert (found.clean, found.needed) == (clean, needed)
    assert found.commits + found.failed == len(letters.replace("~", ""))


def test_a_test_that_never_ran_is_unseen() -> None:
    assert judged("") == judged("", CommitCounts("c", NOON, "main")) == UNSEEN


def test_failures_of_pull_requests_neither_break_a_test_nor_keep_it_from_recovery() -> None:
    pulls = [each for n in range(4) for each in history("X", f"pull-{n}", first=3 + n)]
    assert judged("FOO~~~~O", *pulls).state is FlakyState.RECOVERED
    assert judged("OO", *history("XXX", "pull", first=5)).state is FlakyState.STEADY


def test_a_flaky_commit_of_a_pull_request_is_evidence_too() -> None:
    assert judged("OOO", *history("F", "pull", first=1)).flaky == 1


def test_many_flaky_commits_of_many_rank_above_few_of_few() -> None:
    assert judged("FO" * 2).rate == judged("FO" * 50).rate
    assert judged("FO" * 2).score < judged("FO" * 50).score
    assert judged("F").score < judged("FO" * 50).score


def test_a_rare_flake_needs_a_longer_clean_time_than_a_frequent_one() -> None:
    often = judged("FO" * 10 + "O" * 25, settings=FlakySettings())
    rare = judged("O" * 50 + "F" + "O" * 25, settings=FlakySettings())
    assert (often.state, often.needed) == (FlakyState.RECOVERED, 20)
    assert rare.state is FlakyState.FLAKY and rare.needed == 152


@pytest.mark.parametrize(("hits", "tries"), [(0, 5), (1, 1), (1, 40), (20, 40), (7, 9), (100, 100)])
def test_the_score_is_wilsons_lower_bound(hits: int, tries: int) -> None:
    known = binomtest(hits, tries).proportion_ci(0.95, method="wilson").low
    assert wilson_low(hits, tries, 1.959963984540054) == pytest.approx(known, abs=1e-9)


def test_without_tries_there_is_no_score() -> None:
    assert wilson_low(0, 0, 1.96) == 0.0


COMMITS = st.lists(
    st.builds(
        CommitCounts,
        st.sampled_from([f"c{n}" for n in range(12)]), st.integers(0, 20).map(lambda n: NOON + timedelta(hours=n)),
        st.sampled_from(["main", "a", "b"]), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2),
    ),
    max_size=30,
    unique_by=lambda each: each.sha,
)  # fmt: skip


@settings(deadline=None)
@given(COMMITS, st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(commits: list[CommitCounts], random: "object") -> None:
    again = [*commits, *commits]
    random.shuffle(again)  # type: ignore[attr-defined]
    assert judge_flaky(again, SHORT) == judge_flaky(commits, SHORT)


@settings(deadline=None)
@given(COMMITS)
def test_what_is_counted_adds_up(commits: list[CommitCounts]) -> None:
    found = judge_flaky(commits, SHORT)
    assert 0 <= found.score <= found.rate <= 1
    assert found.broken <= found.failed and found.flaky <= found.commits and found.clean <= found.commits
    assert (found.state is FlakyState.UNSEEN) == (not any(each.letter for each in commits))


@settings(deadline=None)
@given(COMMITS)
def test_one_more_flaky_commit_now_always_makes_it_flaky(commits: list[CommitCounts]) -> None:
    newest = CommitCounts("new", NOON + timedelta(days=9), "main", mixed=1)
    assert judge_flaky([*commits, newest], SHORT).state is FlakyState.FLAKY
