"""A breach that may not roll back by itself: asked about once, and the next one is a new one."""

from datetime import UTC, datetime, timedelta

from benchmarks.deploying.stage import Stage

from buildeye.deploy.clock import Clock
from buildeye.deploy.spec import ServiceSpec
from buildeye.deploy.states import Happening
from buildeye.deploy.supervisor.evidence import decide
from buildeye.deploy.supervisor.held import Held
from buildeye.deploy.supervisor.limits import limits_of
from buildeye.deploy.supervisor.seen import Seen
from buildeye.model.deployments import Deployment, HealthSample, Moment, SignalKind, SignalStatus, State

LIMITS = limits_of(ServiceSpec())
PATIENT = {"timeout_seconds": 4, "deadline_seconds": 120}
"""Probes that a slow machine does not fail, though the clock runs faster."""
BEGIN = datetime(2026, 5, 28, 6, 0, tzinfo=UTC)


def _at(seconds: float) -> Moment:
    return Moment(BEGIN + timedelta(seconds=seconds), "boot", seconds)


def _probes(story: str) -> list[HealthSample]:
    """Probes 8 s apart: `.` answered, `x` failed."""
    kinds = {".": SignalStatus.OK, "x": SignalStatus.FAIL}
    return [HealthSample("d", SignalKind.HTTP, kinds[c], _at(8.0 * i), seq=i + 1) for i, c in enumerate(story)]


def _decision(story: str, held: int | None, state: State = State.NEEDS_ATTENTION) -> Happening | None:
    deployment = Deployment("d", "web", "v2", state, 3, _at(0), cutover=_at(0))
    known = {} if held is None else {SignalKind.HTTP: Held(held, _at(8.0 * held))}
    seen = Seen({SignalKind.HTTP: _probes(story)})
    return decide(deployment, seen, LIMITS, _at(8.0 * len(story)), held=known).happening


def test_an_outage_is_an_anomaly_until_it_is_held() -> None:
    assert _decision("....xxxx", None) is Happening.ANOMALY
    assert _decision("....xxxx", held=8) is None


def test_the_same_outage_asks_nobody_again_however_long_it_lasts() -> None:
    for more in range(1, 120):
        assert _decision("....xxxx" + "x" * more, held=8) is None


def test_when_it_is_over_the_supervisor_goes_on_by_itself() -> None:
    assert _decision("....xxxx..", held=8) is None
    assert _decision("....xxxx...", held=8) is Happening.RESUME


def test_the_next_outage_is_a_new_one() -> None:
    assert _decision("....xxxx....xxxx", held=8) is Happening.ANOMALY
    assert _decision("....xxxx....xxxx", held=8, state=State.MONITORING) is Happening.ANOMALY


def test_a_person_is_asked_once_for_each_outage(stage: Stage) -> None:
    stage.clock = Clock(speed=4)
    with stage.supervised():
        first = stage.until(stage.deploy("v1", health=PATIENT), State.MONITORING)
        stage.ask(first, "promote", why="good")
        second = stage.until(stage.deploy("v2", rollback={"automatic": False}, health=PATIENT), State.MONITORING)
        stage.behave("v2", health=503)
        stage.until(second, State.NEEDS_ATTENTION)
        stage.ask(second, "resume", why="known")
        stage.eventually(lambda: len(stage.samples(second, SignalKind.HTTP)) > 9, "it goes on failing")
        assert stage.now(second).state is State.MONITORING
        stage.behave("v2")
        stage.eventually(
            lambda: {each.status for each in stage.samples(second, SignalKind.HTTP)[-3:]} == {"ok"}, "well"
        )
        stage.behave("v2", health=503)
        stage.until(second, State.NEEDS_ATTENTION)
        assert stage.events(second).count("hold") == 2


def test_a_clean_version_that_falls_again_and_again_is_told_once(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1", process={"restart_seconds": 0.1, "exits": 2}), State.MONITORING)
        stage.ask(first, "promote", why="good")
        stage.behave("v1", exit=3)
        stage.eventually(lambda: "unsteady" in stage.events(first), "a person is told")
        stage.eventually(lambda: len(stage.journal.runs(first.id)) > 4, "it goes on being started")
        assert stage.events(first).count("unsteady") == 1
        assert any("ended 2 times within 10 min" in told[2] for told in stage.told)
        stage.behave("v1")
        stage.eventually(lambda: first.id in stage.living(), "it serves again")
