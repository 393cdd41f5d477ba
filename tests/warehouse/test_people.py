"""What people said and how our judgement changed come back as they were, whatever the order of writing."""

from itertools import permutations

import pytest

from buildeye.model import PersonVerdict
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import person_verdict_of, verdict_change_of, verdict_of

from .facts import REPOSITORY, a_change, a_saying, a_verdict

ASKED = {"repository": REPOSITORY, "runs": [100]}


def test_what_a_person_said_comes_back_as_it_was(warehouse: Warehouse) -> None:
    said = a_saying(why="it's card 3\tof \\ 8, 向左")
    warehouse.write_person_verdicts([said])
    assert [person_verdict_of(row) for row in warehouse.ask("person_verdicts", **ASKED)] == [said]


SAYINGS = (a_saying(said=1), a_saying(said=2, category="disk-full"), a_saying(said=3, withdrawn=True), a_saying(said=4))


@pytest.mark.parametrize("order", list(permutations(SAYINGS))[::5], ids=str)
def test_what_was_said_later_counts_whatever_the_order_of_writing(
    embedded: Warehouse, order: tuple[PersonVerdict, ...]
) -> None:
    for said in (*order, order[0]):
        embedded.write_person_verdicts([said])
    assert [person_verdict_of(row) for row in embedded.ask("person_verdicts", **ASKED)] == [SAYINGS[-1]]


def test_what_was_taken_back_is_not_asked_for_again(embedded: Warehouse) -> None:
    embedded.write_person_verdicts([*SAYINGS[:3]][::-1])
    assert embedded.ask("person_verdicts", **ASKED) == []


def test_changes_of_our_judgement_come_back_oldest_first(warehouse: Warehouse) -> None:
    changes = [a_change(minutes=10), a_change(minutes=20)]
    warehouse.write_verdict_changes(changes[::-1])
    warehouse.write_verdict_changes(changes)
    assert [verdict_change_of(row) for row in warehouse.ask("verdict_changes", **ASKED)] == changes


def test_our_own_verdict_comes_back_untouched_by_what_people_said(embedded: Warehouse) -> None:
    embedded.write_verdicts([a_verdict()], REPOSITORY)
    embedded.write_person_verdicts([a_saying(), a_saying(job=1000)])
    assert [verdict_of(row) for row in embedded.ask("verdicts_of_runs", **ASKED)] == [a_verdict()]
