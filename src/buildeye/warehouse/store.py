"""Writing facts and asking questions: one INSERT a batch, one file a saved question.

A write that returned is on disk. Writing is idempotent: the same facts twice, in any order, or half of them and then
all leave the same rows in the `_latest` views.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import resources
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from buildeye.model import (
    CaseRun,
    CheckRun,
    Incident,
    Job,
    PersonVerdict,
    PullRequest,
    Push,
    Run,
    UsageError,
    Verdict,
    VerdictChange,
)
from buildeye.warehouse import caserows, rows, statements
from buildeye.warehouse.failures import outside_failures, question_failures
from buildeye.warehouse.records import Baseline, JobDiagnosis, JobEnvironment, KeptLog, SyncCursor, SyncedRun
from buildeye.warehouse.rows import Prepared

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

Item = TypeVar("Item")
BATCH_ROWS: Final = 5_000
_ZONE: Final = "UTC"
_PARAMETER: Final = re.compile(r"\{\s*(\w+)\s*:")


@dataclass(frozen=True, slots=True)
class Result:
    """What a query answers: column names, their ClickHouse types, and the rows; times are aware, in UTC."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


class Warehouse:
    """An open warehouse; close it, or use it in `with`. `place` names it in messages, without a password.

    `engine` is what `Readers` open to read beside it, None when it is no embedded one.
    Several threads may use one; what they ask is done one after the other.

    Writes raise OutsideError when the store fails, and nothing may be assumed of that batch: write it again.
    """

    def __init__(self, client: "Client", place: str, engine: str | None = None) -> None:
        self._client = _OneAtATime(client)
        self.place = place
        self.engine = engine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder or the server; the second time does nothing."""
        self._client.close()

    def write_runs(self, runs: Sequence[Run]) -> None:
        """Keep what is known of runs; a newer attempt beats an older one, a later state an earlier one."""
        self._write(rows.RUNS, runs)

    def write_jobs(self, jobs: Sequence[Job]) -> None:
        """Keep what is known of jobs; a later state beats an earlier one."""
        self.write_prepared(rows.JOBS.prepare(jobs))

    def write_prepared(self, prepared: Prepared) -> None:
        """Write rows that were made ready elsewhere, as the method for their table would."""
        for values in _batches(prepared.values):
            with outside_failures(self.place):
                self._client.insert(prepared.table, values, column_names=prepared.columns)
        if prepared.table == rows.JOBS.name:
            named = [dict(zip(prepared.columns, values, strict=True)) for values in prepared.values]
            ended = [job for job in named if job["status"] == "completed"]
            self._carry_diagnoses({(job["repository_full_name"], job["id"]) for job in ended})

    def write_pull_requests(self, pulls: Sequence[PullRequest]) -> None:
        """Keep what is known of pull requests; the later `updated_at` wins."""
        self._write(rows.PULL_REQUESTS, pulls)

    def write_pushes(self, pushes: Sequence[Push]) -> None:
        """Keep pushes, one row a branch and commit."""
        self._write(rows.PUSHES, pushes)

    def write_check_runs(self, checks: Sequence[CheckRun]) -> None:
        """Keep what is known of checks; a later state beats an earlier one."""
        self._write(rows.CHECK_RUNS, checks)

    def write_diagnoses(self, diagnoses: Sequence[JobDiagnosis]) -> None:
        """Keep diagnoses, one row a job, and show them in `default.workflow_job.torchci_classification`."""
        self._write(rows.DIAGNOSES, diagnoses)
        self._carry_diagnoses({(each.repository_full_name, each.job_id) for each in diagnoses})

    def write_verdicts(self, verdicts: Sequence[Verdict], repository: str) -> None:
        """Keep verdicts on jobs of `repository` (`owner/name`), one row a job; the later `judged_at` wins."""
        self._write(rows.verdicts(repository), verdicts)

    def write_person_verdicts(self, said: Sequence[PersonVerdict]) -> None:
        """Keep what people said, one row a job or whole run; the later `said_at` wins, also over one taken back."""
        self._write(rows.PERSON_VERDICTS, said)

    def write_verdict_changes(self, changes: Sequence[VerdictChange]) -> None:
        """Keep changes of our own judgement, one row a job and moment."""
        self._write(rows.VERDICT_CHANGES, changes)

    def write_logs(self, logs: Sequence[KeptLog]) -> None:
        """Keep where logs are, one row a job; the later `checked_at` wins."""
        self._write(rows.LOGS, logs)

    def write_baselines(self, baselines: Sequence[Baseline]) -> None:
        """Keep the line sets of green jobs; of two for one job name and branch the one completed later counts."""
        self._write(rows.BASELINES, baselines)

    def write_environments(self, environments: Sequence[JobEnvironment]) -> None:
        """Keep what jobs ran in and with, one row a job; the later `read_at` wins."""
        self._write(rows.ENVIRONMENTS, environments)

    def write_test_runs(self, cases: Iterable[CaseRun]) -> int:
        """Keep test cases while they come, a batch at a time, and give their number; the same report again adds none.

        What `cases` raises is raised when the batches before are kept.
        """
        return sum(self._write(caserows.CASE_RUNS, batch) for batch in caserows.batches(cases, BATCH_ROWS))

    def write_read_artifact(self, artifact: caserows.ReadArtifact) -> None:
        """Keep that an artifact was read; the later `read_at` wins."""
        self._write(caserows.ARTIFACTS, [artifact])

    def write_incidents(self, incidents: Sequence[Incident]) -> None:
        """Keep what services said was broken, one row a provider and id; the later `updated_at` wins."""
        self._write(rows.INCIDENTS, incidents)

    def write_synced_runs(self, runs: Sequence[SyncedRun]) -> None:
        """Record that the jobs of these runs are here; write the jobs before."""
        self._write(rows.SYNCED_RUNS, runs)

    def write_sync_cursors(self, cursors: Sequence[SyncCursor]) -> None:
        """Record how far streams have been read; write what was read before."""
        self._write(rows.SYNC_CURSORS, cursors)

    def ask(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        """Answer the saved question `queries/NAME.sql`, one dictionary a row; its header says what the columns mean.

        UsageError for a question that does not exist and for parameters it does not have or lacks.
        """
        sql = saved_query(name)
        wanted, given = set(_PARAMETER.findall(_without_comments(sql))), set(parameters)
        if wanted != given:
            raise UsageError(
                f"saved query {name} takes {', '.join(sorted(wanted))}; missing: {_names(wanted - given)}, "
                f"unknown: {_names(given - wanted)}."
            )
        with question_failures(self.place):
            answer = self._client.query(sql, parameters=_bound(parameters), query_tz=_ZONE)
            names = [str(column) for column in answer.column_names]
            return [dict(zip(names, row, strict=True)) for row in answer.result_rows]

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
        """Run one statement with native parameters (`{name:Type}`) and give back all rows.

        It does what it is told: guard SQL of strangers before. UsageError when ClickHouse refuses the statement.
        """
        with question_failures(self.place):
            answer = self._client.query(sql, parameters=_bound(parameters or {}), query_tz=_ZONE)
            columns = tuple(str(column) for column in answer.column_names)
            types = tuple(str(column.name) for column in answer.column_types)
            if not columns and _is_select(sql):
                columns, types = self._described(sql, parameters or {})
            found = tuple(tuple(row) for row in answer.result_rows)  # read here: the answer comes in pieces
        return Result(columns, types, found)

    def _described(self, sql: str, parameters: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns of a query without rows, which the embedded engine does not send."""
        described = self._client.query(f"DESCRIBE (\n{sql.strip().rstrip(';')}\n)", parameters=_bound(parameters))
        named = [(str(row[0]), str(row[1])) for row in described.result_rows]
        return tuple(name for name, _ in named), tuple(kind for _, kind in named)

    def _write(self, table: rows.Table[rows.Fact], facts: Sequence[rows.Fact]) -> int:
        for batch in _batches(facts):
            self.write_prepared(table.prepare(batch))
        return len(facts)

    def _carry_diagnoses(self, jobs: set[tuple[str, int]]) -> None:
        """Copy the newest diagnosis of each job into the job's own row, where PyTorch's queries look for it."""
        for batch in _batches(sorted(jobs)):
            for repository in sorted({repository for repository, _ in batch}):
                ids = [number for owner, number in batch if owner == repository]
                asked = {"repository": repository, "jobs": ids}
                with outside_failures(self.place):
                    if self._client.query(statements.ANY_DIAGNOSED, parameters=asked).result_rows:
                        self._client.command(statements.CARRY_DIAGNOSES, parameters=asked)


class _OneAtATime:
    """A client that several threads may ask: one after the other."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._lock = threading.Lock()

    def insert(self, *given: Any, **named: Any) -> Any:
        """As the client's."""
        with self._lock:
            return self._client.insert(*given, **named)

    def query(self, *given: Any, **named: Any) -> Any:
        """As the client's."""
        with self._lock:
            return self._client.query(*given, **named)

    def command(self, *given: Any, **named: Any) -> Any:
        """As the client's."""
        with self._lock:
            return self._client.command(*given, **named)

    def close(self) -> None:
        """As the client's."""
        with self._lock:
            self._client.close()


def saved_query(name: str) -> str:
    """The text of a saved question. UsageError names those that exist."""
    if name not in saved_queries():
        raise UsageError(f"there is no saved query {name!r}; there are {', '.join(saved_queries())}.")
    return _queries().joinpath(f"{name}.sql").read_text("utf-8")


def saved_queries() -> tuple[str, ...]:
    """The names of all saved questions, sorted."""
    return tuple(sorted(file.name.removesuffix(".sql") for file in _queries().iterdir() if file.name.endswith(".sql")))


def _queries() -> "resources.abc.Traversable":
    return resources.files(__package__).joinpath("queries")


def _without_comments(sql: str) -> str:
    return re.sub(r"^\s*--.*$", "", sql, flags=re.MULTILINE)


def _is_select(sql: str) -> bool:
    return re.match(r"\s*(SELECT|WITH)\b", _without_comments(sql), re.IGNORECASE) is not None


def _names(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _bound(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as ClickHouse reads them: times as text in UTC, with a fraction only where there is one."""
    return {name: _time_text(value) if isinstance(value, datetime) else value for name, value in parameters.items()}


def _time_text(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise UsageError(f"time {moment.isoformat()} has no zone: give aware times.")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")


def _batches(facts: Sequence[Item]) -> Iterator[list[Item]]:
    remaining = iter(facts)
    while batch := list(islice(remaining, BATCH_ROWS)):
        yield batch
