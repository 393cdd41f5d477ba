"""Which tables may be asked, which of them cover several repositories, and which are huge."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from buildeye.ask.guard.lexing import words

Name = tuple[str, str]
"""Database and table."""

_FACTS: Final = ("workflow_run", "workflow_job", "push", "pull_request")
_OWN: Final = (
    "check_run",
    "diagnosis",
    "incident",
    "job_baseline",
    "job_environment",
    "log",
    "person_verdict",
    "sync_cursor",
    "synced_run",
    "test_artifact",
    "verdict",
    "verdict_change",
)


def _with_latest(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(names) | {f"{name}_latest" for name in names}


SYSTEM_TABLES: Final[Mapping[str, frozenset[str]]] = {
    "system": words(
        "columns contributors data_type_families databases formats functions keywords licenses numbers one "
        "table_engines table_functions tables time_zones zeros"
    ),
    "information_schema": frozenset({"columns", "schemata", "tables"}),
    "INFORMATION_SCHEMA": frozenset({"COLUMNS", "SCHEMATA", "TABLES", "columns", "schemata", "tables"}),
}
"""Tables of the engine that tell names and types, and nothing of users, queries, settings, disks or other servers."""

TEST_RUNS: Final = frozenset({("tests", "all_test_runs"), ("tests", "all_test_runs_latest")})
"""The huge ones: a query needs a time bound and an equality."""

PARTIAL: Final = frozenset({("tests", "test_run_s3")})
"""PyTorch's table that holds only part of the test runs."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that exist: names by database. `several_repositories` of them want `repository_full_name` in a query.

    For a server with more tables than ours, give the names of its own `system.tables`. In the embedded engine a name
    that is no table is a file of the working folder, so a name that is not listed is refused.
    """

    names: Mapping[str, frozenset[str]]
    several_repositories: frozenset[Name] = field(default_factory=frozenset)
    default_database: str = "default"

    def has(self, name: Name) -> bool:
        """Whether a query may read the table."""
        return name[1] in self.names.get(name[0], ()) or name[1] in SYSTEM_TABLES.get(name[0], ())


OURS: Final = Tables(
    names={
        "default": _with_latest(_FACTS),
        "tests": _with_latest(("all_test_runs",)),
        "buildeye": _with_latest(_OWN) | {"schema_version"},
    },
    several_repositories=frozenset(("default", name) for name in _with_latest(_FACTS)),
)
"""The warehouse's own tables, as `warehouse/schema` makes them."""
