"""What a sync is about, how far its streams have been read, and how it tells what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from buildeye.config import Settings
from buildeye.github.client import GitHub
from buildeye.github.incidents import StatusPage
from buildeye.logstore import LogStore
from buildeye.warehouse import SyncCursor, Warehouse

GIVE_UP = 20  # things in a row that GitHub does not give: then it gives none
CLOCKS = timedelta(days=1)  # GitHub's clock may be so far ahead of ours: what is newest is never left out


class Progress(Protocol):
    """How a long stage tells how far it is."""

    def start(self, what: str, total: int) -> Callable[[int], None]:
        """Begin a stage of `total` steps; the returned function is called with the steps just done."""
        ...


class Silence:
    """Progress that is not told."""

    def start(self, what: str, total: int) -> Callable[[int], None]:
        """Begin a stage nobody hears of."""
        del what, total
        return lambda _: None


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when runs are looked at, by the time they were created; both ends included."""

    since: datetime
    until: datetime


@dataclass(frozen=True)
class Scope:
    """Whose facts are brought from where to where.

    At most `max_runs` runs a pass; logs are kept for `keep_days`; `width` requests are made at once; `now` stamps what
    is written. Without a `status` page nobody is asked for GitHub's incidents.
    """

    github: GitHub
    warehouse: Warehouse
    logs: LogStore
    owner: str
    repo: str
    branch: str
    workflows: tuple[str, ...]
    max_runs: int
    keep_days: int
    width: int
    now: datetime
    progress: Progress
    warn: Callable[[str], None]
    status: StatusPage | None = None

    @classmethod
    def of(
        cls,
        github: GitHub,
        warehouse: Warehouse,
        logs: LogStore,
        settings: Settings,
        now: datetime,
        progress: Progress,
        warn: Callable[[str], None],
    ) -> "Scope":
        """The scope that the settings describe."""
        target = settings.target_repository
        return cls(
            github, warehouse, logs, target.owner, target.repo, target.branch, settings.workflows,
            settings.monitoring.max_runs, settings.storage.retention_days, settings.api.concurrency,
            now.astimezone(UTC), progress, warn, StatusPage.of(settings),
        )  # fmt: skip

    @property
    def repository(self) -> str:
        """`owner/name`."""
        return f"{self.owner}/{self.repo}"

    def cursors(self) -> Mapping[str, SyncCursor]:
        """How far each stream has been read, by its name."""
        rows = self.warehouse.ask("sync_cursors", repository=self.repository)
        return {
            row["stream"]: SyncCursor(
                self.repository, row["stream"], row["since"], row["reached"], row["seen"], self.now
            )
            for row in rows
        }  # fmt: skip

    def move(self, before: SyncCursor | None, stream: str, since: datetime, reached: datetime, seen: str) -> None:
        """Save how far a stream has been read, if that is further than `before`; what was read must be written."""
        moved = SyncCursor(self.repository, stream, since, reached, seen, self.now)
        if moved != before:
            self.warehouse.write_sync_cursors([moved])
