"""What judging needs of a job, of any that ran: how it ended, on what, and what its log said."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from buildeye.logs.baseline import mask
from buildeye.model import Cause, Diagnosis, Job, PullRequest, Run

FAILED = frozenset({"failure", "timed_out"})
ENDED = FAILED | {"success", "cancelled"}
NO_WAIT = timedelta(0)


@dataclass(frozen=True, slots=True)
class Result:
    """How one job of one attempt ended.

    `built` is when its run was created: a pull request is built together with the base branch of that moment, and a
    re-run builds the same. `pool` is what the job asked of a runner; `waited` how long it waited for it. `author` is
    whose change it is. `signature`, `cause`, `category` and `tests` are those of its diagnosis, if there is one.
    """

    job_id: int
    run_id: int
    attempt: int
    workflow: str
    name: str
    head_sha: str
    conclusion: str
    built: datetime
    ended: datetime
    on_base: bool = False
    pull_request: int | None = None
    author: str = ""
    signature: str = ""
    cause: str = ""
    category: str = ""
    tests: tuple[str, ...] = ()
    runner: str = ""
    pool: str = ""
    waited: timedelta = NO_WAIT
    started: datetime | None = None
    branch: str = ""

    @property
    def failed(self) -> bool:
        """Did it fail? Cancelled and skipped ones did not."""
        return self.conclusion in FAILED

    @property
    def key(self) -> tuple[str, str]:
        """Workflow and name: what makes jobs of different runs the same job."""
        return self.workflow, self.name

    @property
    def change(self) -> str:
        """The change that was built: a pull request, or a branch of which none is known; empty for the base branch."""
        if self.on_base:
            return ""
        return f"#{self.pull_request}" if self.pull_request else f"{self.author}:{self.branch or self.head_sha}"

    @property
    def place(self) -> str:
        """Whose failure it is: a change, or a commit of the base branch."""
        return self.change or self.head_sha


@dataclass(frozen=True, slots=True)
class Merge:
    """A change that became part of the base branch; `files` are repository paths, empty when not known."""

    sha: str
    at: datetime
    pull_request: int | None = None
    author: str = ""
    title: str = ""
    head_sha: str = ""
    files: tuple[str, ...] = ()


def merge_of(pull: PullRequest) -> Merge | None:
    """The merge of a pull request; None while it is not merged."""
    if pull.merged_at is None or not pull.merge_commit_sha:
        return None
    return Merge(
        pull.merge_commit_sha, pull.merged_at, pull.number, pull.author, pull.title, pull.head_sha, pull.changed_files
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What a person held to be true of a failure with this signature, and when (UTC)."""

    cause: Cause
    category: str
    person: str
    at: datetime
    run_id: int


@dataclass(frozen=True, slots=True)
class Subject:
    """One job that is to be judged: what is known of it and of the change it built."""

    run: Run
    job: Job
    diagnosis: Diagnosis
    own: Result
    pull_request: PullRequest | None = None


def subject_of(run: Run, job: Job, diagnosis: Diagnosis, pull: PullRequest | None, base_branch: str) -> Subject:
    """A job to judge with its facts; a job without times counts as of the run's."""
    return Subject(run, job, diagnosis, result_of(run, job, diagnosis, pull, base_branch), pull)


EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def result_of(run: Run, job: Job, diagnosis: Diagnosis | None, pull: PullRequest | None, base_branch: str) -> Result:
    """How a job ended, from GitHub's facts and its diagnosis."""
    built = run.created_at or run.run_started_at or job.created_at or job.started_at or EPOCH
    ended = job.completed_at or run.updated_at or built
    number = pull.number if pull is not None else next(iter(run.pull_requests), None)
    return Result(
        job_id=job.id,
        run_id=run.id,
        attempt=job.run_attempt,
        workflow=run.name,
        name=job.name,
        head_sha=run.head_sha,
        conclusion=job.conclusion or "",
        built=built,
        ended=ended,
        on_base=is_base(run, base_branch),
        pull_request=number,
        author=pull.author if pull is not None else run.actor or run.triggering_actor,
        signature=telling(diagnosis.signature, diagnosis.key_line.text if diagnosis.key_line else "")
        if diagnosis
        else "",
        cause=str(diagnosis.cause) if diagnosis else "",
        category=diagnosis.category if diagnosis else "",
        tests=diagnosis.tests if diagnosis else (),
        runner=job.runner_name or "",
        pool=pool_of(job.labels),
        waited=_waited(job),
        started=job.started_at,
        branch=run.head_branch,
    )


def _waited(job: Job) -> timedelta:
    if job.created_at is None or job.started_at is None:
        return NO_WAIT
    return max(job.started_at - job.created_at, NO_WAIT)


def pool_of(labels: tuple[str, ...]) -> str:
    """What a job asks of a runner, as one word: its labels, sorted."""
    return ",".join(sorted(labels))


def is_base(run: Run, base_branch: str) -> bool:
    """Did the run build the base branch? A fork's branch may have the same name, so the event has to be known."""
    return run.head_branch == base_branch and run.event not in ("", "pull_request", "pull_request_target")


_NAMELESS = ("no-log|", "no-job|")
_LETTERS = re.compile(r"[^\W\d_]")
TELLING = 16
"""So many letters a text needs to tell one failure from another."""


def telling(signature: str, key_line: str) -> str:
    """A signature that names one failure: a rule's alone joins what has nothing in common, so its line is added."""
    if "|" in signature or not signature:
        return signature
    return f"{signature}|{mask(key_line)[:120]}"


def telling_of(diagnosis: Diagnosis) -> str:
    """The telling signature of a diagnosis."""
    return telling(diagnosis.signature, diagnosis.key_line.text if diagnosis.key_line else "")


def is_nameless(signature: str) -> bool:
    """Is it the signature of a failure of which no log was read?"""
    return signature.startswith(_NAMELESS)


def is_specific(signature: str) -> bool:
    """Does the signature name one failure? One without a test, file or message joins what has nothing in common."""
    rule, bar, rest = signature.partition("|")
    if not bar or is_nameless(signature):
        return False
    bare = rule == "unknown" or rest.startswith("assert ")
    return not bare or len(_LETTERS.findall(rest)) >= TELLING


_SHARD = re.compile(r"^\s*(?:shard\s*)?\d+\s*(?:(?:/|of)\s*\d+)?\s*$", re.IGNORECASE)
_VALUES = re.compile(r"\(([^()]*)\)")


def leg_of(name: str) -> tuple[str, tuple[str, ...]]:
    """A job's name without the values of its matrix, and these values: `unit (3.12, 2)` is `unit ()` and 3.12.

    Numbers of shards are no values: shards are parts of one thing.
    """
    values = [value.strip() for group in _VALUES.findall(name) for value in group.split(",") if not _SHARD.match(value)]
    return _VALUES.sub("()", name), tuple(values)


_VERSION = re.compile(
    r"v?\d+(\.\d+)+\S*|\S*\d+\.\d+\S*|(?:py|cp|cu|cuda|jdk|java|node|go|rocm)-?\d+"
    r"|main|master|nightly|latest|stable|head|dev|edge|beta|canary|lts|next|oldest|newest|minimal|lowest",
    re.IGNORECASE,
)


def is_version(value: str) -> bool:
    """Does a value of a matrix name a version, a release line or a branch? `cpu x4` does not."""
    return any(_VERSION.fullmatch(word) for word in re.split(r"[\s=:@]+", value))
