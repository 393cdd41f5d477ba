"""What CI says of a commit: how its runs ended, what failed in them, and which failures a person judged otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from buildeye.model import Cause
from buildeye.warehouse import Warehouse

SHORT: Final = 7
"""Characters of a commit's name that are shown; fewer name too many commits to be asked for."""
_NAMED: Final = 3
_PASSED: Final = ("success",)
_FAILED: Final = ("failure", "timed_out", "startup_failure")
_NOT_RUN: Final = ("skipped", "neutral")


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that failed, our judgement of it and a person's, '' where nobody judged. `job_id` 0: the whole run."""

    name: str
    html_url: str = ""
    job_id: int = 0
    cause: str = ""
    category: str = ""
    said_cause: str = ""
    said_category: str = ""
    said_why: str = ""
    said_by: str = ""

    @property
    def overruled(self) -> bool:
        """Whether a person said something else than we judged; also where we judged nothing."""
        return bool(self.said_by) and self.said_cause != self.cause

    @property
    def counts(self) -> str:
        """The cause that counts: the person's, else ours, else `unknown`."""
        return self.said_cause or self.cause or Cause.UNKNOWN

    @property
    def told(self) -> str:
        """The job and whose problem it is, as one phrase of a sentence."""
        if not self.said_by:
            return f"{self.name} ({self.counts})"
        said = "overruled" if self.overruled else "confirmed"
        return f"{self.name}, {said} {self.word}"

    @property
    def word(self) -> str:
        """What a person said of it: `as infrastructure by ops`, '' when nobody did."""
        return f"as {self.said_cause} by {self.said_by}" if self.said_by else ""


@dataclass(frozen=True, slots=True)
class RunOfCommit:
    """One run in its latest attempt; `failed` is empty when it did not fail."""

    id: int
    name: str
    event: str
    status: str
    conclusion: str
    attempt: int = 1
    html_url: str = ""
    failed: tuple[FailedJob, ...] = ()

    @property
    def green(self) -> bool | None:
        """Whether it passed; None while it runs, and when it was cancelled or waits for a person."""
        if self.status == "completed" and self.conclusion in _PASSED:
            return True
        return False if self.status == "completed" and self.conclusion in _FAILED else None


@dataclass(frozen=True, slots=True)
class CommitStory:
    """The runs of a commit that count: of each workflow and event the newest; those that were skipped say nothing.

    `sha` is the whole name when it is known. `commits` is how many commits a shortened name fits.
    """

    repository: str
    sha: str
    runs: tuple[RunOfCommit, ...] = ()
    commits: int = 1

    @property
    def green(self) -> bool | None:
        """Whether all runs passed; None when none is known, one is not over or was cancelled, and none failed.

        A failure that a person overruled is still a failure of the run: `excused` tells that.
        """
        each = [run.green for run in self.runs]
        if False in each:
            return False
        return True if each and None not in each else None

    @property
    def failed(self) -> tuple[FailedJob, ...]:
        """All failed jobs, run by run."""
        return tuple(job for run in self.runs for job in run.failed)

    @property
    def overruled(self) -> tuple[FailedJob, ...]:
        """The failed jobs of which a person said something else than we."""
        return tuple(job for job in self.failed if job.overruled)

    @property
    def excused(self) -> bool:
        """Whether something failed, and people said of every failure that code and configuration are not to blame."""
        blamed = {Cause.CODE, Cause.CONFIGURATION, Cause.UNKNOWN}
        failed = self.failed
        return bool(failed) and all(job.said_by and job.said_cause not in blamed for job in failed)

    @property
    def sentence(self) -> str:
        """All of it in one line, as `1 of 3 runs failed: unit (3.12), overruled as infrastructure by ops`."""
        if self.commits > 1:
            return f"{self.sha} names {self.commits} commits; give more of its name"
        if not self.runs:
            return f"no runs known of {self.sha[:SHORT]}" if self.sha else "no commit known"
        count = len(self.runs)
        each = [run.green for run in self.runs]
        if False in each:
            named = [job.told for job in self.failed[:_NAMED]]
            more = [f"{len(self.failed) - _NAMED} more"] if len(self.failed) > _NAMED else []
            return f"{each.count(False)} of {_runs(count)} failed: {'; '.join(named + more)}"
        rest = _rest(self.runs)
        return f"{each.count(True)} of {_runs(count)} green" + (f", {rest}" if rest else "")


def story_of(warehouse: Warehouse, repository: str, sha: str) -> CommitStory:
    """The story of a commit of `repository` (`owner/name`); `sha` may be shortened to its first 7 characters.

    Raises what `Warehouse.ask` raises.
    """
    return stories_of(warehouse, repository, [sha])[sha]


def stories_of(warehouse: Warehouse, repository: str, shas: Iterable[str]) -> dict[str, CommitStory]:
    """The stories of commits by the names they were asked with: one question for all commits and runs."""
    names = {sha: sha.strip().lower() for sha in shas}
    asked = sorted({name for name in names.values() if len(name) >= SHORT})
    rows = warehouse.ask("commit_stories", repository=repository, commits=asked) if asked and repository else []
    return {sha: _story(repository, name, rows if len(name) >= SHORT else []) for sha, name in names.items()}


def _story(repository: str, name: str, rows: Sequence[Mapping[str, Any]]) -> CommitStory:
    own = [row for row in rows if row["head_sha"].startswith(name)]
    commits = sorted({row["head_sha"] for row in own})
    if len(commits) > 1:
        return CommitStory(repository, name, commits=len(commits))
    runs = tuple(_run_of(row) for row in own if row["conclusion"] not in _NOT_RUN)
    return CommitStory(repository, commits[0] if commits else name, runs)


def _run_of(row: Mapping[str, Any]) -> RunOfCommit:
    failed = tuple(FailedJob(**job) for job in row["failed_jobs"])
    if not failed and row["conclusion"] in _FAILED:
        said = {key: row[key] for key in ("said_cause", "said_category", "said_why", "said_by")}
        failed = (FailedJob(row["name"], row["html_url"], **said),)
    return RunOfCommit(
        row["id"], row["name"], row["event"], row["status"], row["conclusion"], row["run_attempt"], row["html_url"],
        failed if row["conclusion"] in _FAILED else (),
    )  # fmt: skip


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _rest(runs: tuple[RunOfCommit, ...]) -> str:
    """What became of the runs that neither passed nor failed."""
    running = sum(run.status != "completed" for run in runs)
    others = [run.conclusion for run in runs if run.status == "completed" and run.green is None]
    told = [f"{running} still running"] if running else []
    told += [f"{others.count(each)} {each.replace('_', ' ')}" for each in dict.fromkeys(others)]
    return ", ".join(told)
