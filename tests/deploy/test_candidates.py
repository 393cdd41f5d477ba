"""A version before its cutover: what keeps it from serving, said in a sentence, while the old version serves on."""

import socket

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.deploy.asking import Refused
from buildeye.model.deployments import Deployment, State

ENDS = (State.MONITORING, State.HEALTH_FAILED, State.ROLLBACK_FAILED, State.ROLLED_BACK)


@pytest.fixture
def serving(stage: Stage) -> Deployment:
    """v1, clean and in service, with its supervisor gone; its process lives on."""
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote", why="good")
    return first


@pytest.mark.parametrize(
    ("behaviour", "sections", "said"),
    [
        ({"health": 503}, {}, "503"),
        ({"health": 301, "redirect": True}, {}, "301"),
        ({"slow": 30}, {"health": {"timeout_seconds": 0.3, "deadline_seconds": 2}}, "not healthy within 2 s"),
        ({"exit": 7}, {}, "exit 7"),
    ],
    ids=["answers 503", "answers 301", "answers too slowly", "ends at once"],
)
def test_a_candidate_that_is_not_healthy_never_serves(
    stage: Stage, serving: Deployment, behaviour: dict[str, object], sections: dict[str, object], said: str
) -> None:
    """Scenarios 31 and 32."""
    stage.behave("v2", **behaviour)
    with stage.supervised():
        health = {"deadline_seconds": 2, **dict(sections.get("health", {}))}  # type: ignore[call-overload]  # a mapping
        second = stage.until(stage.deploy("v2", health=health), *ENDS)
        assert second.state is State.HEALTH_FAILED
        assert said in stage.why(second)
        assert stage.serves() == "v1"
        stage.eventually(lambda: stage.living() == [serving.id], "the candidate is gone")


def test_a_health_page_without_content_is_healthy(stage: Stage) -> None:
    """Scenario 32: 204 counts."""
    stage.behave("v1", health=204)
    with stage.supervised():
        assert stage.until(stage.deploy("v1"), *ENDS).state is State.MONITORING


def test_a_candidate_that_lives_three_seconds_is_stopped_by_the_minimum_uptime(
    stage: Stage, serving: Deployment
) -> None:
    """Scenario 31."""
    with stage.supervised():
        second = stage.deploy("v2", health={"minimum_uptime_seconds": 8, "deadline_seconds": 20})
        stage.until(second, State.HEALTH_CHECKING)
        stage.behave("v2", exit=0)
        assert stage.until(second, *ENDS).state is State.HEALTH_FAILED
        assert "exit 0" in stage.why(second)
        assert stage.serves() == "v1"


def test_a_missing_program_is_said_and_the_old_version_serves(stage: Stage, serving: Deployment) -> None:
    with stage.supervised():
        second = stage.until(stage.deploy("v2", command=["/nowhere/web-server"]), *ENDS)
        assert second.state is State.HEALTH_FAILED
        assert "/nowhere/web-server" in stage.why(second)
        assert stage.serves() == "v1"


def test_a_port_that_a_stranger_has_is_said(stage: Stage) -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", stage.port))
        stranger.listen()
        with stage.supervised():
            stage.deploy("v1")
            stage.eventually(lambda: any(str(stage.port) in line for line in stage.log), "the log names the port")
        assert "Traceback" not in "".join(stage.log)


def test_a_process_of_another_version_that_answers_is_noticed(stage: Stage, serving: Deployment) -> None:
    """Scenario 30: what answers at a candidate's address must be the candidate."""
    with stage.supervised():
        second = stage.deploy("v2", health={"deadline_seconds": 2}, environment={"SHOWN_NONCE": "of another"})
        assert stage.until(second, *ENDS).state is State.HEALTH_FAILED
        assert "another process answers" in stage.why(second)
    assert stage.serves() == "v1"


def test_a_manual_version_waits_until_a_person_promotes_it(stage: Stage, serving: Deployment) -> None:
    with stage.supervised():
        second = stage.until(stage.deploy("v2", promote="manual"), State.READY)
        assert stage.serves() == "v1"
    with stage.supervised():  # another supervisor goes on waiting
        stage.ask(second, "promote")
        stage.until(second, State.MONITORING)
        assert stage.serves() == "v2"


def test_a_paused_version_waits_until_it_is_resumed(stage: Stage, serving: Deployment) -> None:
    with stage.supervised():
        second = stage.deploy("v2", health={"minimum_uptime_seconds": 2})
        stage.ask(second, "pause")
        stage.until(second, State.READY)
        assert stage.serves() == "v1"
        stage.ask(second, "resume")
        stage.until(second, State.MONITORING)


def test_an_aborted_candidate_is_stopped_and_nothing_else_changes(stage: Stage, serving: Deployment) -> None:
    with stage.supervised():
        second = stage.until(stage.deploy("v2", promote="manual"), State.READY)
        stage.ask(second, "abort", why="wrong branch")
        stage.until(second, State.ABORTED)
        stage.eventually(lambda: stage.living() == [serving.id], "the candidate is gone")
        assert stage.serves() == "v1"
        with pytest.raises(Refused, match="cannot be done any more"):
            stage.ask(second, "promote")


def test_a_newer_candidate_takes_the_place_of_an_older_one(stage: Stage, serving: Deployment) -> None:
    with stage.supervised():
        second = stage.until(stage.deploy("v2", promote="manual"), State.READY)
        third = stage.until(stage.deploy("v3"), State.MONITORING)
        assert stage.now(second).state is State.SUPERSEDED
        stage.eventually(lambda: stage.living() == sorted([serving.id, third.id]), "v2 is gone")
