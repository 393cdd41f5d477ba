"""The approval rate under a running supervisor: what a lower, a higher, a silent or an unreadable one leads to."""

from collections.abc import Iterator
from typing import Any

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.deploy.clock import Clock
from buildeye.model.deployments import Baseline, Deployment, HealthSample, SignalKind, SignalStatus, State
from tests.deploy.tasksource import Tasks, served_tasks

NINE_OF_TEN = [True] * 45 + [False] * 5
HOUR = 3600.0
SHORT = {"hours": 0.001, "deadline_hours": 2000}
"""A window of 3.6 s of the clock, that no deadline ends."""
PATIENT = {"timeout_seconds": 100, "deadline_seconds": 1000, "interval_seconds": 4, "retry_seconds": 4}
"""Probes that a slow machine does not fail, though the clock runs fast."""


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    """Where the service's verdicts are read."""
    with served_tasks() as tasks:
        yield tasks


@pytest.fixture
def fast(stage: Stage) -> Stage:
    """A stage on which twenty seconds pass in one."""
    stage.clock = Clock(speed=20)
    return stage


def _serving(stage: Stage, version: str, **sections: Any) -> Deployment:
    return stage.until(stage.deploy(version, health=PATIENT, **sections), State.MONITORING)


def _clean(stage: Stage, tasks: Tasks, version: str, approved: list[bool], **sections: Any) -> Deployment:
    """A version that counts as clean, with the verdicts on its tasks."""
    deployment = _serving(stage, version, rate=tasks.rate(), **sections)
    tasks.add(deployment, approved)
    stage.ask(deployment, "promote", why="good")
    return stage.until(deployment, State.MONITORING_WINDOW_CLEAN)


def _read(stage: Stage, deployment: Deployment, times: int, **numbers: int) -> HealthSample:
    """The last of so many samples of the rate that hold these numbers."""

    def found() -> list[HealthSample]:
        samples = stage.samples(deployment, SignalKind.RATE)
        return [each for each in samples if all(each.numbers.get(name) == n for name, n in numbers.items())]

    stage.eventually(lambda: len(found()) >= times, f"{numbers} is read {times} times")
    return found()[-1]


def test_a_first_rejected_task_rolls_nothing_back(fast: Stage, tasks: Tasks) -> None:
    """Scenario 1."""
    with fast.supervised():
        _clean(fast, tasks, "v1", NINE_OF_TEN)
        second = _serving(fast, "v2", rate=tasks.rate())
        assert second.baseline is not None
        assert (second.baseline.good, second.baseline.total) == (45, 50)
        tasks.add(second, [False])
        _read(fast, second, 3, approved=0, judged=1)
        assert fast.now(second).state is State.MONITORING


def test_a_rate_that_falls_from_nine_to_five_of_ten_is_rolled_back(fast: Stage, tasks: Tasks) -> None:
    with fast.supervised():
        _clean(fast, tasks, "v1", NINE_OF_TEN)
        second = _serving(fast, "v2", rate=tasks.rate())
        tasks.add(second, [True, False] * 15)
        fast.until(second, State.ROLLED_BACK)
        assert "15 of 30 approved, was 45 of 50" in fast.story() or "was 45 of 50" in fast.story()
        assert fast.serves() == "v1"


def test_a_rate_that_improves_rolls_nothing_back(fast: Stage, tasks: Tasks) -> None:
    """Scenario 3."""
    with fast.supervised():
        _clean(fast, tasks, "v1", [True, False] * 25)
        second = _serving(fast, "v2", rate=tasks.rate())
        tasks.add(second, [True] * 40)
        _read(fast, second, 3, approved=40, judged=40)
        assert fast.now(second).state is State.MONITORING
        assert fast.now(second).rollback_reason == ""


def test_without_a_verdict_by_the_deadline_it_is_closed_as_insufficient_data(fast: Stage, tasks: Tasks) -> None:
    """Scenario 4: the version stays, and people are told."""
    with fast.supervised():
        _clean(fast, tasks, "v1", NINE_OF_TEN)
        second = _serving(fast, "v2", rate=tasks.rate(), window={"hours": 0.001, "deadline_hours": 0.002})
        fast.until(second, State.CLOSED_INSUFFICIENT_DATA)
        assert "approved tasks" in fast.why(second)
        assert fast.serves() == "v2"
        fast.eventually(lambda: [state for version, state, _ in fast.told if version == "v2"], "somebody is told")


def test_ten_tasks_that_were_only_created_keep_the_window_open(fast: Stage, tasks: Tasks) -> None:
    """Scenario 5: they close it once they are judged."""
    with fast.supervised():
        first = _serving(fast, "v1", rate=tasks.rate(), window=SHORT)
        tasks.add(first, [None] * 10)
        _read(fast, first, 5, judged=0, unjudged=10)
        assert fast.now(first).state is State.MONITORING
        tasks.judge(approved=True)
        fast.until(first, State.MONITORING_WINDOW_CLEAN)


def test_when_traffic_stops_the_window_is_not_clean(fast: Stage, tasks: Tasks) -> None:
    """Scenario 6: quiet time is no evidence, neither from the start nor after a few tasks."""
    with fast.supervised():
        _clean(fast, tasks, "v1", NINE_OF_TEN)
        second = _serving(fast, "v2", rate=tasks.rate(), window=SHORT)
        assert _read(fast, second, 3, judged=0).status is SignalStatus.INSUFFICIENT
        tasks.add(second, [True] * 3)
        _read(fast, second, 5, judged=3)
        assert fast.now(second).state is State.MONITORING


def test_a_source_that_is_down_ten_minutes_asks_a_person_and_goes_on_by_itself(stage: Stage, tasks: Tasks) -> None:
    """Scenario 7."""
    stage.clock = Clock(speed=100)
    health = PATIENT | {"timeout_seconds": 300, "interval_seconds": 60, "retry_seconds": 60}
    with stage.supervised():
        first = stage.until(stage.deploy("v1", health=health, rate=tasks.rate(interval_seconds=30)), State.MONITORING)
        _read(stage, first, 1, judged=0)
        tasks.down = True
        stage.until(first, State.NEEDS_ATTENTION)
        assert "could not be checked" in stage.why(first)
        errors = [each for each in stage.samples(first, SignalKind.RATE) if each.status is SignalStatus.ERROR]
        assert errors[-1].at.since(errors[0].at) >= 600
        assert "503" in errors[-1].detail
        tasks.down = False
        stage.until(first, State.MONITORING)
        assert "anomaly" not in stage.events(first)


def test_what_a_person_was_asked_is_not_asked_again_and_no_timer_promotes(fast: Stage, tasks: Tasks) -> None:
    """Scenario 24."""
    window = SHORT | {"error_minutes": 0.1}
    with fast.supervised():
        first = _serving(fast, "v1", rate=tasks.rate(), window=window)
        tasks.down = True
        fast.until(first, State.NEEDS_ATTENTION)
    with fast.supervised():  # another supervisor knows what was asked
        _some_more_errors(fast, first)
        assert fast.now(first).state is State.NEEDS_ATTENTION
        fast.ask(first, "resume", why="we know")
        _some_more_errors(fast, first)
        assert fast.now(first).state is State.MONITORING
        assert fast.events(first).count("ask") == 1
        fast.ask(first, "promote", why="seen by eye")
        assert fast.now(first).state is State.MONITORING_WINDOW_CLEAN
        assert [state for _, state, _ in fast.told].count(State.NEEDS_ATTENTION) == 1


def _some_more_errors(stage: Stage, deployment: Deployment) -> None:
    before = len(stage.samples(deployment, SignalKind.RATE))
    stage.eventually(lambda: len(stage.samples(deployment, SignalKind.RATE)) > before + 5, "it is looked at again")


def test_a_bad_release_does_not_poison_the_next_baseline(fast: Stage, tasks: Tasks) -> None:
    """Scenario 27."""
    with fast.supervised():
        _clean(fast, tasks, "v1", NINE_OF_TEN)
        second = _serving(fast, "v2", rate=tasks.rate())
        tasks.add(second, [False] * 20)
        fast.until(second, State.ROLLED_BACK)
        third = _serving(fast, "v3", rate=tasks.rate())
        assert isinstance(third.baseline, Baseline)
        assert (third.baseline.good, third.baseline.total) == (45, 50)


def test_late_tasks_count_for_the_version_that_served_them(fast: Stage, tasks: Tasks) -> None:
    """Scenario 28: ten rejected tasks of v1, judged after the cutover, are not v2's."""
    with fast.supervised():
        first = _clean(fast, tasks, "v1", NINE_OF_TEN)
        second = _serving(fast, "v2", rate=tasks.rate())
        tasks.add(first, [False] * 10)
        tasks.add(second, [True])
        _read(fast, second, 3, approved=1, judged=1)
        assert fast.now(second).state is State.MONITORING
