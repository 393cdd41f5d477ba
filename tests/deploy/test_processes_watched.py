"""Processes under a running supervisor: every exit is counted; time that jumps and torn files do no harm."""

import contextlib
import http.client
import os
import signal
import threading
import time
from functools import partial
from typing import Any

from benchmarks.deploying.stage import Stage

from buildeye.deploy.clock import Clock
from buildeye.deploy.processes.orphans import find
from buildeye.model.deployments import Deployment, SignalKind, State

SELDOM = {"interval_seconds": 3000, "timeout_seconds": 300, "deadline_seconds": 1000}
"""Probes that come long after everything that a test looks at."""


def _clean(stage: Stage, version: str, **sections: Any) -> Deployment:
    deployment = stage.until(stage.deploy(version, **sections), State.MONITORING)
    stage.ask(deployment, "promote", why="good")
    return stage.until(deployment, State.MONITORING_WINDOW_CLEAN)


def _pids(stage: Stage, deployment: Deployment) -> list[int]:
    found = [each for each in find(stage.run_root) if not each.keeper]
    return [each.identity.pid for each in found if each.run_folder.parent.name == deployment.id]


def _kill(stage: Stage, deployment: Deployment) -> None:
    """Kill the process of a version, and wait until its end is noticed and another one lives."""
    before = _pids(stage, deployment)
    number = len(stage.journal.runs(deployment.id))
    os.kill(before[0], signal.SIGKILL)
    stage.eventually(lambda: stage.journal.runs(deployment.id)[number - 1].ended, "its end is noticed")


def _is_past(stage: Stage, ticks: float) -> bool:
    return stage.clock.ticks() > ticks


def _has_probes(stage: Stage, deployment: Deployment, count: int) -> bool:
    return len(stage.samples(deployment, SignalKind.HTTP)) >= count


def test_a_crash_loop_slower_than_the_window_is_rolled_back(stage: Stage) -> None:
    """Scenario 12: never two in the short window, but three in the long one."""
    stage.clock = Clock(speed=100)
    process = {"restart_seconds": 1, "window_seconds": 10, "slow_exits": 3, "slow_hours": 6}
    with stage.supervised():
        _clean(stage, "v1", health=SELDOM)
        second = stage.until(stage.deploy("v2", health=SELDOM, process=process), State.MONITORING)
        for count in range(3):
            stage.eventually(lambda: _pids(stage, second), "it lives")
            moment = stage.clock.ticks()
            stage.eventually(partial(_is_past, stage, moment + 20), "the short window has passed")
            _kill(stage, second)
            assert count < 2 or stage.until(second, State.ROLLED_BACK)
        assert "3 times" in stage.story()
        assert stage.serves() == "v1"


def test_a_crash_and_restart_between_two_samples_are_counted(stage: Stage) -> None:
    """Scenarios 13 and 14: no probe is due, and still two exits in the window roll back; one does not."""
    stage.clock = Clock(speed=10)
    with stage.supervised():
        _clean(stage, "v1", health=SELDOM)
        second = stage.until(stage.deploy("v2", health=SELDOM), State.MONITORING)
        stage.eventually(lambda: _has_probes(stage, second, 1), "the first probe is made")
        _kill(stage, second)
        stage.eventually(lambda: _pids(stage, second), "it is started again")
        assert stage.now(second).state is State.MONITORING
        assert stage.serves() == "v2"
        probes = len(stage.samples(second, SignalKind.HTTP))
        _kill(stage, second)
        stage.until(second, State.ROLLED_BACK)
        assert len(stage.samples(second, SignalKind.HTTP)) == probes
        assert stage.serves() == "v1"


def test_a_request_waits_for_the_process_that_is_started_again(stage: Stage) -> None:
    """Scenario 16: a process that was killed is dead, and who asks meanwhile is answered by the next one."""
    with stage.supervised():
        first = _clean(stage, "v1", process={"restart_seconds": 0.5})
        os.kill(_pids(stage, first)[0], signal.SIGKILL)
        assert stage.serves() == "v1"
        assert stage.journal.runs(first.id)[0].exit_code == -signal.SIGKILL


def test_wall_time_that_jumps_opens_and_closes_nothing(stage: Stage) -> None:
    """Scenario 20: an hour back, a day forth; the window of 24 h goes by ticks."""
    jump = 0.0
    stage.clock = Clock(wall=lambda: time.time() + jump)
    with stage.supervised():
        _clean(stage, "v1")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        for jump in (-3600.0, 86_400.0, 3 * 86_400.0):  # noqa: B007 - the clock above reads it
            enough = len(stage.samples(second, SignalKind.HTTP)) + 2
            stage.eventually(partial(_has_probes, stage, second, enough), "it is probed on")
            assert stage.now(second).state is State.MONITORING
        stage.behave("v2", health=503)
        stage.until(second, State.ROLLED_BACK)


def test_a_torn_state_file_is_no_harm_to_a_supervisor_that_starts_anew(stage: Stage) -> None:
    """Scenario 29: the process goes on serving, is found again, and can still be rolled back from."""
    with stage.supervised():
        first = _clean(stage, "v1")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
    for name in ("process.json", "route.json"):
        for path in stage.run_root.rglob(name):
            path.write_bytes(path.read_bytes()[:20])
    with stage.supervised():
        stage.behave("v2", health=503)
        stage.until(second, State.ROLLED_BACK)
        assert stage.serves() == "v1"
        stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")


def test_a_long_request_is_finished_and_a_longer_one_cut_in_the_drain(stage: Stage) -> None:
    """Scenario 33."""
    answers: dict[str, bytes] = {}

    def ask(seconds: str) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", stage.port, timeout=60)
            connection.request("GET", f"/work?s={seconds}")
            answers[seconds] = connection.getresponse().read()

    drain = {"seconds": 4}
    with stage.supervised():
        _clean(stage, "v1", drain=drain)
        asking = [threading.Thread(target=ask, args=(each,)) for each in ("3", "50")]
        for each in asking:
            each.start()
        second = stage.until(stage.deploy("v2", drain=drain), State.MONITORING)
        stage.eventually(lambda: "drained" in stage.events(second), "it is drained")
        for each in asking:
            each.join(60)
        told = next(each for each in stage.journal.events(second.id) if each.event == "drained")
        assert answers == {"3": b"v1"}
        assert told.numbers["cut"] == 1
