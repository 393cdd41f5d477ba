"""Runners, services and queues around a failure, and what people said of equal ones."""

from collections.abc import Sequence
from typing import Any

import pytest

from buildeye.model import Cause, Incident
from buildeye.triage.evidence.people import judge_people
from buildeye.triage.evidence.queue import judge_queue
from buildeye.triage.evidence.runners import judge_runners
from buildeye.triage.evidence.services import judge_services
from buildeye.triage.results import Result, Said
from tests.triage.cases import (
    BEGAN,
    MINUTE,
    OTHER,
    OWN,
    POOL,
    SIGNATURE,
    diagnosis,
    in_pull,
    incident,
    load,
    on_base,
    passed,
    pieces,
    said,
    subject,
)

MINE = "runner-1"
LOST = subject(diagnosis(cause=Cause.INFRASTRUCTURE, category="accelerator", signature="npu|card # is lost here"))


def _here(number: int, hours: float, **given: object) -> Result:
    """A failure of another kind on the runner of the job, in another pull request."""
    facts: dict[str, object] = {"runner": MINE, "signature": f"made-up|failure number {number} of its own kind"}
    return in_pull(number, hours, **(facts | given))


WELL = [passed(in_pull(n, n / 10, runner="else")) for n in range(200, 240)]
RUNNERS: dict[str, tuple[Sequence[Result], set[str]]] = {
    "nothing is known": ((), set()),
    "others failed on it": ([_here(n, n / 2) for n in (1, 2, 3)], {"runner-sick"}),
    "one other failed on it": ([_here(1, 1)], set()),
    "one pull request failed on it again and again": (
        [_here(7, n, job_id=n, run_id=n, head_sha="c" * 40) for n in (2, 3, 4)], set(),
    ),
    "they failed alike elsewhere too": (
        [r for n in (1, 2, 3) for r in (_here(n, n / 2, signature=OTHER), in_pull(n + 10, n / 2, signature=OTHER))],
        set(),
    ),
    "others passed on it": ([passed(_here(n, n / 2)) for n in (1, 2, 3)], {"runner-well"}),
    "one other passed on it": ([passed(_here(1, 1))], set()),
    "it was long ago": ([_here(n, n / 10 - 10) for n in (1, 2, 3)], set()),
    "the jobs of the same run failed on it": ([_here(n, n / 2, run_id=1) for n in (1, 2, 3)], set()),
    "jobs were stopped on it": ([_here(n, n / 2, conclusion="cancelled") for n in (1, 2, 3)], set()),
    "it ran two jobs at once, so it is many": ([_here(n, n / 10) for n in (1, 2, 3)], set()),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), RUNNERS.values(), ids=RUNNERS.keys())
def test_what_else_became_of_jobs_on_the_runner(results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_runners, LOST, [*results, *WELL]).keys() - {"pool-sick"} == found


ALIKE = {"signature": LOST.own.signature}
ONLY_HERE: dict[str, tuple[Sequence[Result], bool]] = {
    "equal failures on this runner": ([_here(1, 1, **ALIKE), _here(2, 2, **ALIKE)], True),
    "one of them on another runner": ([_here(1, 1, **ALIKE), in_pull(2, 2, **ALIKE)], False),
    "none but of this pull request": ([_here(OWN, 1, **ALIKE)], False),
    "days before": ([_here(1, -30, **ALIKE)], False),
    "other failures on this runner": ([_here(1, 1), _here(2, 2)], False),
}


@pytest.mark.parametrize(("results", "told"), ONLY_HERE.values(), ids=ONLY_HERE.keys())
def test_equal_failures_that_happen_on_one_runner_only(results: Sequence[Result], told: bool) -> None:
    assert ("only-on-this-runner" in pieces(judge_runners, LOST, results)) is told


def test_a_job_that_no_runner_took_says_nothing_of_runners() -> None:
    assert pieces(judge_runners, subject(runner_name=""), [_here(n, n / 2, runner="") for n in (1, 2, 3)]) == {}


def test_the_more_fail_on_a_runner_the_sicker_it_is_up_to_an_end() -> None:
    def strength(count: int) -> float:
        return pieces(judge_runners, LOST, [*WELL, *(_here(n, n / 2) for n in range(1, count + 1))])[
            "runner-sick"
        ].strength

    assert strength(2) < strength(4) <= strength(12) <= 3


LIKE_MINE: dict[str, Any] = {"category": "accelerator", "cause": "infrastructure", "signature": OTHER}
POOLS: dict[str, tuple[Sequence[Result], bool]] = {
    "another runner, another pull request": ([in_pull(7, **LIKE_MINE)], True),
    "another runner, the base branch": ([on_base(hours=1, **LIKE_MINE)], True),
    "another runner, the same pull request": ([in_pull(OWN, **LIKE_MINE)], False),
    "the same runner": ([in_pull(7, runner=MINE, **LIKE_MINE)], False),
    "another pool": ([in_pull(7, pool="linux", **LIKE_MINE)], False),
    "another kind of trouble": ([in_pull(7, **(LIKE_MINE | {"category": "network"}))], False),
    "too long ago": ([in_pull(7, -4, **LIKE_MINE)], False),
}


@pytest.mark.parametrize(("results", "sick"), POOLS.values(), ids=POOLS.keys())
def test_the_same_trouble_on_other_runners_of_the_pool(results: Sequence[Result], sick: bool) -> None:
    assert ("pool-sick" in pieces(judge_runners, LOST, results)) is sick


def test_failures_of_code_make_no_pool_sick() -> None:
    assert "pool-sick" not in pieces(judge_runners, subject(), [in_pull(7, signature=OTHER), in_pull(8)])


TROUBLE: dict[str, Any] = {"category": "network", "cause": "infrastructure", "signature": OTHER}
SERVICES: dict[str, tuple[Sequence[Result], bool]] = {
    "a second pull request, in another job": ([in_pull(7, 0.5, name="lint", **TROUBLE)], True),
    "a second run of the base branch": ([on_base(51, 0.5, **TROUBLE)], True),
    "nobody else": ([], False),
    "the one pull request again": ([in_pull(8, 0.5, job_id=3, run_id=3, **TROUBLE)], False),
    "this pull request": ([in_pull(OWN, 0.5, **TROUBLE)], False),
    "the same run": ([in_pull(7, 0.5, run_id=1, **TROUBLE)], False),
    "an hour and a half later": ([in_pull(7, 1.5, **TROUBLE)], False),
    "a failure of code": ([in_pull(7, 0.5)], False),
    "trouble of a machine": ([in_pull(7, 0.5, **(TROUBLE | {"category": "accelerator"}))], False),
    "trouble that was overcome": ([in_pull(7, 0.5, conclusion="success", **TROUBLE)], False),
}


@pytest.mark.parametrize(("results", "told"), SERVICES.values(), ids=SERVICES.keys())
def test_services_that_fail_for_one_other_and_for_a_second_at_the_same_time(
    results: Sequence[Result], told: bool
) -> None:
    one = in_pull(8, 0.4, **TROUBLE)
    assert pieces(judge_services, subject(), [one, *results]).keys() == ({"outage"} if told else set())


INCIDENTS: dict[str, tuple[Incident, bool]] = {
    "it lasts": (incident(-1, None), True),
    "it began and ended around the failure": (incident(-1, 1), True),
    "it was over before": (incident(-5, -2), False),
    "it was over a little before": (incident(-5, 0.2), True),
    "it was declared a little later": (incident(1, 2), True),
    "it began long afterwards": (incident(3, 4), False),
}


@pytest.mark.parametrize(("declared", "told"), INCIDENTS.values(), ids=INCIDENTS.keys())
def test_an_incident_that_a_service_declared(declared: Incident, told: bool) -> None:
    assert ("incident" in pieces(judge_services, subject(), incidents=[declared])) is told


def test_one_incident_is_told_of_several() -> None:
    assert pieces(judge_services, subject(), incidents=[incident(-1, None), incident(-2, 1)]).keys() == {"incident"}


def _wait(minutes: float) -> dict[str, Any]:
    """Times of a job that waited so long for its runner."""
    begun = BEGAN + minutes * MINUTE
    return {"started_at": begun, "completed_at": begun + 20 * MINUTE}


USUAL = [passed(in_pull(n, -20 - n / 10)) for n in range(300, 330)]
FREE = [passed(in_pull(n, n / 100)) for n in range(4)]
BUSY = [passed(in_pull(n, n / 100, waited=40 * MINUTE)) for n in range(8)]
QUEUES: dict[str, tuple[float, Sequence[Result], set[str]]] = {
    "nothing is known of the pool": (40, (), set()),
    "it waited long, others usually do not": (40, USUAL, {"queue-deep"}),
    "others waited long around it": (1, [*USUAL, *BUSY], {"queue-deep"}),
    "it waited nine minutes": (9, USUAL, set()),
    "all wait long there": (40, [passed(in_pull(n, -n, waited=30 * MINUTE)) for n in range(20, 40)], set()),
    "runners were free": (1, [*USUAL, *FREE], {"queue-short"}),
    "few are known around it": (1, USUAL, set()),
    "others of another pool waited": (
        1, [*USUAL, *(passed(in_pull(n, n / 100, waited=40 * MINUTE, pool="linux")) for n in range(8))], set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("minutes", "results", "found"), QUEUES.values(), ids=QUEUES.keys())
def test_how_long_jobs_waited_for_a_runner(minutes: float, results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_queue, subject(**_wait(minutes)), results).keys() == found


def test_a_wait_is_told_beside_the_usual_one() -> None:
    found = pieces(judge_queue, subject(**_wait(40)), USUAL)
    assert found["queue-deep"].quote == POOL
    assert found["queue-deep"].why.startswith("jobs waited 40 min")
    assert found["queue-deep"].why.endswith("usual are 60 s")


LOADS = {
    "many wait, usually few do": ([load(n, 2) for n in range(-9, -1)] + [load(0, 20)], True),
    "as many wait as usual": ([load(n, 20) for n in range(-9, 1)], False),
    "many waited half an hour before": ([load(n, 2) for n in range(-9, -1)] + [load(-0.5, 20)], False),
    "many wait afterwards": ([load(n, 2) for n in range(-9, -1)] + [load(0.5, 20)], False),
    "nothing is known": ([], False),
}


@pytest.mark.parametrize(("loads", "told"), LOADS.values(), ids=LOADS.keys())
def test_how_many_jobs_waited_at_that_moment(loads: Sequence[object], told: bool) -> None:
    assert ("pool-loaded" in pieces(judge_queue, subject(), USUAL, loads=loads)) is told


SAYINGS: dict[str, tuple[Sequence[Said], set[str]]] = {
    "nobody spoke": ((), set()),
    "one spoke": ([said(Cause.INFRASTRUCTURE)], {"person-said-infrastructure"}),
    "of two the later counts": (
        [said(Cause.CODE, -1, person="bob"), said(Cause.INFRASTRUCTURE, -2)], {"person-said-code"},
    ),
    "of this very run": ([said(Cause.CODE, run_id=1)], set()),
    "longer ago than is asked": ([said(Cause.CODE, -24 * 22)], set()),
}  # fmt: skip


@pytest.mark.parametrize(("sayings", "found"), SAYINGS.values(), ids=SAYINGS.keys())
def test_what_people_said_of_equal_failures(sayings: Sequence[Said], found: set[str]) -> None:
    assert pieces(judge_people, subject(), said={SIGNATURE: sayings}).keys() == found


def test_what_people_said_of_another_failure_is_not_heard() -> None:
    assert pieces(judge_people, subject(), said={OTHER: [said(Cause.CODE)]}) == {}


@pytest.mark.parametrize("signature", ["no-log|unit|Run tests", "unknown|# at #"])
def test_what_people_said_of_a_failure_that_has_no_name_is_of_that_one_only(signature: str) -> None:
    of = subject(diagnosis(signature=signature))
    assert pieces(judge_people, of, said={signature: [said(Cause.CODE)]}) == {}


def test_who_said_it_is_quoted() -> None:
    found = pieces(judge_people, subject(), said={SIGNATURE: [said(Cause.INTERFERENCE)]})
    piece = found["person-said-interference"]
    assert (piece.kind, piece.quote) == ("person", "alice")
    assert "run 70" in piece.why
