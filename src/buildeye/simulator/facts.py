"""What the simulator knows of its invented repository: commits, pull requests, runs, jobs, and the truth behind each.

The truth is for tests and the demo alone; no answer over HTTP is made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from buildeye.model import Cause, Determinism, Incident, Job, PullRequest, Run


@dataclass(frozen=True, slots=True)
class Truth:
    """Why a job really ended as it did, as a person who wrote the story knows it."""

    cause: Cause
    category: str
    determinism: Determinism = Determinism.DETERMINISTIC


@dataclass(frozen=True, slots=True)
class Plot:
    """What the log of one job has to tell: a key of `failures.FAILURES` (empty: all went well) and the truth."""

    failure: str
    truth: Truth


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; `branch` is where it was made, `pull` the pull request it belongs to (None: it has none)."""

    sha: str
    message: str
    author: str
    at: datetime
    branch: str
    parents: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    pull: int | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    """One workflow file of the repository."""

    id: int
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Past:
    """All that happened in one repository up to `now`.

    `attempts` holds every attempt of every run, oldest first; `jobs` those of all attempts. Logs of jobs that ended
    more than `log_days` days before `now` have expired. `forks` are the authors who push to their own fork, for whom
    GitHub leaves a run's `pull_requests` empty. `incidents` are what its status page tells.
    """

    seed: int
    now: datetime
    owner: str
    name: str
    workflows: tuple[Workflow, ...]
    commits: tuple[Commit, ...]
    pulls: tuple[PullRequest, ...]
    attempts: tuple[Run, ...]
    jobs: tuple[Job, ...]
    forks: frozenset[str] = frozenset()
    log_days: float = 14
    plots: Mapping[int, Plot] = field(default_factory=dict, repr=False)
    incidents: tuple[Incident, ...] = ()

    @property
    def full_name(self) -> str:
        """The repository as `owner/name`."""
        return f"{self.owner}/{self.name}"

    def expected(self, job_id: int) -> tuple[Cause, str]:
        """The true cause and category of a job. Raises KeyError for a job that is not of this past."""
        truth = self.plots[job_id].truth
        return truth.cause, truth.category

    def truth(self, job_id: int) -> Truth:
        """The whole truth of a job, with determinism. Raises KeyError for a job that is not of this past."""
        return self.plots[job_id].truth

    def log_expired(self, job: Job) -> bool:
        """Whether GitHub would have deleted the log of a job by now."""
        return job.completed_at is not None and job.completed_at < self.now - timedelta(days=self.log_days)
