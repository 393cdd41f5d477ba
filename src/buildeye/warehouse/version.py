"""Which of two facts about one thing is the later one: a number, made from the fact alone.

Events come late, twice and in any order. ClickHouse keeps the row with the highest version, so the version must not
depend on when a row arrives. It compares, in this order: attempt, status, the moment the fact speaks of, detail (steps
done), a digest of the content (so that a tie has one winner everywhere), and the diagnosis attached to it.
"""

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final

from buildeye.model import CheckRun, Job, PullRequest, Run

_STATUS_RANK: Final = {"requested": 1, "waiting": 1, "pending": 1, "queued": 2, "in_progress": 3, "completed": 4}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

_ATTEMPT_BITS: Final = 24
_RANK_BITS: Final = 8
_MOMENT_BITS: Final = 64
_DETAIL_BITS: Final = 24
_DIGEST_BITS: Final = 32
DIAGNOSIS_BITS: Final = _MOMENT_BITS + _DIGEST_BITS


def status_rank(status: str) -> int:
    """How far along a status is: waiting, pending, requested < queued < in_progress < completed.

    A job that waits for an approval or a concurrency group is queued when it may start, not before.
    A status this version does not know ranks below all, so that it never hides one that is known.
    """
    return _STATUS_RANK.get(status, 0)


def run_version(run: Run) -> int:
    """Version of a run's row: a newer attempt beats an older one whatever their states.

    Within an attempt completed beats all; a run that is not may go back to waiting, so there the later moment counts
    and the status decides only between states of one second. One that names its pull request beats the same state
    without: GitHub names none for a run from a fork.
    """
    moment = _latest(run.created_at, run.run_started_at, run.updated_at)
    rank = status_rank(run.status)
    stage = "in_progress" if 0 < rank < status_rank("completed") else run.status
    detail = rank << (_DETAIL_BITS - 3) | _clip(len(run.pull_requests), _DETAIL_BITS - 3)
    return _fact_version(run, attempt=run.run_attempt, status=stage, moment=moment, detail=detail)


def job_version(job: Job) -> int:
    """Version of a job's row without a diagnosis; each attempt is a job of its own, so the attempt plays no part."""
    times = [job.created_at, job.started_at, job.completed_at]
    for step in job.steps:
        times += [step.started_at, step.completed_at]
    steps_done = sum(status_rank(step.status) for step in job.steps)
    return _fact_version(job, status=job.status, moment=_latest(*times), detail=steps_done)


def pull_request_version(pull: PullRequest) -> int:
    """Version of a pull request's row; one that names its changed files beats the same state without them.

    GitHub tells what happened in one second by one time: there closed beats open.
    """
    moment = _latest(pull.created_at, pull.updated_at, pull.merged_at)
    known = _clip(len(pull.changed_files) + bool(pull.merge_base_sha), _DETAIL_BITS - 1)
    return _fact_version(pull, moment=moment, detail=int(pull.state == "closed") << (_DETAIL_BITS - 1) | known)


def synced_version(run_attempt: int, moment: datetime, content: object) -> int:
    """Version of the record that an attempt's jobs are here: the newer attempt, then the later record."""
    return _fact_version(content, attempt=run_attempt, moment=moment)


def check_run_version(check: CheckRun) -> int:
    """Version of a check's row; annotations come while it runs, so more of them are later."""
    moment = _latest(check.started_at, check.completed_at)
    return _fact_version(check, status=check.status, moment=moment, detail=check.annotations_count)


def moment_version(moment: datetime | None, content: object) -> int:
    """Version of a row of which the one with the later moment counts; None is earlier than any. Below 2^256."""
    return _fact_version(content, moment=_latest(moment))


def diagnosis_version(diagnosed_at: datetime, content: object) -> int:
    """Version of a diagnosis, below 2^96: a job's version has that many low bits free for it."""
    return _microseconds(diagnosed_at) << _DIGEST_BITS | _digest(content)


def _fact_version(
    content: object, *, attempt: int = 0, status: str = "", moment: datetime = _EPOCH, detail: int = 0
) -> int:
    version = _clip(attempt, _ATTEMPT_BITS)
    version = version << _RANK_BITS | status_rank(status)
    version = version << _MOMENT_BITS | _microseconds(moment)
    version = version << _DETAIL_BITS | _clip(detail, _DETAIL_BITS)
    version = version << _DIGEST_BITS | _digest(content)
    return version << DIAGNOSIS_BITS


def _latest(*times: datetime | None) -> datetime:
    return max((time for time in times if time is not None), default=_EPOCH)


def _microseconds(moment: datetime) -> int:
    return max(0, (moment - _EPOCH) // _MICROSECOND)


def _clip(number: int, bits: int) -> int:
    return min(max(number, 0), (1 << bits) - 1)


def _digest(content: object) -> int:
    """32 bits of the content; dataclasses print all their fields, in order."""
    return int.from_bytes(blake2b(repr(content).encode(errors="surrogatepass"), digest_size=_DIGEST_BITS // 8).digest())
