"""One warehouse, two answers: what the guide's script reads from `GET /api/hud/...`, and what our streaks say.

Where they differ, the script is wrong, and the name of the test says how.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from buildeye.insight.hudgrid import hud_json, hud_page
from buildeye.insight.streaks import Streak, streaks_of
from buildeye.model import Job
from buildeye.warehouse import Warehouse, open_warehouse
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, a_diagnosis, a_job, a_run, at

from .guide_script import Told, told_by_the_script

WORDS = {
    "O": ("completed", "success"), "X": ("completed", "failure"), "T": ("completed", "timed_out"),
    "C": ("completed", "cancelled"), "S": ("completed", "skipped"), "N": ("completed", "neutral"),
    "Q": ("queued", None), "?": ("in_progress", None),
}  # fmt: skip
LEFT = "pytest.failed|tests/test_widget.py::TestWidget::test_turn_left|AssertionError"
RIGHT = "pytest.failed|tests/test_widget.py::TestWidget::test_turn_right|AssertionError"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened


def sha(place: int) -> str:
    """The commit at this place, 0 the newest."""
    return f"{place:x}" * 40


def write(warehouse: Warehouse, histories: Mapping[str, str], signatures: Sequence[str] = ()) -> None:
    """Jobs with their histories, newest commit first: `~` no run, `F` one that failed and a re-run that passed.

    `signatures` are those of the failures, in the order of the histories; '' for one that is not diagnosed.
    """
    empty(warehouse)
    length = max(len(letters) for letters in histories.values())
    warehouse.write_runs(
        [
            replace(a_run(100 - n, event="push", branch="main", pulls=()), head_sha=sha(n), created_at=at(-60 * n))
            for n in range(length)
        ]
    )
    jobs = [job for name, letters in histories.items() for job in _jobs(name, letters)]
    jobs = [replace(job, id=place) for place, job in enumerate(jobs, 1)]
    warehouse.write_jobs(jobs)
    failed = [job.id for job in jobs if job.conclusion == "failure"]
    told = [(number, text) for number, text in zip(failed, signatures, strict=False) if text]
    warehouse.write_diagnoses([a_diagnosis(number, signature=text) for number, text in told])


def _jobs(name: str, letters: str) -> list[Job]:
    runs = [(n, letter) for n, told in enumerate(letters) for letter in told.replace("F", "XO").replace("~", "")]
    return [
        replace(
            a_job(1, run=100 - n, name=name, status=WORDS[letter][0], conclusion=WORDS[letter][1], branch="main"),
            head_sha=sha(n),
            created_at=at(-60 * n),
        )
        for n, letter in runs
    ]


def theirs(warehouse: Warehouse, commits: int = 100, per_page: int = 100) -> dict[str, Told]:
    def fetch(number: int, size: int) -> Any:
        return json.loads(hud_json(hud_page(warehouse, REPOSITORY, "main", max(number, 1), size)))

    return told_by_the_script(fetch, commits, per_page)


def ours(warehouse: Warehouse, commits: int = 100) -> dict[str, Streak]:
    return {each.job: each for each in streaks_of(warehouse, REPOSITORY, "main", commits)}


@pytest.mark.parametrize(
    ("letters", "length", "since", "clipped"),
    [
        ("XXO", 2, 1, False), ("X~XO", 2, 2, False), ("XSXNXO", 3, 4, False), ("TXO", 2, 1, False),
        ("XXX", 3, 2, True), ("XX~", 2, 1, True), ("XFX", 1, 0, False), ("~XO", 1, 1, False),
    ],
)  # fmt: skip
def test_plain_histories_are_told_alike(
    warehouse: Warehouse, letters: str, length: int, since: int, clipped: bool
) -> None:
    write(warehouse, {"unit": letters})
    script, streak = theirs(warehouse)["CI / unit"], ours(warehouse)["CI / unit"]
    assert (script.streak, script.since, script.clipped) == (length, sha(since), clipped)
    assert (streak.length, streak.first_bad.sha, streak.clipped) == (length, sha(since), clipped)


@pytest.mark.parametrize("letters", ["OXX", "FXX", "SNO", "~OX"])
def test_of_a_job_that_passed_last_both_say_nothing(warehouse: Warehouse, letters: str) -> None:
    write(warehouse, {"unit": letters})
    assert (theirs(warehouse), ours(warehouse)) == ({}, {})


@pytest.mark.parametrize(
    ("letters", "wrong", "right"),
    [("CXO", 2, 1), ("XCXO", 3, 2), ("XOC", 1, 1), ("CO", 1, 0), ("CCC", 3, 0)],
)  # fmt: skip
def test_the_script_takes_cancelled_for_a_failure(warehouse: Warehouse, letters: str, wrong: int, right: int) -> None:
    write(warehouse, {"unit": letters})
    assert theirs(warehouse)["CI / unit"].streak == wrong
    assert sum(each.length for each in ours(warehouse).values()) == right


@pytest.mark.parametrize(("letters", "wrong", "right"), [("QXO", 2, 1), ("QO", 1, 0)])
def test_the_script_takes_a_queued_job_for_a_failure(
    warehouse: Warehouse, letters: str, wrong: int, right: int
) -> None:
    write(warehouse, {"unit": letters})
    assert theirs(warehouse)["CI / unit"].streak == wrong
    assert sum(each.length for each in ours(warehouse).values()) == right


@pytest.mark.parametrize(("letters", "wrong", "right"), [("?XXO", 0, 2), ("X?XO", 1, 2)])
def test_the_script_ends_a_streak_at_a_job_that_still_runs(
    warehouse: Warehouse, letters: str, wrong: int, right: int
) -> None:
    write(warehouse, {"unit": letters})
    assert sum(each.streak for each in theirs(warehouse).values()) == wrong
    assert ours(warehouse)["CI / unit"].length == right


def test_the_script_counts_page_0_and_page_1_which_are_one_page_twice(warehouse: Warehouse) -> None:
    write(warehouse, {"unit": "XXOO"})
    script, streak = theirs(warehouse, commits=4, per_page=2)["CI / unit"], ours(warehouse, commits=4)["CI / unit"]
    assert (script.streak, script.runs, script.clipped) == (4, 4, True)
    assert (streak.length, streak.judged, streak.clipped) == (2, 4, False)


def test_the_script_loses_a_job_that_only_an_older_page_names(warehouse: Warehouse) -> None:
    write(warehouse, {"unit": "OOOO", "nightly": "~~XX"})
    assert theirs(warehouse, commits=6, per_page=2) == {}
    assert ours(warehouse)["CI / nightly"].length == 2


def test_the_script_loses_a_streak_whose_failing_test_moves_between_shards(warehouse: Warehouse) -> None:
    write(warehouse, {"test (default, 1, 2)": "OXOO", "test (default, 2, 2)": "XOXO"})
    assert {name: told.streak for name, told in theirs(warehouse).items()} == {"CI / test (default, 2, 2)": 1}
    assert {name: each.length for name, each in ours(warehouse).items()} == {"CI / test (default)": 3}


def test_the_script_loses_a_streak_when_the_number_of_shards_changes(warehouse: Warehouse) -> None:
    write(warehouse, {"unit (1/3)": "X~~", "unit (1/2)": "~XO"})
    assert {name: (told.streak, told.clipped) for name, told in theirs(warehouse).items()} == {
        "CI / unit (1/3)": (1, True), "CI / unit (1/2)": (1, False),
    }  # fmt: skip
    (streak,) = ours(warehouse).values()
    assert (streak.job, streak.length, streak.clipped) == ("CI / unit", 2, False)


def test_the_script_takes_two_tests_of_one_class_for_one_failure(warehouse: Warehouse) -> None:
    write(warehouse, {"unit": "XXXO"}, [LEFT, RIGHT, LEFT])
    assert theirs(warehouse)["CI / unit"].failures == ((LEFT, 3),)
    assert ours(warehouse)["CI / unit"].signatures == ((LEFT, 2), (RIGHT, 1))


def test_the_script_takes_all_that_is_not_classified_for_one_failure(warehouse: Warehouse) -> None:
    write(warehouse, {"unit": "XXXO"}, ["", LEFT, ""])
    assert theirs(warehouse)["CI / unit"].failures == (("unclassified", 2), (LEFT, 1))
    streak = ours(warehouse)["CI / unit"]
    assert (streak.signatures, streak.undiagnosed) == (((LEFT, 1),), 2)


def test_the_script_does_not_say_between_which_commits_it_broke(warehouse: Warehouse) -> None:
    write(warehouse, {"unit": "X~~O"})
    assert theirs(warehouse)["CI / unit"].since == sha(0)
    streak = ours(warehouse)["CI / unit"]
    assert [each.sha for each in streak.between] == [sha(2), sha(1), sha(0)]
