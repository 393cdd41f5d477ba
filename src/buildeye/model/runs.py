"""Facts of CI in GitHub's words: runs, their jobs and steps, and the pull requests, pushes and checks around them.

Times are aware datetimes in UTC; None where GitHub gives none. `conclusion` is None until completed.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a job, numbered from 1 as GitHub numbers it."""

    name: str
    number: int
    status: str
    conclusion: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One job of one attempt of a run."""

    id: int
    run_id: int
    name: str
    status: str
    conclusion: str | None = None
    run_attempt: int = 1
    workflow_name: str = ""
    head_sha: str = ""
    head_branch: str = ""
    created_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    runner_id: int | None = None
    runner_name: str | None = None
    runner_group_name: str | None = None
    labels: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    html_url: str = ""
    repository_full_name: str = ""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request; `changed_files` are repository paths, empty when not asked for, as is `merge_base_sha`."""

    number: int
    title: str = ""
    author: str = ""
    state: str = ""
    base_ref: str = ""
    base_sha: str = ""
    head_ref: str = ""
    head_sha: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None
    html_url: str = ""
    changed_files: tuple[str, ...] = ()
    repository_full_name: str = ""
    merge_base_sha: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One workflow run; `path` is the workflow file, `pull_requests` the numbers GitHub knows of."""

    id: int
    name: str
    status: str
    conclusion: str | None = None
    event: str = ""
    workflow_id: int = 0
    path: str = ""
    head_sha: str = ""
    head_branch: str = ""
    run_attempt: int = 1
    run_number: int = 0
    created_at: datetime | None = None
    run_started_at: datetime | None = None
    updated_at: datetime | None = None
    actor: str = ""
    triggering_actor: str = ""
    display_title: str = ""
    html_url: str = ""
    pull_requests: tuple[int, ...] = ()
    repository_full_name: str = ""


@dataclass(frozen=True, slots=True)
class Push:
    """One push to a branch or tag; `ref` is the full one (`refs/heads/main`), `message` that of the head commit."""

    repository_full_name: str
    ref: str
    after: str
    before: str = ""
    message: str = ""
    author_name: str = ""
    author_login: str = ""
    committed_at: datetime | None = None
    pusher: str = ""
    forced: bool = False
    deleted: bool = False
    pushed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One check on a commit, by `app`: GitHub Actions makes one a job, other services make their own."""

    repository_full_name: str
    id: int
    name: str
    status: str
    conclusion: str | None = None
    head_sha: str = ""
    app: str = ""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    annotations_count: int = 0
    details_url: str = ""
    html_url: str = ""
