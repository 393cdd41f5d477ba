"""Which jobs fail since when: histories with their right answers; order and repetition of what is told never matter."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.insight.grid import Commit, JobRun, letter_of, merged
from buildeye.insight.streaks import Streak, ordered, streaks

from .streaks_oracle import streaks_the_long_way

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def commits(count: int) -> list[Commit]:
    """Commits c0 (the newest) to the oldest, an hour apart."""
    return [Commit(f"c{n}", NOON - timedelta(hours=n), 100 - n) for n in range(count)]


def history(letters: str, job: str = "unit", first: int = 1) -> list[JobRun]:
    """The runs of a job, newest commit first; `~` is none, `F` one that failed and a re-run that passed."""
    told = [(n, x) for n, letter in enumerate(letters) for x in letter.replace("F", "XO").replace("~", "")]
    return [JobRun(f"c{n}", job, first + k, x, "sig" if x in "XT" else "") for k, (n, x) in enumerate(told)]


def only(letters: str, *more: JobRun, least: int = 1) -> Streak | None:
    """The streak of a history, None when there is none."""
    found = streaks(commits(len(letters)), [*history(letters), *more], least)
    assert len(found) < 2
    return found[0] if found else None


@pytest.mark.parametrize(
    ("letters", "length", "clipped", "first_bad", "last_good", "between", "failed", "judged"),
    [
        ("XXXOO", 3, False, "c2", "c3", "c2", 3, 5),
        ("X~X~O", 2, False, "c2", "c4", "c3 c2", 2, 3),
        ("?QXXO", 2, False, "c3", "c4", "c3", 2, 3),
        ("XSXNXO", 3, False, "c4", "c5", "c4", 3, 4),
        ("XCXO", 2, False, "c2", "c3", "c2", 2, 3),
        ("CXCO", 1, False, "c1", "c3", "c2 c1", 1, 2),
        ("XTXO", 3, False, "c2", "c3", "c2", 3, 4),
        ("XXFXXO", 2, False, "c1", "c2", "c1", 4, 6),
        ("XXXXX", 5, True, "c4", None, "", 5, 5),
        ("XXX~~", 3, True, "c2", None, "", 3, 3),
        ("XXXCS", 3, True, "c2", None, "", 3, 3),
        ("X", 1, True, "c0", None, "", 1, 1),
    ],
)  # fmt: skip
def test_a_history_has_one_right_answer(
    letters: str, length: int, clipped: bool, first_bad: str, last_good: str | None, between: str, failed: int,
    judged: int,
) -> None:  # fmt: skip
    found = only(letters)
    assert found is not None
    good = found.last_good.sha if found.last_good else None
    named = " ".join(each.sha for each in found.between)
    assert (found.length, found.clipped, found.first_bad.sha, good, named, found.failed, found.judged) == (
        length, clipped, first_bad, last_good, between, failed, judged,
    )  # fmt: skip


@pytest.mark.parametrize("letters", ["OXXX", "FXXX", "~~~", "CCC", "?O", "SNC", "COX"])
def test_a_job_that_passed_last_or_has_no_result_is_on_no_streak(letters: str) -> None:
    assert only(letters) is None


def test_short_streaks_are_left_out_when_asked() -> None:
    assert only("XXO", least=3) is None
    assert only("XXXO", least=3) is not None


def test_a_rerun_that_passed_ends_the_streak_and_is_no_failure() -> None:
    found = only("XXXO", JobRun("c1", "unit", 900, "O"))
    assert found is not None
    assert (found.length, found.first_bad.sha, found.last_good and found.last_good.sha) == (1, "c0", "c1")
    assert (found.failed, found.judged) == (2, 4)


@pytest.mark.parametrize(("again", "length"), [("X", 3), ("C", 3), ("Q", 3), ("S", 3)])
def test_other_reruns_of_a_failure_leave_it_one_failure(again: str, length: int) -> None:
    found = only("XXXO", JobRun("c1", "unit", 900, again))
    assert found is not None and found.length == length


def test_shards_that_move_are_one_job() -> None:
    names = ["test (default, 1, 3, linux)", "test (default, 4, 5, linux)", "test (default, 2, 5, linux)"]
    runs = [JobRun(f"c{n}", name, n, "X", "sig") for n, name in enumerate(names)]
    runs += [JobRun(f"c{n}", "test (default, 3, 5, linux)", 50 + n, "O") for n in range(4)]
    (found,) = streaks(commits(4), runs)
    assert (found.job, found.length, found.clipped, found.first_bad.sha) == ("test (default, linux)", 3, False, "c2")


def test_a_shard_that_passes_does_not_make_the_failure_of_another_flaky() -> None:
    runs = [JobRun("c0", "unit (1/2)", 1, "X", "a"), JobRun("c0", "unit (2/2)", 2, "O")]
    (found,) = streaks(commits(1), runs)
    assert (found.job, found.length, found.clipped) == ("unit", 1, True)


def test_a_shard_still_running_leaves_it_open_unless_another_failed() -> None:
    before = [JobRun("c1", "u (1/2)", 1, "X"), JobRun("c1", "u (2/2)", 2, "O")]
    running, passed = JobRun("c0", "u (1/2)", 3, "?"), JobRun("c0", "u (2/2)", 4, "O")
    assert [each.length for each in streaks(commits(2), [*before, running, passed])] == [1]
    assert [each.length for each in streaks(commits(2), [*before, running, JobRun("c0", "u (2/2)", 4, "X")])] == [2]


def test_overlapping_pages_count_no_commit_twice() -> None:
    page = commits(3)
    assert streaks(page + page[:2], history("XXO") + history("XX")) == streaks(page, history("XXO"))
    assert streaks(page, history("XXO"))[0].length == 2


def test_different_failures_are_counted_apart_and_those_without_diagnosis_told() -> None:
    runs = [
        JobRun("c0", "unit", 1, "X", "a"), JobRun("c1", "unit", 2, "X", "b"), JobRun("c2", "unit", 3, "X", "a"),
        JobRun("c3", "unit", 4, "X"), JobRun("c4", "unit", 5, "O"),
    ]  # fmt: skip
    (found,) = streaks(commits(5), runs)
    assert (found.signatures, found.undiagnosed, found.length) == ((("a", 2), ("b", 1)), 1, 4)


def test_a_signature_counts_once_a_commit_however_many_attempts_and_shards_had_it() -> None:
    runs = [JobRun("c0", f"unit ({shard}/2)", 10 * shard + attempt, "X", "a") for shard in (1, 2) for attempt in (1, 2)]
    assert streaks(commits(1), runs)[0].signatures == (("a", 1),)


def test_streaks_come_longest_first() -> None:
    runs = [*history("XO", "b"), *history("XXO", "c"), *history("XO", "a"), *history("XX", "d")]
    assert [each.job for each in streaks(commits(3), runs)] == ["d", "c", "a", "b"]


def test_a_commit_known_twice_keeps_its_first_time_and_its_pull_request() -> None:
    early, late = Commit("a", NOON), Commit("a", NOON + timedelta(hours=1), 7, "Turn")
    assert ordered([late, early]) == ordered([early, late, late]) == (Commit("a", NOON, 7, "Turn"),)


def test_a_commit_is_not_newer_than_what_was_pushed_on_top_of_it_whenever_it_was_first_named() -> None:
    named_late, next_one = Commit("a", NOON + timedelta(hours=3)), Commit("b", NOON + timedelta(hours=1), before="a")
    between = Commit("c", NOON + timedelta(hours=2), before="b")
    window = ordered([next_one, named_late, between])
    assert [each.sha for each in window] == ["c", "b", "a"]
    assert window[-1].at == next_one.at


def test_commits_of_one_moment_stand_in_the_order_of_their_pushes() -> None:
    told = [Commit("c", NOON), Commit("a", NOON, before="c"), Commit("b", NOON, before="a")]
    assert [each.sha for each in ordered(told)] == ["b", "a", "c"]


def test_a_branch_that_was_pushed_back_and_forth_still_has_an_order() -> None:
    window = ordered([Commit("a", NOON, before="b"), Commit("b", NOON + timedelta(hours=1), before="a")])
    assert [each.sha for each in window] == ["b", "a"]


@pytest.mark.parametrize(
    ("status", "conclusion", "letter"),
    [
        ("completed", "success", "O"), ("completed", "failure", "X"), ("completed", "startup_failure", "X"),
        ("completed", "timed_out", "T"), ("completed", "cancelled", "C"), ("completed", "stale", "C"),
        ("completed", "skipped", "S"), ("completed", "neutral", "N"), ("completed", "of tomorrow", "N"),
        ("queued", "", "Q"), ("in_progress", "", "?"), ("waiting", "", "?"),
    ],
)  # fmt: skip
def test_githubs_words_are_letters(status: str, conclusion: str, letter: str) -> None:
    assert letter_of(status, conclusion) == letter


def test_cancelled_loses_to_anything() -> None:
    for letter in "OXTQ?NS":
        assert merged([JobRun("a", "u", 2, "C"), JobRun("a", "u", 1, letter)]).letter == letter


JOBS = ["u (1/2)", "u (2/2)", "v", "w (1, 3)", "w (2, 3)", "w (1, 4)", "node (18, 20)", "node (20, 20)"]
RUNS = st.lists(
    st.builds(
        JobRun, st.sampled_from(["c0", "c1", "c2", "c3", "of another branch"]), st.sampled_from(JOBS),
        st.integers(1, 9), st.sampled_from("OXTQ?NSC"), st.sampled_from(["", "a", "b"]),
        st.sampled_from(["", "p", "q"]),
    ),
    max_size=40,
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(RUNS, st.data())
def test_order_and_repetition_never_matter(runs: list[JobRun], data: st.DataObject) -> None:
    window = commits(4)
    again = data.draw(st.permutations(runs + (data.draw(st.lists(st.sampled_from(runs), max_size=8)) if runs else [])))
    twice = data.draw(st.permutations(window + window[:2]))
    assert streaks(twice, again) == streaks(window, runs)


@settings(max_examples=400, deadline=None)
@given(RUNS)
def test_letters_answer_what_cells_answer(runs: list[JobRun]) -> None:
    assert streaks(commits(4), runs) == streaks_the_long_way(commits(4), runs)


@settings(max_examples=200, deadline=None)
@given(RUNS)
def test_a_streak_is_never_longer_than_what_was_judged(runs: list[JobRun]) -> None:
    for each in streaks(commits(4), runs):
        assert 1 <= each.length <= each.failed <= each.judged <= 4
        assert each.clipped == (each.last_good is None) and (each.clipped or each.between[-1] == each.first_bad)
        assert sum(count for _, count in each.signatures) + each.undiagnosed >= each.length


COMMITS = st.lists(
    st.builds(
        Commit, st.sampled_from("abcdef"), st.integers(0, 4).map(lambda hours: NOON + timedelta(hours=hours)),
        st.integers(0, 2), st.just(""), st.sampled_from(["", *"abcdef"]),
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(COMMITS, st.data())
def test_the_order_of_commits_does_not_depend_on_how_they_are_told(told: list[Commit], data: st.DataObject) -> None:
    window = ordered(told)
    assert ordered(data.draw(st.permutations(told + told[:3]))) == window
    assert sorted((each.at for each in window), reverse=True) == [each.at for each in window]
    assert {each.sha for each in window} == {each.sha for each in told}
