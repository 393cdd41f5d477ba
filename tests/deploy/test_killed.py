"""Scenario 17 in the small: supervisors killed with -9; `make bench-deploy` does it hundreds of times."""

import random
from pathlib import Path

import pytest
from benchmarks.deploying.kills import Forker, Killed, boundaries, kill_often
from benchmarks.deploying.stage import Stage
from benchmarks.deploying.stories import STORIES

from buildeye.deploy.processes.orphans import Found, find
from buildeye.model.deployments import State

KILLS = 12


@pytest.mark.parametrize("story", ["a version goes bad", "candidates that never serve"])
def test_however_often_its_supervisor_is_killed_a_story_ends_the_same_way(tmp_path: Path, story: str) -> None:
    found = kill_often(tmp_path, KILLS // 2, seed=1, names=(story,))
    assert found.kills >= KILLS // 2
    assert not found.wrong, "\n\n".join(found.wrong)


def test_a_promotion_right_after_a_cutover_leaves_the_version_in_service(stage: Stage) -> None:
    """The supervisor ends when the switch is in the journal, and who serves is not; the next one is asked at once."""
    stage.run_root.mkdir(parents=True)
    with Forker(stage, random.Random(1), Killed()) as forker:
        first = stage.deploy("v1")
        forker.killed_at("after-switched")
        stage.journal.ask("web", first.id, "promote", {}, "test", stage.clock.now())
        with stage.supervised():
            stage.until(first, State.MONITORING_WINDOW_CLEAN)
            stage.eventually(lambda: _in_service(stage) == first.id, "v1 is in service")
            assert stage.serves() == "v1"
            assert stage.living() == [first.id]


def test_the_keeper_of_a_version_that_was_stopped_goes_also_when_its_supervisor_was_killed(stage: Stage) -> None:
    stage.run_root.mkdir(parents=True)
    with Forker(stage, random.Random(1), Killed()) as forker:
        with stage.supervised():
            first = stage.until(stage.deploy("v1"), State.MONITORING)
            stage.ask(first, "promote")
            second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.journal.ask("web", second.id, "promote", {}, "test", stage.clock.now())
        forker.killed_at("stopped")  # v1, which is not needed any more
        assert len(_keepers(stage)) == 2
        with stage.supervised():
            stage.eventually(lambda: len(_keepers(stage)) == 1, "one keeper is left")
            assert stage.serves() == "v2"


def test_the_keeper_of_a_version_that_ended_by_itself_goes(stage: Stage) -> None:
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote")
        stage.until(stage.deploy("v2"), State.MONITORING)
        stage.behave("v1", exit=1)
        stage.eventually(lambda: len(_keepers(stage)) == 1, "one keeper is left")
        assert stage.serves() == "v2"


def _in_service(stage: Stage) -> str:
    row = stage.journal.service("web")
    return row.in_service if row is not None else ""


def _keepers(stage: Stage) -> list[Found]:
    return [each for each in find(stage.run_root) if each.keeper]


def test_every_story_ends_with_a_version_that_serves() -> None:
    assert all(story.serves in story.ends for story in STORIES.values())


def test_boundaries_are_read_from_the_engine() -> None:
    assert {"planned", "switched", "before-roll_back", "after-returned"} <= boundaries()
