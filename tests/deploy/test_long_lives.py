"""Supervisors that live long: nothing grows for ever, no trouble of one service or message holds up another."""

import asyncio
import gc
import os
import shutil
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from benchmarks.deploying.stage import TINY, Stage, free_port

from buildeye.deploy.asking import start
from buildeye.deploy.journal import open_journal
from buildeye.deploy.spec import spec_of
from buildeye.deploy.supervisor.errands import Errands
from buildeye.deploy.supervisor.leaving import _delete
from buildeye.deploy.supervisor.limits import kept_samples
from buildeye.deploy.supervisor.world import World
from buildeye.model.deployments import Deployment, ProcessRun, State


def _clean(stage: Stage, **sections: Any) -> Deployment:
    first = stage.until(stage.deploy("v1", **sections), State.MONITORING)
    stage.ask(first, "promote", why="good")
    return stage.until(first, State.MONITORING_WINDOW_CLEAN)


def test_a_command_that_vanished_is_told_and_started_when_it_is_back(stage: Stage) -> None:
    program = stage.folder / "program.py"
    shutil.copy(TINY, program)
    program.write_text(f"#!{sys.executable}\n{program.read_text()}")
    program.chmod(0o755)
    command = [str(program), str(stage.behaviour), "{version}"]
    process = {"restart_seconds": 0.1, "restart_most_seconds": 0.5}
    with stage.supervised():
        first = _clean(stage, command=command, process=process)
        program.rename(program.with_suffix(".away"))
        stage.behave("v1", exit=1)
        stage.eventually(lambda: any("does not start again" in said for said in stage.log), "it is said")
        stage.eventually(lambda: "unsteady" in stage.events(first), "people are told")
        assert any(str(program) in said for said in stage.log)
        stage.behave("v1")
        program.with_suffix(".away").rename(program)
        stage.eventually(lambda: first.id in stage.living(), "it lives again")
        assert stage.serves() == "v1"
        assert stage.events(first).count("unsteady") == 1


def test_messages_that_hang_keep_no_version_from_going_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """More messages under way than there are threads for them."""
    hung = threading.Event()

    def announce(_: Deployment, __: str) -> list[str]:
        hung.wait(60)
        return []

    monkeypatch.setattr(stage, "_announce", announce)
    with stage.supervised() as supervisor:
        try:
            _clean(stage)
            world: World = supervisor._world
            for _ in range(20):
                world.waiting_threads.submit(announce, stage.journal.deployments("web", 1)[0], "")
            second = stage.until(stage.deploy("v2"), State.MONITORING)
            stage.behave("v2", health=503)
            stage.until(second, State.ROLLED_BACK)
            assert stage.serves() == "v1"
        finally:
            hung.set()


def test_a_request_that_has_to_wait_holds_up_no_other_service(stage: Stage) -> None:
    with stage.supervised() as supervisor:
        first = _clean(stage)
        service, task = supervisor._services["web"]
        loop = task.get_loop()
        locked = asyncio.run_coroutine_threadsafe(service.switching.acquire(), loop)
        assert locked.result(60)
        stage.journal.ask("web", first.id, "stop", {}, "test", stage.clock.now())
        listen = {"port": free_port()}
        asked = start(stage.journal, stage.spec(service="other", listen=listen), "", "o1", stage.clock, "test")
        stage.until(asked, State.MONITORING)
        stage.ask(asked, "promote", why="good")
        assert stage.journal.requests({"web"}, 0), "the first one still waits"
        loop.call_soon_threadsafe(service.switching.release)
        stage.eventually(lambda: not stage.journal.requests({"web"}, 0), "it is answered")


def _run(deployment: Deployment, number: int, stage: Stage, days_ago: int = 0) -> ProcessRun:
    now = stage.clock.now()
    then = replace(now, wall=now.wall - timedelta(days=days_ago))
    return ProcessRun(deployment.id, number, f"n{number}", now.boot, started=then, ended=then, exit_code=1)


def test_old_samples_and_runs_are_forgotten_and_new_ones_are_not(stage: Stage) -> None:
    with stage.supervised():
        first = _clean(stage)
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.eventually(lambda: stage.journal.samples(second.id), "it is sampled")
    journal, now = stage.journal, stage.clock.now()
    for number in range(10, 14):
        journal.run_ended(None, _run(first, number, stage, days_ago=100))
    journal.run_ended(None, _run(first, 14, stage))
    journal.amend(None, first.id, closed=replace(now, wall=now.wall - timedelta(days=100)))
    kept = len(journal.samples(second.id))
    assert journal.samples(first.id)
    with stage.supervised():
        stage.eventually(lambda: not journal.samples(first.id), "the samples of v1 are forgotten")
        stage.eventually(lambda: [each.number for each in journal.runs(first.id)] == [1, 14], "its old runs too")
        assert len(journal.samples(second.id)) >= kept
        assert stage.events(first)


def test_runs_are_read_from_the_newest(stage: Stage) -> None:
    first = stage.deploy("v1")
    for number in range(1, 8):
        stage.journal.run_ended(None, _run(first, number, stage))
    assert [each.number for each in stage.journal.runs(first.id, 3)] == [5, 6, 7]
    assert [each.number for each in stage.journal.runs(first.id)] == list(range(1, 8))


def test_of_a_version_that_is_started_again_and_again_the_last_run_folders_stay(tmp_path: Path) -> None:
    version = tmp_path / "20261201-120000-abcdef"
    for number in range(1, 40):
        (version / f"run-{number}").mkdir(parents=True)
    _delete(tmp_path, frozenset({version.name}), [version.name], 2)
    assert {each.name for each in version.iterdir()} == {f"run-{number}" for number in range(20, 40)}


@pytest.mark.parametrize(
    ("sections", "least", "most"),
    [
        ({}, 120, 120),
        ({"rate": {"source": "endpoint", "url": "http://x/", "interval_seconds": 1}}, 600, 700),
        ({"health": {"interval_seconds": 1, "retry_seconds": 1, "window_minutes": 60}}, 3600, 4000),
        ({"health": {"interval_seconds": 1, "retry_seconds": 1}, "window": {"error_minutes": 500}}, 5000, 5000),
    ],
)
def test_as_many_samples_are_shown_as_the_windows_hold(sections: dict[str, Any], least: int, most: int) -> None:
    """Else a source that is down ten minutes would ask nobody, where it is read each second."""
    spec = spec_of({"service": "web", "command": ["x"], "listen": {"port": 1}, **sections})
    assert least <= kept_samples(spec) <= most


def test_a_trouble_that_goes_on_is_said_once_a_minute(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: moment[0])
    said: list[str] = []
    world = World(stage.journal, None, stage.clock, stage.run_root, os.environ, log=said.append)  # type: ignore[arg-type]
    for second in range(121):
        moment[0] = float(second)
        world.complain("the disk is full")
    world.complain("another")
    assert said == ["the disk is full"] * 3 + ["another"]
    monkeypatch.undo()
    world.close()


def test_work_that_is_ended_before_it_began_leaves_no_warning() -> None:
    async def work() -> None:
        await asyncio.sleep(10)

    async def main() -> None:
        errands = Errands("web", lambda: None, lambda _: None)
        errands.start("a", work())
        errands.start("a", work())
        await errands.end("a")
        errands.start("b", work())
        await errands.end_all()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())
        gc.collect()


def test_many_threads_may_open_a_new_journal_at_once(tmp_path: Path) -> None:
    dsns = [f"sqlite:///{tmp_path}/{number % 4}.sqlite" for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        for journal in pool.map(open_journal, dsns):
            assert journal.services() == []
            journal.close()


def test_an_error_nobody_foresaw_ends_no_supervision(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    with stage.supervised() as supervisor:
        _clean(stage)
        journal: Any = supervisor._world.journal
        real = journal.requests
        failures = iter(range(3))

        def requests(*args: Any) -> Any:
            if next(failures, None) is not None:
                raise ZeroDivisionError("unforeseen")
            return real(*args)

        monkeypatch.setattr(journal, "requests", requests)
        stage.eventually(lambda: any("ZeroDivisionError" in said for said in stage.log), "it is said")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.ask(second, "promote", why="good")
