"""The profile `classic` under a running supervisor: a pass each five minutes over the application's own tables."""

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.deploy.classic.tables import APPLICATION_TABLES
from buildeye.deploy.clock import Clock
from buildeye.model.deployments import Deployment, SignalKind, SignalStatus, State

PATIENT = {"timeout_seconds": 300, "deadline_seconds": 3000}
"""Probes that a slow machine does not fail, though the clock runs fast."""
PASS_SECONDS = 300.0


class Application:
    """The tables that the service keeps of its own tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._count = 0
        with closing(sqlite3.connect(path)) as tables:
            for statement in APPLICATION_TABLES:
                tables.execute(statement)

    def add(self, approved: int, rejected: int = 0, begun: int = 0, before: bool = False) -> None:
        """Tasks of now, or of an hour ago: validated ones, and ones only begun."""
        at = "datetime('now', '-1 hour')" if before else "datetime('now')"
        with closing(sqlite3.connect(self.path)) as tables, tables:
            for number in range(approved + rejected + begun):
                self._count += 1
                task = f"t{self._count}"
                tables.execute(f"INSERT INTO task VALUES (?, 'p', {at})", (task,))
                if number < approved + rejected:
                    row = (task, '{"to_status": "validating"}')
                    tables.execute(
                        f"INSERT INTO execution_event VALUES ('p', ?, 'task_status_changed', ?, {at})",
                        row,
                    )
                if approved <= number < approved + rejected:
                    tables.execute(f"INSERT INTO bug_record VALUES (?, 'validator', {at})", (task,))

    def sections(self) -> dict[str, Any]:
        """A deploy.yaml that reads these tables."""
        rate = {"source": "tables", "dsn": f"sqlite:///{self.path}", "project": "p"}
        health = PATIENT | {"interval_seconds": PASS_SECONDS, "retry_seconds": 10}
        return {"profile": "classic", "rate": rate, "health": health, "process": {"restart_seconds": 100}}


@pytest.fixture
def application(tmp_path: Path) -> Application:
    return Application(tmp_path / "application.sqlite")


@pytest.fixture
def fast(stage: Stage) -> Stage:
    """A stage on which five minutes pass in a second."""
    stage.clock = Clock(speed=300)
    return stage


def _serving(stage: Stage, version: str, application: Application) -> Deployment:
    return stage.until(stage.deploy(version, **application.sections()), State.MONITORING)


def _clean(stage: Stage, application: Application) -> Deployment:
    first = _serving(stage, "v1", application)
    stage.ask(first, "promote", why="good")
    return stage.until(first, State.MONITORING_WINDOW_CLEAN)


def test_a_pass_each_five_minutes_and_clean_after_ten_tasks(fast: Stage, application: Application) -> None:
    application.add(approved=9, rejected=1, before=True)
    with fast.supervised():
        first = _serving(fast, "v1", application)
        fast.eventually(lambda: len(fast.samples(first, SignalKind.RATE)) >= 3, "three passes")
        at = [each.at.ticks for each in fast.samples(first, SignalKind.PROCESS)]
        assert all(later - earlier >= PASS_SECONDS - 1 for earlier, later in pairwise(at)), at
    with fast.supervised():  # another one goes on in the same rhythm
        application.add(approved=0, begun=9)
        seen = len(fast.samples(first, SignalKind.RATE))
        fast.eventually(lambda: len(fast.samples(first, SignalKind.RATE)) > seen + 1, "two more passes")
        assert fast.now(first).state is State.MONITORING
        application.add(approved=0, begun=1)
        fast.until(first, State.MONITORING_WINDOW_CLEAN)
        assert fast.serves() == "v1"


def test_a_rate_that_falls_too_far_rolls_back(fast: Stage, application: Application) -> None:
    application.add(approved=9, rejected=1, before=True)
    with fast.supervised():
        _clean(fast, application)
        second = _serving(fast, "v2", application)
        application.add(approved=1, rejected=3)
        fast.until(second, State.ROLLED_BACK)
        last = fast.samples(second, SignalKind.RATE)[-1]
        assert last.status is SignalStatus.FAIL
        assert "rate=0.25 n=4 baseline=0.90" in last.detail
        assert fast.serves() == "v1"


def test_three_failed_probes_in_a_row_roll_back_and_two_do_not(fast: Stage, application: Application) -> None:
    with fast.supervised():
        _clean(fast, application)
        second = _serving(fast, "v2", application)
        fast.behave("v2", health=503)
        fast.until(second, State.ROLLED_BACK)
        probes = [each.status for each in fast.samples(second, SignalKind.HTTP)]
        assert probes[-3:] == [SignalStatus.FAIL] * 3
        assert SignalStatus.FAIL not in probes[:-3]
        assert fast.serves() == "v1"


def test_tables_that_cannot_be_read_decide_nothing(fast: Stage, application: Application) -> None:
    with fast.supervised():
        first = _serving(fast, "v1", application)
        application.path.rename(application.path.with_suffix(".away"))
        fast.eventually(lambda: any("cannot be read" in said for said in fast.log), "it is said")
        assert fast.now(first).state is State.MONITORING
        application.path.with_suffix(".away").rename(application.path)
        application.add(approved=10)
        fast.until(first, State.MONITORING_WINDOW_CLEAN)
