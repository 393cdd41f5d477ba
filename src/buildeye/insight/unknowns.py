"""Failures that nobody could explain, by what they look like: where a rule or a person's word is worth most."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from buildeye.warehouse import Warehouse

COLUMNS: Final = (
    "name", "workflow", "signature", "failures", "branches", "first", "newest", "run_id", "job_id", "html_url",
    "summary", "look",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnknownFailure:
    """Failures of one job that look alike and have no known cause.

    `signature` is '' when the log said nothing known. `branches`: how many they were on. `run_id`, `job_id`, `html_url`
    and `summary` (of our diagnosis) are those of the newest, which ended at `newest` (aware, UTC).
    """

    name: str
    workflow: str
    signature: str
    failures: int
    branches: int
    first: datetime
    newest: datetime
    run_id: int
    job_id: int
    html_url: str = ""
    summary: str = ""

    @property
    def look(self) -> str:
        """The command that shows the lines of the log and what was weighed."""
        return f"build-eye explain {self.run_id} --job {self.job_id}"


def unknown_failures(
    warehouse: Warehouse, repository: str, since: datetime, until: datetime, limit: int = 20
) -> tuple[UnknownFailure, ...]:
    """The unexplained failures of `repository` (`owner/name`) that completed in a time, most first. One question.

    A person's word that names a cause explains a failure; one that was not judged yet is not among them.
    Raises what `Warehouse.ask` raises.
    """
    rows = warehouse.ask("unknown_failures", repository=repository, since=since, until=until, limit=limit)
    return tuple(
        UnknownFailure(
            row["name"], row["workflow_name"], row["signature"], row["failures"], row["branches"], row["first"],
            row["newest"], row["run_id"], row["id"], row["html_url"], row["summary"],
        )
        for row in rows
    )  # fmt: skip


def as_row(failure: UnknownFailure) -> dict[str, Any]:
    """An unexplained failure as JSON and CSV have it, by COLUMNS."""
    return {column: getattr(failure, column) for column in COLUMNS}
