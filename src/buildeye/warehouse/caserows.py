"""Test cases as rows under PyTorch's column names, and the record of the artifacts they came in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from buildeye.model import CaseRun, Outcome
from buildeye.warehouse.rows import Table
from buildeye.warehouse.version import moment_version

BATCH_CHARACTERS: Final = 8_000_000


@dataclass(frozen=True, slots=True)
class ReadArtifact:
    """An artifact that was read: how many reports and cases it held, and what of it could not be read."""

    repository_full_name: str
    run_id: int
    artifact_id: int
    name: str
    read_at: datetime
    reports: int = 0
    cases: int = 0
    troubles: tuple[str, ...] = ()


CASE_RUNS: Final = Table[CaseRun](
    "tests.all_test_runs",
    {
        "repository_full_name": lambda run: run.origin.repository_full_name,
        "job_id": lambda run: run.origin.job_id,
        "workflow_id": lambda run: run.origin.run_id,
        "workflow_run_attempt": lambda run: run.origin.run_attempt,
        "file": lambda run: run.case.file,
        "classname": lambda run: run.case.classname,
        "name": lambda run: run.case.name,
        "invoking_file": lambda run: run.origin.folder,
        "ordinal": lambda run: run.case.ordinal,
        "time": lambda run: run.case.seconds,
        "status": lambda run: run.case.status,
        "result": lambda run: str(run.case.result),
        "line": lambda run: run.case.line,
        "failure": lambda run: _told(run.case.failures),
        "error": lambda run: _told(run.case.errors),
        "rerun": lambda run: [(each.message, each.text) for each in run.case.reruns],
        "skipped": lambda run: _told(run.case.skips),
        "report_id": lambda run: run.origin.report_id,
        "time_inserted": lambda run: run.origin.reported_at,
        "_version": lambda run: moment_version(run.origin.reported_at, run.case),
    },
)

ARTIFACTS: Final = Table[ReadArtifact](
    "buildeye.test_artifact",
    {
        "repository_full_name": lambda row: row.repository_full_name,
        "run_id": lambda row: row.run_id,
        "artifact_id": lambda row: row.artifact_id,
        "name": lambda row: row.name,
        "reports": lambda row: row.reports,
        "cases": lambda row: row.cases,
        "troubles": lambda row: list(row.troubles),
        "read_at": lambda row: row.read_at,
        "_version": lambda row: moment_version(row.read_at, row),
    },
)


def batches(cases: Iterable[CaseRun], most: int) -> Iterator[list[CaseRun]]:
    """The cases in batches of at most `most`, and fewer where what failing ones say is long."""
    batch: list[CaseRun] = []
    length = 0
    for run in cases:
        batch.append(run)
        case = run.case
        told = (*case.failures, *case.errors, *case.reruns, *case.skips)
        length += sum(len(each.message) + len(each.text) for each in told)
        if len(batch) >= most or length >= BATCH_CHARACTERS:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _told(outcomes: Sequence[Outcome]) -> list[tuple[str, str, str]]:
    return [(each.message, each.text, each.type) for each in outcomes]
