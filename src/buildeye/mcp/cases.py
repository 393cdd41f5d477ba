"""The tools about tests: what those of a file did, and the history of one."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.insight.flaky import FlakySettings, FlakyState
from buildeye.insight.testruns import (
    CaseCounts,
    CaseHistory,
    Counts,
    NoSuchCase,
    case_history,
    file_week,
    files_like,
)
from buildeye.mcp.branches import Repository, Since
from buildeye.mcp.desk import Desk
from buildeye.mcp.quoting import QUOTED, fitting, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model import UsageError


class CountsOf(Shape):
    """Reports of tests: a skip is no success; `flaky` failed and passed when run again, and are among `successful`."""

    runs: int
    successful: int
    fails: int
    skipped: int
    flaky: int
    pass_rate: float | None = Field(description="successful / (successful + fails), 0 to 1; null when neither is.")


class CaseRow(CountsOf):
    """A test of a file."""

    id: str
    file: str
    classname: str
    name: str
    seconds: float | None = Field(description="How long it took on average.")
    last_failed: datetime | None


class FileAnswer(Shape):
    """The tests of a file, those that failed most first."""

    repository: str
    file: str
    since: datetime
    tests: list[CaseRow]
    left_out: int


class DayCounts(CountsOf):
    """A day."""

    day: date


class JobCounts(CountsOf):
    """A job that reported the test; '' is one that is not known."""

    job: str


class End(Shape):
    """The last pass or failure."""

    at: datetime
    run_id: int
    attempt: int
    job_id: int
    head_sha: str
    branch: str
    html_url: str


class MessageRow(Shape):
    """A first line that failures said."""

    text: str
    fails: int
    flaky: int
    first_at: datetime
    last_at: datetime
    run_id: int
    job_id: int


class FlakinessRow(Shape):
    """The judgement, counted in commits; score is the lower bound of the share of commits at which it was flaky."""

    score: float
    rate: float
    flaky_commits: int
    commits: int
    failed_commits: int
    broken_commits: int


class HistoryAnswer(CountsOf):
    """One test in a time."""

    repository: str
    since: datetime
    id: str
    file: str
    classname: str
    name: str
    state: FlakyState
    flakiness: FlakinessRow
    seconds: float | None
    last_pass: End | None
    last_failure: End | None
    days: list[DayCounts]
    jobs: list[JobCounts]
    messages: list[MessageRow]
    left_out: int = Field(description="Days, jobs and messages not told for want of room.")


class CaseTools:
    """Tells what tests did."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """The tools."""
        return [
            tool(self.test_file, "test_file", "How did the tests of a file fare?"),
            tool(self.test_history, "test_history", "What did this test do?"),
        ]

    def test_file(
        self,
        file: Annotated[
            str, Field(min_length=1, max_length=500, description="A file of tests, as its reports name it.")
        ],
        repository: Repository = "",
        since: Since = "7d",
        limit: Annotated[int, Field(ge=1, le=1_000, description="Tests told at most.")] = 50,
    ) -> Annotated[CallToolResult, FileAnswer]:
        """Say how each test of a file fared in a time: runs, passes, failures, skips, flaky ones, mean seconds;
        those that failed most first. From JUnit reports in tests.all_test_runs.

        A file that no report names is an error that names the nearest ones.
        """
        named = self._desk.repository(repository)
        begin, end = self._desk.window(since)
        with self._desk.warehouse() as warehouse:
            found = file_week(warehouse, named, file, begin, end)
            near = () if found else files_like(warehouse, named, file, begin, end)
        if not found:
            raise UsageError(_missing(f"no report names a test of {file}", begin, near))
        kept, cut = fitting(_case(each) for each in found[:limit])
        left_out = cut + max(0, len(found) - limit)
        structured = {"repository": named, "file": file, "since": begin, "tests": kept, "left_out": left_out}
        more = f", {left_out} left out" if left_out else ""
        lines = [f"{plain_text(file)} since {begin:%Y-%m-%d %H:%M} UTC: {len(found)} tests{more}.", QUOTED]
        return answer(structured, told([*lines, *(quoted(f"{row['id']}: {_counted(row)}") for row in kept)]))

    def test_history(
        self,
        id: Annotated[
            str,
            Field(min_length=1, max_length=1_000,
                  description="FILE::Class::name or FILE::name; the end of it if unique, such as test_topk."),
        ],
        repository: Repository = "",
        since: Since = "30d",
    ) -> Annotated[CallToolResult, HistoryAnswer]:  # fmt: skip
        """Tell the history of one test: each day's runs, passes and failures, the last pass and failure with run and
        commit, the jobs and messages it failed with, and whether it is flaky, broken, recovered or steady.

        Flaky: the same commit passed and failed. An id that is not known, or means several tests, is an error that
        names the nearest ones.
        """
        named = self._desk.repository(repository)
        begin, end = self._desk.window(since)
        judged_by = FlakySettings(branch=self._desk.settings.target_repository.branch)
        with self._desk.warehouse() as warehouse:
            found = case_history(warehouse, named, id, begin, end, judged_by)
        if isinstance(found, NoSuchCase):
            what = f"{id} means several tests" if found.several else f"there is no run of {id}"
            raise UsageError(_missing(what, begin, found.instead))
        structured = {"repository": named, "since": begin} | _history(found)
        return answer(structured, _history_text(found, structured))


def _missing(what: str, begin: datetime, near: Sequence[str]) -> str:
    hint = f"the nearest are {', '.join(near)}" if near else "ask for an earlier since, or ingest its reports"
    return f"{what} since {begin:%Y-%m-%d %H:%M} UTC; {hint}"


def _case(case: CaseCounts) -> dict[str, Any]:
    return {
        "id": case.id, "file": case.file, "classname": case.classname, "name": case.name, **_counts(case.counts),
        "seconds": _rounded(case.seconds, 3), "last_failed": case.last_failed,
    }  # fmt: skip


def _history(found: CaseHistory) -> dict[str, Any]:
    """The history as values; of each list as much as fits in a third of an answer."""
    judged = found.flakiness
    room = 16_000
    days, more_days = fitting(({"day": day, **_counts(counts)} for day, counts in reversed(found.days)), room)
    jobs, more_jobs = fitting(({"job": job, **_counts(counts)} for job, counts in found.jobs), room)
    messages, more_messages = fitting((asdict(each) for each in found.messages), room)
    return {
        "id": found.id, "file": found.file, "classname": found.classname, "name": found.name,
        "state": judged.state,
        "flakiness": {
            "score": _rounded(judged.score, 4), "rate": _rounded(judged.rate, 4), "flaky_commits": judged.flaky,
            "commits": judged.commits, "failed_commits": judged.failed, "broken_commits": judged.broken,
        },
        **_counts(found.counts),
        "seconds": _rounded(found.seconds, 3),
        "last_pass": asdict(found.last_pass) if found.last_pass else None,
        "last_failure": asdict(found.last_failure) if found.last_failure else None,
        "days": days[::-1], "jobs": jobs, "messages": messages,
        "left_out": more_days + more_jobs + more_messages,
    }  # fmt: skip


def _history_text(found: CaseHistory, structured: dict[str, Any]) -> str:
    lines = [f"{found.id}: {found.flakiness.state}; {_counted(structured)}"]
    for name, end in (("last pass", found.last_pass), ("last failure", found.last_failure)):
        if end is not None:
            lines.append(
                f"{name}: {end.at:%Y-%m-%d %H:%M} UTC, run {end.run_id} job {end.job_id} at {end.head_sha[:10]}"
            )
    lines += [f"says {each.fails}x: {each.text}" for each in found.messages[:5]]
    lines += [f"{day['day']}: {_counted(day)}" for day in structured["days"][-14:]]
    return told([QUOTED, *map(quoted, lines)])


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "runs": counts.runs, "successful": counts.successful, "fails": counts.fails, "skipped": counts.skipped,
        "flaky": counts.flaky, "pass_rate": _rounded(counts.pass_rate, 4),
    }  # fmt: skip


def _counted(row: dict[str, Any]) -> str:
    rest = f"{row['fails']} failed, {row['skipped']} skipped, {row['flaky']} flaky"
    return f"{row['runs']} runs, {row['successful']} passed, {rest}"


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None else round(value, places)
