"""One warehouse for all tests of this folder, emptied before each; and pull requests of a simulated repository."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from starlette.applications import Starlette

from buildeye.config import Settings
from buildeye.github import GitHub
from buildeye.github.wire import Backoff
from buildeye.model import Cause, Finding, PullRequest, PullRequestFinding
from buildeye.pipeline.comment import Told, tell_pull_request
from buildeye.simulator import Faults, Past, build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.posts import Board
from buildeye.simulator.server import ledger, serving
from buildeye.warehouse import Warehouse, open_warehouse
from tests.reports.comment_samples import pull_request_finding
from tests.reports.conftest import make_finding, make_job
from tests.warehouse.conftest import empty

NOW = datetime(2026, 5, 28, 18, 0, tzinfo=UTC)


@pytest.fixture(scope="package")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('comment') / 'warehouse'}") as warehouse:
        yield warehouse


@pytest.fixture
def warehouse(opened: Warehouse) -> Warehouse:
    empty(opened)
    return opened


@pytest.fixture(scope="session")
def past() -> Past:
    """Some runs of one day."""
    return build_busy_day(3, NOW, 6)


@dataclass
class Page:
    """The page of one pull request on a simulated GitHub, and a client that writes there."""

    past: Past
    app: Starlette
    github: GitHub
    warned: list[str] = field(default_factory=list)

    @property
    def board(self) -> Board:
        board = self.app.state.board
        assert isinstance(board, Board)
        return board

    @property
    def pull(self) -> PullRequest:
        return self.past.pulls[-1]

    @property
    def writes(self) -> list[str]:
        """What was written, without the repository."""
        return [write.replace(f"/repos/{self.past.full_name}", "") for write in ledger(self.app).writes]

    def bodies(self) -> list[str]:
        """The comments on the pull request, oldest first."""
        return [post.body for post in self.board.comments_on(self.pull.number)]

    def finding(self, *failed: Finding, passed: int = 3, pending: int = 0) -> PullRequestFinding:
        """What is to be told of it."""
        found = pull_request_finding(*failed, passed=passed, pending=pending, pull=self.pull, head=self.pull.head_sha)
        return replace(found, runs=tuple(replace(run, pull_request=self.pull) for run in found.runs))

    def tell(self, finding: PullRequestFinding, *, check: bool = True, dry_run: bool = False, app_id: int = 0) -> Told:
        target = {"owner": self.past.owner, "repo": self.past.name}
        app = {"app_id": app_id, "installation_id": 1, "key_file": "key.pem"} if app_id else {}
        settings = Settings.model_validate({"target_repository": target, "github_app": app})
        posting = self.github.posting(self.past.owner, self.past.name)
        return tell_pull_request(posting, settings, finding, check=check, dry_run=dry_run, warn=self.warned.append)


@pytest.fixture
def page_of(past: Past) -> Iterator[Any]:
    """Start a simulated GitHub with faults, or whose token tells no owner, and give the page of a pull request."""
    with ExitStack() as stack:

        def begin(faults: Faults | None = None, login: str = "octo-reader", retries: int = 3) -> Page:
            app = create_app(past, faults=faults, login=login, limit=10**9, clock=NOW.timestamp)
            address = stack.enter_context(serving(app))
            github = GitHub(
                address, "ghp_" + "t" * 36, cache_dir=None, retries=retries, per_page=5, backoff=Backoff(0, 0, 0),
                sleep=lambda _: None, clock=lambda: NOW,
            )  # fmt: skip
            return Page(past, app, stack.enter_context(github))

        yield begin


@pytest.fixture
def page(page_of: Any) -> Page:
    """The page of a pull request on a GitHub without faults."""
    started = page_of()
    assert isinstance(started, Page)
    return started


def red(cause: Cause = Cause.CODE, name: str = "unit tests", summary: str = "One test fails.") -> Finding:
    """A failed run with one failed job."""
    return make_finding(make_job(name, cause=cause, category="test-failure", summary=summary, confidence=0.95))
