"""What is kept besides the model's own words: what belongs to a job but is no judgement of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from buildeye.model import Diagnosis, Thing


@dataclass(frozen=True, slots=True)
class JobDiagnosis:
    """The diagnosis of a job's log and whose it is; of two, the one with the later `diagnosed_at` (UTC) counts."""

    repository_full_name: str
    run_id: int
    job_id: int
    diagnosis: Diagnosis
    diagnosed_at: datetime


@dataclass(frozen=True, slots=True)
class KeptLog:
    """Where a job's log is. `place` is empty when we hold no copy; `size_bytes` and `sha256` are of the raw bytes.

    `expired` says that GitHub has it no longer, `checked_at` (UTC) when all this was true.
    """

    repository_full_name: str
    run_id: int
    job_id: int
    checked_at: datetime
    place: str = ""
    size_bytes: int | None = None
    sha256: str = ""
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a green run of a job printed: the hashes (64 bits, unsigned) of its masked lines; order does not matter.

    Of two for one job name and branch the one completed later counts.
    """

    repository_full_name: str
    job_name: str
    branch: str
    job_id: int
    head_sha: str
    completed_at: datetime
    line_hashes: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class JobEnvironment:
    """What a job ran in and with, as its log tells; of two, the one with the later `read_at` (UTC) counts."""

    repository_full_name: str
    run_id: int
    job_id: int
    things: Sequence[Thing]
    read_at: datetime


@dataclass(frozen=True, slots=True)
class SyncCursor:
    """How far one stream of GitHub's facts has been read: everything from `since` to `reached` (UTC) is here.

    `stream` names it (`runs`, `pull requests`, `branch main` ...), `seen` is what was newest then, as the stream writes
    it. Of two the one saved later counts.
    """

    repository_full_name: str
    stream: str
    since: datetime
    reached: datetime
    seen: str
    saved_at: datetime


@dataclass(frozen=True, slots=True)
class SyncedRun:
    """All jobs of a run are here, up to attempt `run_attempt`; or GitHub has the run no longer (`gone`).

    `no_pull_request`: GitHub was asked whose pull request it built, and knows none.
    """

    repository_full_name: str
    run_id: int
    run_attempt: int
    synced_at: datetime
    gone: bool = False
    no_pull_request: bool = False
