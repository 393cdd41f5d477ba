from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.github.windows import SECOND, newest_first, window_text
from buildeye.model import Run

NOON = datetime(2026, 5, 28, 12, tzinfo=UTC)
SIZE, SHOWN = 4, 12  # of a page, and of a search


def a_run(number: int, second: int) -> Run:
    return Run(number, "CI", "completed", created_at=NOON - timedelta(seconds=second))


class Moving:
    """GitHub's list of runs, in which runs begin and are deleted between any two questions."""

    def __init__(self, runs: list[Run], moves: int, seed: int) -> None:
        self.runs, self.moves, self.random, self.asked = list(runs), moves, Random(seed), 0
        self.stayed = {run.id for run in runs}

    def __call__(self, window: str | None, page: int) -> tuple[list[Run], bool]:
        self.asked += 1
        found = sorted(self.runs, key=lambda run: (run.created_at or NOON, run.id), reverse=True)
        if window:
            low, high = map(datetime.fromisoformat, window.split(".."))
            found = [run for run in found if run.created_at and low <= run.created_at <= high][:SHOWN]
        answer, more = found[(page - 1) * SIZE : page * SIZE], page * SIZE < len(found)
        self._move()
        return answer, more

    def _move(self) -> None:
        for _ in range(self.moves):
            self.runs.append(a_run(10_000 + self.asked * 10 + len(self.runs), -self.asked))
            gone = self.random.choice(self.runs)
            self.runs.remove(gone)
            self.stayed.discard(gone.id)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=60), st.integers(0, 2), st.integers(0, 99), st.booleans())
def test_every_run_that_stays_is_told_once_however_the_list_moves(
    seconds: list[int], moves: int, seed: int, open_end: bool
) -> None:
    crowd = {second for second in seconds if seconds.count(second) >= SIZE}
    runs = [a_run(n, second) for n, second in enumerate(seconds) if second not in crowd]
    github = Moving(runs, moves, seed)
    told = [
        run.id
        for page in newest_first(github, NOON - timedelta(seconds=60), None if open_end else NOON)
        for run in page
    ]
    assert len(told) == len(set(told))
    assert github.stayed <= set(told)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 20), max_size=80))
def test_of_one_second_as_many_are_told_as_github_shows(seconds: list[int]) -> None:
    github = Moving([a_run(n, second) for n, second in enumerate(seconds)], 0, 0)
    told = [run for page in newest_first(github, NOON - timedelta(seconds=30), NOON) for run in page]
    assert len(told) == sum(min(seconds.count(second), SHOWN) for second in set(seconds))


@pytest.mark.parametrize(("since", "told"), [(0, [0]), (3, [0, 1, 2, 3])])
def test_runs_from_before_the_window_are_left_out_and_end_it(since: int, told: list[int]) -> None:
    github = Moving([a_run(n, n) for n in range(40)], 0, 0)
    pages = newest_first(github, NOON - timedelta(seconds=since), None)
    assert [run.id for page in pages for run in page] == told
    assert github.asked <= 2


def test_a_window_is_written_in_utc() -> None:
    since = datetime.fromisoformat("2026-05-28T08:00:00+08:00")
    assert window_text(since, since + SECOND) == "2026-05-28T00:00:00Z..2026-05-28T00:00:01Z"
