"""What the simulator knows of its invented repository: commits, pull requests, runs, jobs, and the truth behind each.

The truth is for tests and the demo alone; no answer over HTTP is made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from buildeye.model import Cause, Determinism, Incident, Job, PoolLoad, PullRequest, Run


@dataclass(frozen=True, slots=True)
class Truth:
    """Why a job really ended as it did, as a person who wrote the story knows it.

    `story` is the kind of story it belongs to (see `histories`; empty: none), `culprits` the pull requests that brought
    it, where somebody did.
    """

    cause: Cause
    category: str
    determinism: Determinism = Determinism.DETERMINISTIC
    story: str = ""
    culprits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Plot:
    """What the log of one job has to tell: a key of the tables of failures (empty: all went well) and the truth.

    `words` fill the placeholders of the failure's text, `around` tells what the job ran in and with (image, digest,
    versions, base); both are empty where the story does not say.
    """

    failure: str
    truth: Truth
    words: Mapping[str, str] = field(default_factory=dict)
    around: Mapping[str, str] = field(default_factory=dict)


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
    more than `log_days` days before `now` have expired, as have those in `lost_logs` (ids of jobs). `forks` are the
    authors who push to their own fork, for whom GitHub leaves a run's `pull_requests` empty. `incidents` are what
    GitHub declared of itself, `loads` how busy the pools of runners were, where the story says so.
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
    loads: tuple[PoolLoad, ...] = ()
    lost_logs: frozenset[int] = frozenset()
    _runs: Mapping[int, Run] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_runs", {run.id: run for run in self.attempts})

    @property
    def full_name(self) -> str:
        """The repository as `owner/name`."""
        return f"{self.owner}/{self.name}"

    def run(self, run_id: int) -> Run:
        """The latest attempt of a run. Raises KeyError for a run that is not of this past."""
        return self._runs[run_id]

    def expected(self, job_id: int) -> tuple[Cause, str]:
        """The true cause and category of a job. Raises KeyError for a job that is not of this past."""
        truth = self.plots[job_id].truth
        return truth.cause, truth.category

    def truth(self, job_id: int) -> Truth:
        """The whole truth of a job, with determinism. Raises KeyError for a job that is not of this past."""
        return self.plots[job_id].truth

    def log_expired(self, job: Job) -> bool:
        """Whether GitHub would have deleted the log of a job by now."""
        if job.id in self.lost_logs:
            return True
        return job.completed_at is not None and job.completed_at < self.now - timedelta(days=self.log_days)
