"""Which job made an artifact. GitHub does not say; the times of the jobs and the artifact's name mostly do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_LATE: Final = timedelta(seconds=60)
"""An artifact may be called made so long after the job that made it has ended."""


@dataclass(frozen=True, slots=True)
class JobTime:
    """A job of one attempt of a run and when it ran; None where it did not start or end."""

    job_id: int
    run_attempt: int
    name: str
    started_at: datetime | None = None
    completed_at: datetime | None = None


def maker_of(name: str, made_at: datetime | None, jobs: Sequence[JobTime]) -> tuple[int, int]:
    """The job (0 when it is not known) and the attempt that made the artifact `name`, among all jobs of its run.

    In this order: jobs that ran when it was made; of those the one whose number is in the name, the only one, the one
    whose own name is in the name at greatest length. Two that fit alike: not known.
    """
    started = [job for job in jobs if made_at is None or (job.started_at and job.started_at <= made_at)]
    attempt = max((job.run_attempt for job in started), default=1)
    among = [job for job in started if job.run_attempt == attempt]
    if made_at is not None:
        among = [job for job in among if job.completed_at is None or made_at <= job.completed_at + _LATE] or among
    numbers = {int(number) for number in re.findall(r"[0-9]{6,18}", name)}
    by_number = [job for job in among if job.job_id in numbers]
    if len(by_number) == 1 or len(among) == 1:
        return (by_number or among)[0].job_id, attempt
    lengths = {job.job_id: _named(job.name, _slug(name)) for job in among}
    best = max(lengths.values(), default=0)
    fits = [job_id for job_id, length in lengths.items() if length == best]
    return (fits[0] if best and len(fits) == 1 else 0), attempt


def _named(job: str, artifact: str) -> int:
    """How much of a job's name the artifact's holds: all of it, or its last part; 0 for neither."""
    slugs = (_slug(job), _slug(job.rpartition("/")[2]))
    return max((len(slug) for slug in slugs if slug and f"-{slug}-" in f"-{artifact}-"), default=0)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
