"""What tests of deployments share: a stage of their own, and the two stores of the journal, a file and a PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.deploying.stage import Stage

from buildeye.deploy.journal import Journal, open_journal
from tests.deploy.postgres import fresh_database, running_postgres


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A service to deploy; everything it started ends with it."""
    stage = Stage(tmp_path)
    try:
        yield stage
    finally:
        stage.end()


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_postgres(tmp_path_factory.mktemp("postgres")) as dsn:
        yield dsn


@pytest.fixture(params=["sqlite", "postgres"])
def dsn(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/journal.sqlite"
    return fresh_database(request.getfixturevalue("postgres"))


@pytest.fixture
def opened() -> Iterator[Callable[[str], Journal]]:
    """Opens journals that the test closes."""
    journals: list[Journal] = []

    def opening(dsn: str) -> Journal:
        journals.append(open_journal(dsn))
        return journals[-1]

    yield opening
    for journal in journals:
        journal.close()


@pytest.fixture
def journal(dsn: str, opened: Callable[[str], Journal]) -> Journal:
    """An open, empty journal."""
    return opened(dsn)
