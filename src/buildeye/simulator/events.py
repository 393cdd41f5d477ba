"""The words a story is written in: pull requests, pushes, merges, timers, and how the runs they start will end."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from buildeye.model import PullRequest
from buildeye.simulator.facts import Truth

EndingKind = Literal["ran", "skipped", "cancelled", "queued"]


@dataclass(frozen=True, slots=True)
class PullDraft:
    """A pull request before it has a number; `author` and `files` as invented."""

    key: str
    title: str
    author: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mishap:
    """What goes wrong in one job: a key of `failures.FAILURES`; `truth` and `runner` where the story fixes them."""

    job: str
    failure: str
    truth: Truth | None = None
    runner: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How one attempt of a run ends; `after` is when somebody cancels it."""

    kind: EndingKind = "ran"
    mishaps: tuple[Mishap, ...] = ()
    after: timedelta = timedelta()


@dataclass(frozen=True, slots=True)
class Plan:
    """One run to start, by workflow key, with one ending an attempt."""

    workflow: str
    endings: tuple[Ending, ...] = (Ending(),)


@dataclass(frozen=True, slots=True)
class Event:
    """Something happens `ago` before now and starts runs.

    `push`: a commit on the branch of `pull`; `merge`: the pull request becomes a commit on main; `timer`: a schedule
    fires on main, without a pull request.
    """

    ago: timedelta
    kind: Literal["push", "merge", "timer", "close"]
    pull: str = ""
    plans: tuple[Plan, ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A part of the story: its pull requests and events."""

    pulls: tuple[PullDraft, ...] = ()
    events: tuple[Event, ...] = ()


def opened(
    draft: PullDraft, number: int, branch: str, head: str, base: str, at: datetime, repository: str
) -> PullRequest:
    """The pull request that a first push at `at` opens: commit `head` on `branch`, against commit `base` of main."""
    return PullRequest(
        number=number,
        title=draft.title,
        author=draft.author,
        state="open",
        base_ref="main",
        base_sha=base,
        head_ref=branch,
        head_sha=head,
        created_at=at - timedelta(seconds=20),
        updated_at=at,
        html_url=f"https://github.com/{repository}/pull/{number}",
        changed_files=draft.files,
        repository_full_name=repository,
    )


GREEN = Ending()
SKIPPED = Ending("skipped")
QUEUED = Ending("queued")


def hours(count: float) -> timedelta:
    """A time span, in hours."""
    return timedelta(hours=count)


def cancelled(minutes: float) -> Ending:
    """Cancelled by somebody or something, minutes after the start."""
    return Ending("cancelled", after=timedelta(minutes=minutes))


def red(jobs: str | tuple[str, ...], failure: str, truth: Truth | None = None, runner: str | None = None) -> Ending:
    """An attempt in which one job fails, or several for one reason."""
    names = (jobs,) if isinstance(jobs, str) else jobs
    return Ending(mishaps=tuple(Mishap(job, failure, truth, runner) for job in names))


def plan(workflow: str, *endings: Ending) -> Plan:
    """A run with these attempts; one green attempt when none is given."""
    return Plan(workflow, endings or (GREEN,))
