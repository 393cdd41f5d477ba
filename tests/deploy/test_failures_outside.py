"""What fails around a supervisor: the disk, the journal, an address, a variable, a hook; and orders nobody foresaw."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.deploy.processes.orphans import find
from buildeye.model.deployments import Deployment, State

SLOW_HOOK = [sys.executable, "-c", "import time; time.sleep(60)"]
BROKEN_HOOK = [sys.executable, "-c", "raise SystemExit('the hook is broken')"]


def _clean(stage: Stage, version: str, **sections: Any) -> Deployment:
    deployment = stage.until(stage.deploy(version, **sections), State.MONITORING)
    stage.ask(deployment, "promote", why="good")
    return stage.until(deployment, State.MONITORING_WINDOW_CLEAN)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("a small disk cannot be mounted here (needs root)")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_on_a_full_disk_no_version_is_started_and_the_old_one_serves(stage: Stage, small_disk: Path) -> None:
    stage.run_root = small_disk / "run"
    with stage.supervised():
        _clean(stage, "v1")
        filled = small_disk / "filled"
        with filled.open("wb") as file, pytest.raises(OSError, match="No space"):
            while True:
                os.write(file.fileno(), b"x" * 4096)
        second = stage.until(stage.deploy("v2"), State.HEALTH_FAILED)
        assert "space" in stage.why(second)
        assert stage.serves() == "v1"
        filled.unlink()
        assert stage.until(stage.deploy("v3"), State.MONITORING)


def test_an_address_that_cannot_be_had_fails_the_candidate_and_the_supervisor_lives(stage: Stage) -> None:
    listen = {"port": stage.port, "host": "192.0.2.1"}
    with stage.supervised():
        first = stage.until(stage.deploy("v1", listen=listen), State.HEALTH_FAILED)
        assert "192.0.2.1 is no address of this machine" in stage.why(first)
        assert stage.until(stage.deploy("v1", forced=True), State.MONITORING)


def test_a_variable_that_is_not_set_fails_the_candidate_and_is_named(stage: Stage) -> None:
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2", environment={"TOKEN": "${NOWHERE_SET}"}), State.HEALTH_FAILED)
        assert "NOWHERE_SET" in stage.why(second)
        assert stage.serves() == "v1"


def test_a_hook_that_fails_before_the_cutover_stops_it(stage: Stage) -> None:
    with stage.supervised():
        _clean(stage, "v1")
        for version, hook in (("v2", "before_start"), ("v3", "before_cutover")):
            failed = stage.until(stage.deploy(version, hooks={hook: BROKEN_HOOK}), State.HEALTH_FAILED)
            assert "the hook is broken" in stage.why(failed)
        assert stage.serves() == "v1"


def test_hooks_that_hang_or_fail_do_not_keep_a_bad_version_in_service(stage: Stage) -> None:
    hooks = {"after_cutover": SLOW_HOOK, "on_anomaly": SLOW_HOOK, "after_rollback": BROKEN_HOOK, "timeout_seconds": 0.5}
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2", hooks=hooks), State.MONITORING)
        stage.behave("v2", health=503)
        stage.until(second, State.ROLLED_BACK)
        stage.eventually(lambda: stage.events(second).count("hook") == 3, "each failed hook is noted")


def test_a_second_start_while_a_rollback_runs_waits_for_it(stage: Stage) -> None:
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.ask(second, "rollback", why="bad")
        third = stage.until(stage.deploy("v3"), State.MONITORING)
        assert stage.now(second).state is State.ROLLED_BACK
        assert stage.serves() == "v3"
        assert stage.now(third).previous != second.id


def test_a_candidate_that_is_replaced_while_it_starts_leaves_no_process(stage: Stage) -> None:
    with stage.supervised():
        first = _clean(stage, "v1")
        for number in range(2, 6):
            last = stage.deploy(f"v{number}")
        stage.until(last, State.MONITORING)
        stage.eventually(lambda: stage.living() == sorted([first.id, last.id]), "nothing else lives")


@pytest.mark.parametrize("state", [State.READY, State.MONITORING, State.NEEDS_ATTENTION, State.MONITORING_WINDOW_CLEAN])
def test_the_old_version_dies_while_no_supervisor_is_there(stage: Stage, state: State) -> None:
    """It is started again when it serves, and when it is returned to."""
    with stage.supervised():
        first = _clean(stage, "v1")
        promote = "manual" if state is State.READY else "automatic"
        asked = stage.deploy("v2", rollback={"automatic": False}, promote=promote)
        second = stage.until(asked, State.READY if promote == "manual" else State.MONITORING)
        if state is State.NEEDS_ATTENTION:
            stage.behave("v2", health=503)
            stage.until(second, state)
        if state is State.MONITORING_WINDOW_CLEAN:
            stage.ask(second, "promote", why="good")
    for each in find(stage.run_root):
        if not each.keeper and each.run_folder.parent.name == first.id:
            os.kill(each.identity.pid, signal.SIGKILL)
    with stage.supervised():
        if state is State.NEEDS_ATTENTION:
            stage.ask(second, "rollback", why="bad")
            stage.until(second, State.ROLLED_BACK)
        serves = "v1" if state in (State.READY, State.NEEDS_ATTENTION) else "v2"
        stage.eventually(lambda: stage.serves() == serves, f"{serves} serves")


def test_what_an_aborted_deployment_left_is_ended_by_its_identity(stage: Stage) -> None:
    """Scenario 34: aborted, and its supervisor was gone before it could stop the process."""
    with stage.supervised():
        first = _clean(stage, "v1")
        second = stage.until(stage.deploy("v2", promote="manual"), State.READY)
    stage.journal.ask("web", second.id, "abort", {"why": "wrong"}, "test", stage.clock.now())
    with stage.supervised():
        stage.until(second, State.ABORTED)
        stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
        third = stage.until(stage.deploy("v3"), State.MONITORING)
        assert third.slot is not None


def test_aborted_in_the_midst_of_its_cutover_it_goes_back(stage: Stage) -> None:
    with stage.supervised():
        first = _clean(stage, "v1")
    asked: list[int] = []

    def abort(name: str) -> None:
        if name == "switching" and not asked:
            second = stage.journal.deployments("web", 1)[0]
            asked.append(stage.journal.ask("web", second.id, "abort", {}, "test", stage.clock.now()))

    with stage.supervised(boundary=abort):
        second = stage.deploy("v2")
        stage.until(second, State.ROLLED_BACK)
        assert stage.serves() == "v1"
        stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
