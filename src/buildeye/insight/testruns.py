"""What tests did: those of one file in a week, and the history of one, day by day."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from buildeye.insight.caseids import case_id, file_in, fits, is_exact, module_of, names_in
from buildeye.insight.flaky import UNSEEN, Flakiness, FlakySettings, judged_cases
from buildeye.warehouse import Warehouse

_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MESSAGES: Final = 20
_SUGGESTED: Final = 5


@dataclass(frozen=True, slots=True)
class Counts:
    """Reports of tests, counted as PyTorch's guide does: a skip is no success; `flaky` ones are among `successful`."""

    runs: int = 0
    successful: int = 0
    fails: int = 0
    skipped: int = 0
    flaky: int = 0

    @property
    def pass_rate(self) -> float | None:
        """Successful of those that passed or failed, 0 to 1; None when there are none."""
        return self.successful / (self.successful + self.fails) if self.successful + self.fails else None

    def plus(self, other: "Counts") -> "Counts":
        """Both together."""
        return Counts(
            self.runs + other.runs, self.successful + other.successful, self.fails + other.fails,
            self.skipped + other.skipped, self.flaky + other.flaky,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CaseCounts:
    """One test of a file in a window: mean `seconds` where it was not skipped, None when it always was.

    `last_failed` is when the last report of a failure was made (UTC), None for never.
    """

    file: str
    classname: str
    name: str
    counts: Counts
    seconds: float | None = None
    last_failed: datetime | None = None

    @property
    def id(self) -> str:
        """What the test is called."""
        return case_id(self.file, self.classname, self.name)


@dataclass(frozen=True, slots=True)
class CaseEnd:
    """The last pass or the last failure of a test; `head_sha` is empty and `job_id` 0 when not known."""

    at: datetime
    run_id: int
    attempt: int
    job_id: int = 0
    head_sha: str = ""
    branch: str = ""
    html_url: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A first line that failures of a test said; `flaky` of them passed when run again in the same job."""

    text: str
    fails: int
    flaky: int
    first_at: datetime
    last_at: datetime
    run_id: int
    job_id: int


@dataclass(frozen=True, slots=True)
class CaseHistory:
    """One test in a window: days oldest first (those without a run left out), jobs by failures, messages by number."""

    file: str
    classname: str
    name: str
    days: tuple[tuple[date, Counts], ...] = ()
    jobs: tuple[tuple[str, Counts], ...] = ()
    seconds: float | None = None
    last_pass: CaseEnd | None = None
    last_failure: CaseEnd | None = None
    messages: tuple[Message, ...] = ()
    flakiness: Flakiness = UNSEEN

    @property
    def id(self) -> str:
        """What the test is called."""
        return case_id(self.file, self.classname, self.name)

    @property
    def counts(self) -> Counts:
        """All days together."""
        return _sum(counts for _, counts in self.days)


@dataclass(frozen=True, slots=True)
class NoSuchCase:
    """What was asked for has no runs in the window, or means several tests; `instead` are the nearest names."""

    asked: str
    instead: tuple[str, ...] = ()
    several: bool = False


def file_week(
    warehouse: Warehouse, repository: str, file: str, since: datetime, until: datetime
) -> tuple[CaseCounts, ...]:
    """The tests of a file (as reports name it) that had runs in a window, those that failed most first.

    Of a Python file that no report names, the tests whose class begins with its module: pytest's own form leaves the
    file out. Raises what `Warehouse.ask` raises.
    """
    asked = {"repository": repository, "since": since, "until": until}
    rows = warehouse.ask("test_file_week", **asked, file=file, module="")
    if not rows and (module := module_of(file)):
        rows = warehouse.ask("test_file_week", **asked, file="", module=module)
    return tuple(_case_of(row) for row in rows)


def files_like(warehouse: Warehouse, repository: str, file: str, since: datetime, until: datetime) -> tuple[str, ...]:
    """Files, or classes where reports say no file, whose name is nearest to `file`; the nearest first, at most 5.

    Same ending counts most (`test/x.py` for `x.py` and the other way round), then the same last part, then more runs.
    """
    base = file.rstrip("/").rpartition("/")[2]
    stem = base.rpartition(".")[0] or base
    asked = {"repository": repository, "since": since, "until": until}
    rows = warehouse.ask("test_files_like", **asked, base=stem) if stem else []
    told = [(row["file"] or row["classname"], row["runs"]) for row in rows]
    ranked = sorted(told, key=lambda each: (_distance(each[0], file, base), -each[1], each[0]))
    return tuple(name for name, _ in ranked[:_SUGGESTED])


def case_history(
    warehouse: Warehouse, repository: str, id: str, since: datetime, until: datetime,
    settings: FlakySettings | None = None,
) -> CaseHistory | NoSuchCase:  # fmt: skip
    """The history of a test by its id, or the end of it when that is unique. Raises what `Warehouse.ask` raises."""
    window = {"repository": repository, "since": since, "until": until}
    found = _resolved(warehouse, id, window)
    if isinstance(found, NoSuchCase):
        return found
    file, classname, name = found
    case = {**window, "file": file, "classname": classname, "case": name}
    rows = warehouse.ask("test_days", **case)
    ends = {row.pop("passed"): CaseEnd(**row) for row in warehouse.ask("test_ends", **case)}
    ran = sum(row["runs"] - row["skipped"] for row in rows)
    judged = judged_cases(warehouse, repository, since, until, settings, files=[file], names=[name])
    return CaseHistory(
        file, classname, name, _days(rows), _jobs(rows), sum(row["seconds"] for row in rows) / ran if ran else None,
        ends.get(True), ends.get(False),
        tuple(_message_of(row) for row in warehouse.ask("test_messages", **case, limit=_MESSAGES)),
        next((each.flakiness for each in judged if each.classname == classname), UNSEEN),
    )  # fmt: skip


def _resolved(warehouse: Warehouse, asked: str, window: Mapping[str, Any]) -> tuple[str, str, str] | NoSuchCase:
    file = file_in(asked)
    rows = warehouse.ask("test_cases_named", **window, names=list(names_in(asked)), file=file, module=module_of(file))
    known = [(row["file"], row["classname"], row["name"]) for row in rows]
    if not known and file:
        rows = warehouse.ask("test_cases_named", **window, names=list(names_in(asked)), file="", module="")
        known = [(row["file"], row["classname"], row["name"]) for row in rows]
    exact = [each for each in known if is_exact(asked, *each)]
    fitting = exact or [each for each in known if fits(asked, *each)]
    if len(fitting) == 1:
        return fitting[0]
    near = tuple(case_id(*each) for each in (fitting or known)[:_SUGGESTED])
    return NoSuchCase(asked, near, several=len(fitting) > 1)


def _case_of(row: Mapping[str, Any]) -> CaseCounts:
    counts = _counts_of(row)
    failed = row["last_failed"] if counts.fails else None
    seconds = None if counts.runs == counts.skipped else row["seconds"]
    return CaseCounts(row["file"], row["classname"], row["name"], counts, seconds, failed)


def _counts_of(row: Mapping[str, Any]) -> Counts:
    return Counts(row["runs"], row["successful"], row["fails"], row["skipped"], row["flaky"])


def _days(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[date, Counts], ...]:
    apart: dict[date, list[Counts]] = defaultdict(list)
    for row in rows:
        apart[row["day"]].append(_counts_of(row))
    return tuple((day, _sum(apart[day])) for day in sorted(apart))


def _jobs(rows: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, Counts], ...]:
    """The jobs that reported the test, those in which it failed or was flaky most first; '' for unknown ones."""
    apart: dict[str, list[Counts]] = defaultdict(list)
    for row in rows:
        apart[" / ".join(part for part in (row["workflow_name"], row["job"]) if part)].append(_counts_of(row))
    summed = [(job, _sum(counts)) for job, counts in apart.items()]
    return tuple(sorted(summed, key=lambda each: (-each[1].fails, -each[1].flaky, -each[1].runs, each[0])))


def _sum(each: Iterable[Counts]) -> Counts:
    total = Counts()
    for counts in each:
        total = total.plus(counts)
    return total


def _message_of(row: Mapping[str, Any]) -> Message:
    return Message(
        row["message"], row["fails"], row["flaky"], row["first_at"], row["last_at"], row["run_id"], row["job_id"]
    )


def _distance(known: str, asked: str, base: str) -> int:
    """How far a known name is from the one asked for."""
    if known.endswith(f"/{asked}") or asked.endswith(f"/{known}"):
        return 0
    return 1 if known.rpartition("/")[2] == base else 2
