"""What is known of the verdict on one run: our own judgement of each job, a person's beside it, and what changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from buildeye.model import Job, PersonVerdict, Verdict, VerdictChange
from buildeye.pipeline.people import said_of_runs
from buildeye.triage.people import overruled, said_of
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import verdict_change_of, verdict_of

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """A judged job: our own verdict, the person's word that counts for it, and how ours changed, oldest first."""

    job: Job
    ours: Verdict
    said: PersonVerdict | None = None
    changes: tuple[VerdictChange, ...] = ()

    @property
    def counts(self) -> Verdict:
        """The verdict that counts: the person's, else ours."""
        return overruled(self.ours, self.said) if self.said else self.ours


@dataclass(frozen=True, slots=True)
class RunVerdicts:
    """All of one run: its judged jobs, every job known by name, and what people said that still counts."""

    repository: str
    run_id: int
    jobs: tuple[JobVerdict, ...]
    known: tuple[Job, ...]
    said: tuple[PersonVerdict, ...]


def verdicts_of(warehouse: Warehouse, repository: str, run_id: int) -> RunVerdicts | None:
    """What is known of a run of `repository` (`owner/name`); None when the warehouse does not know the run."""
    asked = {"repository": repository, "runs": [run_id]}
    known = [
        Job(row["job_id"], run_id, row["name"], "", run_attempt=row["run_attempt"], started_at=_time(row["started_at"]))
        for row in warehouse.ask("jobs_of_runs", **asked)
    ]
    if not known and not warehouse.ask("known_runs", **asked):
        return None
    said = said_of_runs(warehouse, repository, [run_id])
    changes = [verdict_change_of(row) for row in warehouse.ask("verdict_changes", **asked)]
    judged = []
    for row in warehouse.ask("verdicts_of_runs", **asked):
        job = Job(
            row["job_id"], run_id, row["name"], "", run_attempt=row["run_attempt"], html_url=row["html_url"],
            workflow_name=row["workflow_name"], started_at=_time(row["started_at"]), repository_full_name=repository,
        )  # fmt: skip
        own = tuple(change for change in changes if change.job_id == job.id)
        judged.append(JobVerdict(job, verdict_of(row), said_of(job, said), own))
    return RunVerdicts(repository, run_id, tuple(judged), tuple(known), tuple(said))


def say(warehouse: Warehouse, run: RunVerdicts, said: PersonVerdict) -> PersonVerdict:
    """Keep what a person said of a run or one of its jobs, and give it back as it was kept.

    It is later than what was said before and than the beginning of every job that is known, whatever our clock.
    """
    before = [each.said_at + _INSTANT for each in run.said if each.job_id == said.job_id]
    begun = [job.started_at for job in run.known if job.started_at]
    kept = replace(said, said_at=max([said.said_at, *before, *begun]))
    warehouse.write_person_verdicts([kept])
    return kept


def take_back(warehouse: Warehouse, said: Sequence[PersonVerdict], now: datetime) -> None:
    """Let our own judgement count again where a person said something."""
    warehouse.write_person_verdicts(
        [replace(each, withdrawn=True, said_at=max(now, each.said_at + _INSTANT)) for each in said]
    )


def _time(moment: datetime) -> datetime | None:
    return moment if moment.year > 1970 else None
