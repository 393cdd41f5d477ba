"""Test reports into the warehouse: from files somebody has, and from the artifacts of runs on GitHub.

Cases go to the warehouse while they are read, and an artifact is recorded as read when all its cases are kept: a pass
that dies is finished by the next one, and the same report twice leaves the same rows.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from buildeye.logs.secrets import mask
from buildeye.model import Case, CaseResult, CaseRun, Origin, Outcome
from buildeye.testresults import Found, Report, nothing_at, reports_in
from buildeye.testresults.junit import CutOffError
from buildeye.warehouse import Warehouse

MOST_TROUBLES: Final = 20
_CREDIBLE: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Files of before have the first day of some format for a time."""


@dataclass(slots=True)
class Tally:
    """What was read: reports, cases, how many of them did not pass, and one sentence for each thing that went wrong."""

    reports: int = 0
    cases: int = 0
    failed: int = 0
    troubles: list[str] = field(default_factory=list)

    def complain(self, trouble: str) -> None:
        """Keep what went wrong; of very many the first ones, and that there were more."""
        if len(self.troubles) < MOST_TROUBLES:
            self.troubles.append(trouble)
        elif len(self.troubles) == MOST_TROUBLES:
            self.troubles.append("more reports could not be read whole")

    def add(self, other: "Tally") -> None:
        """Count what `other` counted, too."""
        self.reports += other.reports
        self.cases += other.cases
        self.failed += other.failed
        self.troubles += other.troubles


def read_files(warehouse: Warehouse, paths: Sequence[Path], origin: Origin, *, dated_by_file: bool = False) -> Tally:
    """Keep the cases of files, folders and archives, in batches across all of them.

    `origin` says of which run and job; its `report`, if any, tells machines of one run apart. With `dated_by_file` a
    report counts as made when its file was written, at most at `origin.reported_at`: the same file later gives the same
    rows. A file that is no JUnit report is a trouble. UsageError: there is nothing at a path; then nothing is kept.
    """
    for path in paths:
        if not path.exists():
            raise nothing_at(path)
    tally = Tally()
    warehouse.write_test_runs(_cases_of_files(paths, origin, tally, dated_by_file))
    return tally


def _cases_of_files(paths: Sequence[Path], origin: Origin, tally: Tally, dated_by_file: bool) -> Iterator[CaseRun]:
    for path in paths:
        named = dataclasses.replace(origin, report=f"{origin.report} file {path.absolute()}".lstrip())
        if dated_by_file:
            named = dataclasses.replace(named, reported_at=_written_at(path, origin.reported_at))
        yield from _cases(reports_in(path), named, tally, path.name, strict=True)


def _written_at(path: Path, latest: datetime) -> datetime:
    """When a file, or the newest report in a folder, was written; `latest` where that cannot be true."""
    files = path.rglob("*.xml") if path.is_dir() else [path]
    written = datetime.fromtimestamp(max((file.stat().st_mtime for file in files), default=0), UTC)
    return written if _CREDIBLE <= written < latest else latest


def read_archive(warehouse: Warehouse, path: Path, origin: Origin) -> Tally:
    """Keep the cases of one artifact's zip; XML of other kinds in it is passed over."""
    tally = Tally()
    warehouse.write_test_runs(_cases(reports_in(path), origin, tally, "", strict=False))
    return tally


def _cases(found: Iterable[Found], origin: Origin, tally: Tally, where: str, *, strict: bool) -> Iterator[CaseRun]:
    """The cases of all reports in turn, counted in `tally` with what went wrong."""
    try:
        for file in found:
            report = Report(file.chunks())
            here = dataclasses.replace(origin, report=f"{origin.report}/{file.name}", folder=file.folder)
            for case in report:
                tally.cases += 1
                tally.failed += case.result in (CaseResult.FAILED, CaseResult.ERROR)
                yield CaseRun(here, _masked(case))
            tally.reports += report.is_junit
            if report.trouble and (strict or not report.is_other):
                tally.complain(f"{file.name}: {report.trouble}")
    except CutOffError as error:
        tally.complain(f"{where}: {error}" if where else str(error))


def _masked(case: Case) -> Case:
    """The case without the secrets that a failing test printed."""
    if not (case.failures or case.errors or case.reruns or case.skips):
        return case
    return dataclasses.replace(
        case,
        failures=_safe(case.failures),
        errors=_safe(case.errors),
        reruns=_safe(case.reruns),
        skips=_safe(case.skips),
    )


def _safe(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    return tuple(Outcome(mask(each.message), mask(each.text), each.type) for each in outcomes)
