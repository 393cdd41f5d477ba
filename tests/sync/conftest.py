"""One warehouse a worker, emptied before a test, and syncs of a simulated day into it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from buildeye.github import GitHub
from buildeye.github.wire import Backoff
from buildeye.logstore import open_log_store
from buildeye.pipeline.sync import Scope, Synced, sync
from buildeye.pipeline.sync.scope import Silence
from buildeye.simulator import Faults, Past, build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving
from buildeye.warehouse import Warehouse, open_warehouse
from tests.warehouse.conftest import empty

NOW = datetime(2026, 5, 28, 18, 0, tzinfo=UTC)
SINCE = NOW - timedelta(hours=24)
TOKEN = "ghp_" + "s" * 36

Rows = dict[str, list[str]]


@dataclass
class Day:
    """A place to sync into: one warehouse, one folder, and what was warned of."""

    warehouse: Warehouse
    folder: Path
    past: Past
    warned: list[str] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)

    def scope(self, github: GitHub, now: datetime = NOW, workflows: tuple[str, ...] = (), most: int = 5000) -> Scope:
        logs = open_log_store("", self.folder)
        return Scope(
            github, self.warehouse, logs, self.past.owner, self.past.name, "main", workflows, most, 365, 8, now,
            Silence(), self.warned.append,
        )  # fmt: skip

    def github(self, address: str, retries: int = 4, per_page: int = 20) -> GitHub:
        return GitHub(
            address, TOKEN, cache_dir=self.folder / "cache", retries=retries, per_page=per_page,
            backoff=Backoff(0, 0, 0), sleep=self.waited.append, clock=lambda: NOW,
        )  # fmt: skip

    def sync(
        self, app: Starlette, *, now: datetime = NOW, since: datetime = SINCE, retries: int = 4, **of: Any
    ) -> Synced:
        with serving(app) as address, self.github(address, retries) as github:
            return sync(self.scope(github, now, **of), since)

    def rows(self) -> Rows:
        """Everything the `_latest` views hold, but the versions they were chosen by."""
        found = self.warehouse.query(
            "SELECT database, name FROM system.tables WHERE name LIKE '%\\_latest' ORDER BY ALL"
        ).rows
        held = {}
        for database, name in found:
            answer = self.warehouse.query(f"SELECT * EXCEPT (_version) FROM {database}.{name}")
            held[f"{database}.{name}"] = sorted(map(repr, answer.rows))
        return held

    def logs(self) -> dict[str, bytes]:
        root = self.folder / "logs"
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture(scope="package")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('sync') / 'warehouse'}") as warehouse:
        yield warehouse


@pytest.fixture(scope="session")
def past() -> Past:
    """Some forty runs of one day."""
    return build_busy_day(3, NOW, 10)


@pytest.fixture
def day(opened: Warehouse, tmp_path: Path, past: Past) -> Day:
    empty(opened)
    return Day(opened, tmp_path, past)


def asked(app: Starlette) -> list[str]:
    """Paths the app was asked for, those of stored files apart."""
    return [path for path in ledger(app).paths if not path.startswith("/_stored/")]


def app_of(past: Past, faults: Faults | None = None) -> Starlette:
    return create_app(past, token=TOKEN, faults=faults, limit=10**9, clock=NOW.timestamp)
