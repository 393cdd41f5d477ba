"""The supervisor with real processes: what becomes of a deployment, whatever happens to it."""

from benchmarks.deploying.stage import Stage

from buildeye.model.deployments import State

WATCHED = (State.MONITORING,)


def test_a_good_version_comes_into_service_and_is_watched(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING, State.HEALTH_FAILED, State.ROLLBACK_FAILED)
        assert first.state is State.MONITORING, stage.story()
        assert stage.serves() == "v1"


def test_a_second_version_takes_over_and_the_first_stays_warm(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        assert stage.serves() == "v2"
        assert stage.until(first, State.SUPERSEDED)
        assert second.previous == first.id
        assert stage.living() == sorted([first.id, second.id])


def test_a_version_that_goes_bad_is_rolled_back_to_the_last_clean_one(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote", why="good")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.behave("v2", health=503)
        assert stage.until(second, State.ROLLED_BACK, State.ROLLBACK_FAILED).state is State.ROLLED_BACK, stage.story()
        assert stage.serves() == "v1"
        stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
