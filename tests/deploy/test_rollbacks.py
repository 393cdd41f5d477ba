"""A version that serves and goes bad: when it is rolled back, where to, and when a person decides."""

import sys
from typing import Any

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.deploy.asking import Refused
from buildeye.model.deployments import Deployment, SignalKind, State

WENT = (State.ROLLED_BACK, State.ROLLBACK_FAILED, State.NEEDS_ATTENTION)


def _clean(stage: Stage, version: str, **sections: Any) -> Deployment:
    """A version that came into service and counts as clean."""
    deployment = stage.until(stage.deploy(version, **sections), State.MONITORING)
    stage.ask(deployment, "promote", why="good")
    return stage.until(deployment, State.MONITORING_WINDOW_CLEAN)


def _bad(stage: Stage, version: str, *, forced: bool = False, **sections: Any) -> Deployment:
    """A version that came into service and then answers 503."""
    stage.behave(version)
    deployment = stage.until(stage.deploy(version, forced=forced, **sections), State.MONITORING)
    stage.behave(version, health=503)
    return deployment


def test_flapping_is_caught(stage: Stage) -> None:
    """Scenario 10: never enough failures in a row, but half of ten probes."""
    with stage.supervised():
        _clean(stage, "v1")
        health = {"failures": 90, "window_probes": 4, "interval_seconds": 1, "retry_seconds": 0.3}
        second = _bad(stage, "v2", health=health)
        assert stage.until(second, *WENT).state is State.ROLLED_BACK
        assert "half" in second.rollback_reason or stage.now(second).rollback_reason


def test_a_database_that_both_versions_lost_holds_and_asks(stage: Stage) -> None:
    """Scenario 11: the old version fails its probes too, so the new one is not to blame; it goes on afterwards."""
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.behave("v1", health=503)
        stage.behave("v2", health=503)
        stage.until(second, State.NEEDS_ATTENTION)
        assert stage.serves() == "v2"
        stage.behave("v1")
        stage.behave("v2")
        stage.until(second, State.MONITORING)
        assert "roll_back" not in stage.events(second)


def test_a_canary_that_fails_on_both_versions_holds(stage: Stage) -> None:
    """Scenario 9."""
    canary = {"path": "/canary", "interval_seconds": 1, "confirm_seconds": 0.2}
    with stage.supervised():
        _clean(stage, "v1", canary=canary)
        second = stage.until(stage.deploy("v2", canary=canary), State.MONITORING)
        stage.behave("v1", canary=500)
        stage.behave("v2", canary=500)
        stage.until(second, State.NEEDS_ATTENTION)
        assert "roll_back" not in stage.events(second)


def test_a_canary_that_fails_once_and_then_passes_is_no_failure(stage: Stage) -> None:
    """Scenario 8: both rows are kept."""
    canary = {"path": "/canary", "interval_seconds": 1, "confirm_seconds": 0.5}
    with stage.supervised():
        second = stage.until(stage.deploy("v1", canary=canary), State.MONITORING)
        stage.behave("v1", canary=500)
        stage.eventually(
            lambda: any(each.status == "fail" for each in stage.samples(second, SignalKind.CANARY)), "one failure"
        )
        stage.behave("v1")
        stage.eventually(lambda: stage.samples(second, SignalKind.CANARY)[-1].status == "ok", "the next one passes")
        assert stage.now(second).state is State.MONITORING
        assert {each.status for each in stage.samples(second, SignalKind.CANARY)} == {"ok", "fail"}


def test_a_broken_target_is_not_returned_to(stage: Stage) -> None:
    """Scenario 21: stay where we are, say so."""
    with stage.supervised():
        _clean(stage, "v1", health={"deadline_seconds": 2})
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.behave("v1", exit=1)
        stage.behave("v2", canary=500, health=503)
        stage.until(second, State.ROLLBACK_FAILED)
        assert "v2 stays" in stage.why(second)
        assert stage.serves() == "v2"
        assert ("v2", State.ROLLBACK_FAILED) in [told[:2] for told in stage.told] or stage.eventually(
            lambda: ("v2", State.ROLLBACK_FAILED) in [told[:2] for told in stage.told], "a person is told"
        )


def test_a_bad_version_is_refused_unless_it_is_forced(stage: Stage) -> None:
    """Scenario 22, first half."""
    with stage.supervised():
        _clean(stage, "v1")
        stage.until(_bad(stage, "v2"), State.ROLLED_BACK)
        with pytest.raises(Refused, match=r"web v2 was marked bad.*--force"):
            stage.deploy("v2")
        stage.behave("v2")
        assert stage.until(stage.deploy("v2", forced=True), State.MONITORING)


def test_after_too_many_rollbacks_a_person_decides(stage: Stage) -> None:
    """Scenario 22, second half: k automatic rollbacks an hour, then frozen; the person may still roll back."""
    with stage.supervised():
        _clean(stage, "v1")
        stage.until(_bad(stage, "v2", rollback={"per_hour": 1}), State.ROLLED_BACK)
        third = _bad(stage, "v3", rollback={"per_hour": 1})
        stage.until(third, State.NEEDS_ATTENTION)
        assert "no more by itself" in stage.why(third) or "no more" in stage.story()
        assert stage.serves() == "v3"
        stage.ask(third, "rollback", why="it is bad")
        stage.until(third, State.ROLLED_BACK)
        assert stage.serves() == "v1"


def test_three_bad_versions_in_a_row_lead_back_to_the_last_clean_one(stage: Stage) -> None:
    """Scenario 23."""
    with stage.supervised():
        _clean(stage, "v1")
        for version in ("v2", "v3", "v4"):
            stage.until(_bad(stage, version, rollback={"per_hour": 10}), State.ROLLED_BACK)
            assert stage.serves() == "v1"


def test_the_last_clean_version_is_started_again_when_it_is_not_warm(stage: Stage) -> None:
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        third = _bad(stage, "v3")
        assert stage.until(second, State.SUPERSEDED)
        stage.until(third, State.ROLLED_BACK)
        assert stage.serves() == "v1"


def test_a_breach_rolls_back_also_while_a_person_is_waited_for(stage: Stage) -> None:
    """Scenario 25."""
    canary = {"path": "/canary", "interval_seconds": 1, "confirm_seconds": 0.2}
    with stage.supervised():
        _clean(stage, "v1", canary=canary)
        second = stage.until(stage.deploy("v2", canary=canary), State.MONITORING)
        stage.behave("v1", canary=500)
        stage.behave("v2", canary=500)
        stage.until(second, State.NEEDS_ATTENTION)
        stage.behave("v2", canary=500, health=503)
        stage.until(second, State.ROLLED_BACK)


def test_a_pause_does_not_keep_a_breach_from_rolling_back(stage: Stage) -> None:
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.ask(second, "pause")
        stage.behave("v2", health=503)
        stage.until(second, State.ROLLED_BACK)


def test_a_new_version_starts_with_fresh_counters(stage: Stage) -> None:
    """Scenario 26."""
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.eventually(lambda: stage.samples(first, SignalKind.HTTP), "v1 is probed")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.until(first, State.SUPERSEDED)
        assert stage.events(first)[-1] == "supersede"
        assert all(each.deployment_id == second.id for each in stage.samples(second, SignalKind.HTTP))


def test_a_schema_that_moved_keeps_a_rollback_from_happening_by_itself(stage: Stage) -> None:
    """Scenario 35."""
    schema = stage.folder / "schema"
    schema.write_text("41\n")
    rollback = {"schema_command": [sys.executable, "-c", f"print(open({str(schema)!r}).read())"]}
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2", rollback=rollback), State.MONITORING)
        schema.write_text("42\n")
        stage.behave("v2", health=503)
        stage.until(second, State.NEEDS_ATTENTION)
        assert "the schema moved from 41 to 42" in stage.story()
        assert stage.serves() == "v2"


def test_automatic_rollback_can_be_switched_off(stage: Stage) -> None:
    with stage.supervised():
        _clean(stage, "v1")
        second = _bad(stage, "v2", rollback={"automatic": False})
        stage.until(second, State.NEEDS_ATTENTION)
        assert stage.serves() == "v2"


def test_a_first_version_that_goes_bad_stays_for_there_is_no_other(stage: Stage) -> None:
    with stage.supervised():
        first = _bad(stage, "v1")
        stage.until(first, State.ROLLBACK_FAILED)
        assert "no clean version" in stage.why(first) or "no clean version" in stage.story()
        assert stage.serves() == "v1"


def test_hooks_are_run_and_told_why(stage: Stage) -> None:
    seen = stage.folder / "seen"
    script = f"import os; open({str(seen)!r}, 'a').write(os.environ['BUILD_EYE_VERSION'] + chr(10))"
    hook = [sys.executable, "-c", script]
    with stage.supervised():
        _clean(stage, "v1", hooks={"before_start": hook, "after_cutover": hook})
        assert seen.read_text().split() == ["v1", "v1"]
