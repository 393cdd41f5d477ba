"""The tools about a branch: which jobs fail since when, and which fail most."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.insight import failures
from buildeye.insight.emptiness import why_nothing
from buildeye.insight.streakrows import as_row, brief, named
from buildeye.insight.streaks import Streak, streaks_of
from buildeye.mcp.desk import Desk
from buildeye.mcp.quoting import QUOTED, fitting, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.warehouse import Warehouse

Repository = Annotated[str, Field(max_length=200, description="OWNER/REPO; '' is that of the settings.")]
Since = Annotated[
    str,
    Field(min_length=1, max_length=60, description="From when on: 12h, 7d, 4w (ago), or a date such as 2026-11-01."),
]
Branch = Annotated[str, Field(max_length=300, description="A branch; '' is that of the settings.")]


class Between(Shape):
    """A commit that may be to blame."""

    sha: str
    pull_request: int | None


class SignatureCount(Shape):
    """How many commits of a streak failed in one way."""

    signature: str
    commits: int


class StreakRow(Shape):
    """A job that fails at every commit with a result, from the newest back to `first_bad`."""

    job: str = Field(description="Workflow / job, its shards folded into one.")
    streak: int = Field(description="Commits in a row at which it failed.")
    clipped: bool = Field(description="The window holds no pass: the streak may be longer.")
    since: datetime = Field(description="When the first bad commit came, UTC.")
    first_bad: str
    pull_request: int | None = Field(description="That brought the first bad commit.")
    title: str
    last_bad: str
    last_good: str | None
    between: list[Between] = Field(description="Commits after last_good up to first_bad: any may be to blame.")
    failed: int = Field(description="Commits of the whole window at which it failed, of `judged` with a result.")
    judged: int
    failure_rate: float = Field(description="From 0 to 1.")
    signatures: list[SignatureCount] = Field(description="How it failed: rule|test|exception.")
    undiagnosed: int = Field(description="Commits of the streak without a diagnosis.")
    html_url: str


class StreaksAnswer(Shape):
    """Streaks of a branch, longest first."""

    repository: str
    branch: str
    commits: int = Field(description="How many of its newest commits were looked at, at most.")
    streaks: list[StreakRow]
    left_out: int
    warnings: list[str]


class CauseCount(Shape):
    """How many failures have a cause."""

    cause: str
    failures: int


class SignatureFailures(Shape):
    """How many failures look alike."""

    signature: str
    failures: int


class FailingRow(Shape):
    """A job's failures; all counts are of distinct jobs, re-runs included."""

    name: str
    workflows: list[str]
    failures: int = Field(description="That ended as failure; `timed_out` are apart.")
    runs: int = Field(description="Failures, time-outs and passes.")
    rate: float = Field(description="failures / runs, 0 to 1.")
    rate_low: float = Field(description="With rate_high where the rate truly lies, with 95 % (Wilson).")
    rate_high: float
    timed_out: int
    last_failure: datetime
    cause: str | None = Field(description="The cause most of the judged failures have.")
    causes: list[CauseCount]
    unjudged: int
    flaky: int = Field(description="Failures that are held to be flaky, whatever their cause.")
    signature: str | None
    signatures: list[SignatureFailures]
    undiagnosed: int
    run_id: int = Field(description="Of the newest failure: ask explain_run.")
    job_id: int


class FailuresAnswer(Shape):
    """Failing jobs of a branch, most failures first."""

    repository: str
    branch: str
    since: datetime
    failures: list[FailingRow]
    left_out: int = Field(description="Of those asked for, not told for want of room; `limit` cuts before.")
    warnings: list[str]


class BranchTools:
    """Answers what fails on a branch."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """The tools."""
        return [
            tool(self.streaks, "streaks", "Which jobs fail since when?"),
            tool(self.failures, "failures", "Which jobs fail most?"),
        ]

    def streaks(
        self,
        branch: Branch = "",
        repository: Repository = "",
        commits: Annotated[int, Field(ge=1, le=5_000, description="How many of its newest commits to look at.")] = 100,
        at: Annotated[
            str, Field(pattern="^([0-9a-fA-F]{7,40})?$", description="A commit: as if it were the branch's newest.")
        ] = "",
        job: Annotated[
            str, Field(max_length=300, description="Only jobs whose name has this text, or fits this pattern.")
        ] = "",
        minimum: Annotated[int, Field(ge=1, le=5_000, description="Failures in a row from which on it is told.")] = 1,
        limit: Annotated[int, Field(ge=1, le=200, description="Streaks told at most.")] = 30,
    ) -> Annotated[CallToolResult, StreaksAnswer]:
        """Say which CI jobs of a branch are failing since when: failures in a row from the newest commit that has a
        result, the commit and pull request it began with, the commits that may be to blame, and as what it fails.

        Runs of pull requests do not count. Cancelled, skipped and pending are no result; a re-run that passed ends a
        streak. No streak and no warning means: every job passed where it last had a result.
        """
        named_repository, meant = self._desk.repository(repository), self._desk.branch(branch)
        wanted = named(job)
        with self._desk.warehouse() as warehouse:
            every = streaks_of(warehouse, named_repository, meant, commits, minimum, at.lower())
            warnings = [] if every else known_nothing(warehouse, named_repository, meant)
        found = [each for each in every if wanted(each.job)]
        kept, cut = fitting(as_row(each) for each in found[:limit])
        structured = {
            "repository": named_repository, "branch": meant, "commits": commits, "streaks": kept,
            "left_out": cut + max(0, len(found) - limit), "warnings": warnings,
        }  # fmt: skip
        return answer(structured, _streak_text(structured, found[: len(kept)]))

    def failures(
        self,
        branch: Branch = "",
        repository: Repository = "",
        since: Since = "14d",
        limit: Annotated[int, Field(ge=1, le=200, description="Jobs told at most.")] = 10,
    ) -> Annotated[CallToolResult, FailuresAnswer]:
        """Say which CI jobs failed most on a branch in a time: how often of how many runs, how sure that rate is, whose
        problem the failures are (code, infrastructure, ...), and as what they fail.

        Counts what PyTorch's guide counts: distinct jobs with conclusion failure whose head_branch it is, ended since
        then. A job that fails now may not be among them, and the other way round: for that ask streaks.
        """
        named_repository, meant = self._desk.repository(repository), self._desk.branch(branch)
        begin, end = self._desk.window(since)
        with self._desk.warehouse() as warehouse:
            found = failures.top_failures(warehouse, named_repository, meant, begin, end, limit)
            warnings = [] if found else known_nothing(warehouse, named_repository, meant)
        kept, cut = fitting(failures.as_row(each) for each in found)
        structured = {
            "repository": named_repository, "branch": meant, "since": begin, "failures": kept, "left_out": cut,
            "warnings": warnings,
        }  # fmt: skip
        where = f"{plain_text(named_repository)} {plain_text(meant)} since {begin:%Y-%m-%d %H:%M} UTC"
        lines = [f"{where}: {len(found) or 'no'} {'job' if len(found) == 1 else 'jobs'} failed."]
        lines += [f"warning: {each}" for each in warnings]
        lines += [QUOTED] if kept else []
        return answer(structured, told([*lines, *(quoted(_failing_line(each)) for each in kept)]))


def _streak_text(structured: dict[str, Any], found: Sequence[Streak]) -> str:
    where = f"{plain_text(structured['repository'])} {plain_text(structured['branch'])}"
    if not found:
        said = f"{where}: no job is on a streak (newest {structured['commits']} commits)."
        return "\n".join([said, *(f"warning: {each}" for each in structured["warnings"])])
    more = f", {structured['left_out']} more left out" if structured["left_out"] else ""
    counted = "1 streak" if len(found) == 1 else f"{len(found)} streaks"
    lines = [f"{where}: {counted} in the newest {structured['commits']} commits{more}.", QUOTED]
    return told([*lines, *(quoted(_streak_line(each)) for each in found)])


def _streak_line(each: Streak) -> str:
    first = each.first_bad
    pull = f" #{first.pull_request}" if first.pull_request else ""
    begun = (
        "before this window"
        if each.clipped
        else f"{first.at:%Y-%m-%d %H:%M} UTC at {first.sha[:10]}{pull} (1 of {len(each.between)})"
    )
    ways = ", ".join(f"{count}x {brief(signature)}" for signature, count in each.signatures[:3]) or "not diagnosed"
    plus = "+" if each.clipped else ""
    return f"{each.job}: {each.length}{plus} in a row since {begun}; failed {each.failure_rate:.0%}; fails as {ways}"


def _failing_line(row: dict[str, Any]) -> str:
    whose = f"{row['cause']} {row['causes'][0]['failures']}x" if row["cause"] else "not judged"
    ways = brief(row["signature"]) if row["signature"] else "not diagnosed"
    rate = f"{row['rate']:.0%} ({row['rate_low']:.0%} to {row['rate_high']:.0%})"
    failed = f"{row['failures']} of {row['runs']} failed, {rate}"
    return f"{row['name']}: {failed}; whose: {whose}; as {ways}; run {row['run_id']}"


def known_nothing(warehouse: Warehouse, repository: str, branch: str = "") -> list[str]:
    """The warnings of an empty answer: that nothing is known of a repository or branch; none when something is."""
    why = why_nothing(warehouse, repository, branch)
    return [plain_text(why)] if why else []
