"""PostgreSQL goes away and comes back under a running supervisor: nothing is lost, and all goes on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.model.deployments import SignalKind, State
from tests.deploy.postgres import Server, fresh_database, postgres_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server of this test alone, that it stops and starts."""
    with postgres_server(tmp_path) as server:
        yield server


@pytest.fixture
def kept(server: Server, tmp_path: Path) -> Iterator[Stage]:
    """A stage whose journal is in that server."""
    stage = Stage(tmp_path, fresh_database(server.dsn))
    try:
        yield stage
    finally:
        server.start()
        stage.end()


def test_a_watch_outlives_a_journal_that_goes_away(kept: Stage, server: Server) -> None:
    with kept.supervised():
        first = kept.until(kept.deploy("v1"), State.MONITORING)
        kept.ask(first, "promote", why="good")
        second = kept.until(kept.deploy("v2"), State.MONITORING)
        before = len(kept.samples(second, SignalKind.HTTP))
        server.stop()
        kept.eventually(lambda: any("cannot be used" in said for said in kept.log), "it is said")
        assert kept.serves() == "v2"
        server.start()
        kept.eventually(lambda: len(kept.samples(second, SignalKind.HTTP)) > before + 2, "it is watched again")
        assert kept.now(second).state is State.MONITORING
        kept.behave("v2", health=503)
        kept.until(second, State.ROLLED_BACK)
        assert kept.events(second).count("roll_back") == 1
        assert not [said for said in kept.log if "Traceback" in said or "Error:" in said], kept.log
        assert len(kept.log) == len(set(kept.log)), "the same trouble is said once"


def test_crashes_while_the_journal_is_away_are_counted(kept: Stage, server: Server) -> None:
    with kept.supervised():
        first = kept.until(kept.deploy("v1"), State.MONITORING)
        kept.ask(first, "promote", why="good")
        second = kept.until(kept.deploy("v2"), State.MONITORING)
        server.stop()
        kept.behave("v2", exit=7)
        kept.eventually(lambda: second.id not in kept.living(), "it has crashed")
        server.start()
        kept.until(second, State.ROLLED_BACK)
        run = kept.journal.runs(second.id)[0]
        assert (run.exit_code, run.expected) == (7, False)
        assert kept.serves() == "v1"
