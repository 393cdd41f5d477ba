"""Two supervisors on one journal: one acts. One that was frozen and wakes does nothing any more."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks.deploying.stage import PATIENCE, Stage

from buildeye.deploy.clock import Clock
from buildeye.deploy.states import Happening
from buildeye.model.deployments import Deployment, State
from tests.deploy.postgres import fresh_database

LEASE_SECONDS = 1.5
ROOT = Path(__file__).parents[2]
FROZEN_AT = [("planned", False), ("switching", False), ("before-roll_back", True)]
"""Boundaries at which a supervisor is frozen, and whether a version must go bad before."""
SELDOM_FROZEN_AT = [
    ("switched", False),
    ("in-service", False),
    ("after-anomaly", True),
    ("returned", True),
    ("stopping", True),
]
"""The same; only with the variable `EVERYWHERE` in the environment, for each takes ten seconds."""
EVERYWHERE = "BUILD_EYE_FREEZE_EVERYWHERE"


@dataclass
class Alone:
    """A supervisor as a process of its own, and what it has said."""

    process: "subprocess.Popen[bytes]"
    log: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def is_frozen(self) -> bool:
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def alone(stage: Stage, name: str, stops_at: str = "") -> Iterator[Alone]:
    """A supervisor of its own process, that stops itself at a boundary, if one is named."""
    log = stage.folder / f"{name}.log"
    command = [sys.executable, "-m", "benchmarks.deploying.alone", stage.dsn, str(stage.run_root), str(log)]
    more = [str(LEASE_SECONDS), *([stops_at] if stops_at else [])]
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    with (stage.folder / f"{name}.stderr").open("wb") as stderr:
        process = subprocess.Popen([*command, *more], env=os.environ | {"PYTHONPATH": path}, stderr=stderr)
    try:
        yield Alone(process, log)
    finally:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture
def served(tmp_path: Path, postgres: str) -> Iterator[tuple[Stage, Deployment]]:
    """A stage on PostgreSQL with v1 clean and in service, and no supervisor."""
    stage = Stage(tmp_path, fresh_database(postgres))
    try:
        with stage.supervised():
            first = stage.until(stage.deploy("v1"), State.MONITORING)
            stage.ask(first, "promote", why="good")
        yield stage, first
    finally:
        stage.end()


def test_two_supervisors_on_one_file_act_once(stage: Stage) -> None:
    """Scenario 18."""
    with stage.supervised() as one, stage.supervised() as other:
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote", why="good")
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        assert len(one.services) + len(other.services) == 1
        stage.behave("v2", health=503)
        stage.until(second, State.ROLLED_BACK)
        _went_back_once(stage, first, second)


def test_when_the_one_that_acts_ends_the_other_goes_on(stage: Stage) -> None:
    """Scenario 18."""
    with stage.supervised():
        with stage.supervised():
            pass
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote", why="good")


def test_a_frozen_supervisor_that_wakes_after_another_rolled_back_does_nothing(
    served: tuple[Stage, Deployment],
) -> None:
    """Scenario 18, on PostgreSQL: SIGSTOP while a version is watched, and SIGCONT when all is over."""
    stage, first = served
    with alone(stage, "one") as one:
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        with alone(stage, "other") as other:
            one.freeze()
            stage.behave("v2", health=503)
            stage.until(second, State.ROLLED_BACK)
            stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
            one.wake()
            stage.eventually(lambda: "lost its lease" in one.said() or "taken over" in one.said(), "it says so")
            third = stage.until(stage.deploy("v3"), State.MONITORING)
            assert stage.serves() == "v3"
            stage.ask(third, "rollback", why="enough")
            stage.until(third, State.ROLLED_BACK)
            _went_back_once(stage, first, second)
            assert "v3" not in one.said()
            assert "v2: rolled_back" in other.said()
            assert "never retrieved" not in (stage.folder / "one.stderr").read_text()


@pytest.mark.parametrize(("boundary", "goes_bad"), FROZEN_AT + (SELDOM_FROZEN_AT if EVERYWHERE in os.environ else []))
def test_wherever_it_is_frozen_the_one_that_wakes_changes_nothing(
    served: tuple[Stage, Deployment], boundary: str, goes_bad: bool
) -> None:
    """Scenario 18: frozen between two effects of a cutover or of a rollback, and woken after the other's rollback."""
    stage, first = served
    with alone(stage, "one", boundary) as one:
        stage.eventually(lambda: "supervised" in one.said(), "it supervises")
        with alone(stage, "other"):
            second = stage.deploy("v2")
            if goes_bad:
                stage.until(second, State.MONITORING)
                stage.behave("v2", health=503)
            stage.eventually(one.is_frozen, "it is frozen")
            stage.until(second, State.MONITORING, State.ROLLED_BACK)
            stage.behave("v2", health=503)
            stage.until(second, State.ROLLED_BACK)
            stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
            one.wake()
            stage.eventually(lambda: "lost its lease" in one.said() or "taken over" in one.said(), "it says so")
            _went_back_once(stage, first, second)


def test_a_supervisor_that_slept_through_no_take_over_goes_on(served: tuple[Stage, Deployment]) -> None:
    """Nobody else was there: its lease ran out, and it is still the one that acts."""
    stage, _ = served
    with alone(stage, "one") as one:
        second = stage.until(stage.deploy("v2"), State.MONITORING)
        one.freeze()
        stage.behave("v2", health=503)
        stage.eventually(lambda: stage.journal.held_by("web") is None, "the lease has run out")
        one.wake()
        stage.until(second, State.ROLLED_BACK)
        assert stage.serves() == "v1"


def test_a_late_word_of_an_old_supervisor_moves_nothing_that_is_over(stage: Stage) -> None:
    """Scenario 19: neither with its old fence, nor with the epoch it knew."""
    with stage.supervised():
        first = stage.until(stage.deploy("v1"), State.MONITORING)
        stage.ask(first, "promote", why="good")
        watched = stage.until(stage.deploy("v2"), State.MONITORING)
        stage.behave("v2", health=503)
        over = stage.until(watched, State.ROLLED_BACK)
        for happening in (Happening.CLEAN, Happening.ANOMALY, Happening.RESUME, Happening.SUPERSEDE):
            for epoch in (watched.epoch, over.epoch):
                assert stage.journal.move(None, watched.id, epoch, happening, Clock().now()) is None
        assert stage.now(watched).state is State.ROLLED_BACK
        assert stage.events(watched).count("anomaly") == 1


def _went_back_once(stage: Stage, first: Deployment, second: Deployment) -> None:
    """One rollback, by one supervisor; v1 answers, and nothing but it lives."""
    happened = Counter(stage.events(second))
    assert (happened["switched"], happened["roll_back"], happened["returned"]) == (1, 1, 1), stage.story()
    stage.eventually(lambda: stage.living() == [first.id], "only v1 lives")
    stage.eventually(lambda: stage.serves() == "v1", "v1 serves")
    row = stage.journal.service("web")
    assert row is not None
    assert row.in_service == first.id
