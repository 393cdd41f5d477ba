"""What the client answers with where `buildeye.model` has no word for it. All frozen; times are aware and in UTC."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from buildeye.model import Job, Run


class LogState(StrEnum):
    """What became of asking for one job's log."""

    SAVED = "saved"
    EXPIRED = "expired"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LogDownload:
    """One job's log: the `.log.zst` file when saved, else none; `error` says why it failed.

    `size_bytes` is the size of the compressed file. Expired means that GitHub no longer has the log.
    """

    job_id: int
    state: LogState
    path: Path | None = None
    size_bytes: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class JobsOfRun:
    """A run with its jobs; `error` is the reason when they could not be had."""

    run: Run
    jobs: tuple[Job, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; `changed_files` are repository paths, empty when GitHub does not list them there."""

    sha: str
    message: str = ""
    author: str = ""
    committed_at: datetime | None = None
    parents: tuple[str, ...] = ()
    changed_files: tuple[str, ...] = ()
    html_url: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment on a pull request; `app_id` is the App that wrote it, 0 when none did."""

    id: int
    body: str
    author: str = ""
    is_bot: bool = False
    app_id: int = 0
    html_url: str = ""


@dataclass(frozen=True, slots=True)
class PostedCheck:
    """One check run as it shows on a commit; `external_id` is its maker's own mark, `app_id` the App that made it."""

    id: int
    status: str
    conclusion: str
    title: str
    summary: str
    external_id: str = ""
    app_id: int = 0
    html_url: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `head` has that `base` has not: commits oldest first, and the files they change (at most 300)."""

    merge_base_sha: str
    status: str
    ahead_by: int
    behind_by: int
    commits: tuple[Commit, ...] = ()
    changed_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Requests an hour GitHub grants, how many are left, and when the count starts anew."""

    limit: int
    remaining: int
    reset_at: datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """Requests a client has sent to the API, retries included; `not_modified` of them were answered from the cache.

    `remaining` is what GitHub last said is left of `limit` requests an hour; None when it has not said so. `reset_at`
    is when the count starts anew, by this machine's clock.
    """

    requests: int = 0
    not_modified: int = 0
    remaining: int | None = None
    limit: int | None = None
    reset_at: datetime | None = None
