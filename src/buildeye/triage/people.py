"""What people said of failures: which word counts for a job, and a verdict with that word over our own judgement."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from buildeye.model import WHOLE_RUN, Cause, Job, Level, PersonVerdict, Reason, Verdict, home_cause

SAID = "said"
"""Id of the reason that holds a person's word: its quote is who, its why the word."""
OVERRULED = "overruled"
"""Id of the reason that holds what we judged, when that was something else."""

_GENERIC: Final = {
    Cause.CODE: "test-failure",
    Cause.CONFIGURATION: "workflow",
    Cause.INFRASTRUCTURE: "runner-host",
    Cause.INTERFERENCE: "broken-trunk",
    Cause.CANCELLED: "by-user",
    Cause.NONE: "none",
    Cause.UNKNOWN: "unknown",
}
"""The category of a cause when nobody named one that belongs to it."""


def said_of(job: Job, verdicts: Iterable[PersonVerdict]) -> PersonVerdict | None:
    """The word that counts for a failed job; None when nobody judged it.

    One about the job beats one about its run, a later one an earlier one; after one that was taken back nothing earlier
    counts. A word about a run is not about a job that began after it, as in a re-run. Their order does not matter.
    """
    given = [said for said in verdicts if said.run_id == job.run_id]
    of_job = [said for said in given if said.job_id == job.id != WHOLE_RUN]
    of_run = [said for said in given if said.job_id == WHOLE_RUN and not _began_after(job, said.said_at)]
    last = (max(among, key=_age) for among in (of_job, of_run) if among)
    return next((said for said in last if not said.withdrawn), None)


def overruled(verdict: Verdict, said: PersonVerdict) -> Verdict:
    """The verdict as a person judged it, sure of itself; our own reasons follow as what we thought."""
    category = said.category or category_for(said.cause, verdict.category)
    interference = said.cause is Cause.INTERFERENCE
    return replace(
        verdict,
        cause=said.cause,
        category=category,
        confidence=1.0,
        level=Level.HIGH,
        reasons=(Reason("person", SAID, said.person, said.why), *_thought(verdict, said.cause, category)),
        merge_range=verdict.merge_range if interference else None,
        culprits=verdict.culprits if interference else (),
        related_pull_requests=verdict.related_pull_requests if interference else (),
        person=said.person,
    )


def category_for(cause: Cause, ours: str) -> str:
    """The category when a person named a cause only: ours if it belongs to that cause, else a general one."""
    return ours if home_cause(ours) is cause else _GENERIC[cause]


def word_of(verdict: Verdict) -> Reason | None:
    """What the person said whose verdict this is; None for our own judgement."""
    return next((reason for reason in verdict.reasons if verdict.person and reason.id == SAID), None)


def _thought(verdict: Verdict, cause: Cause, category: str) -> tuple[Reason, ...]:
    """Our reasons, after the verdict they were for when it was another one."""
    ours = tuple(reason for reason in verdict.reasons if (reason.kind, reason.id) != ("person", SAID))
    if verdict.person or (verdict.cause, verdict.category) == (cause, category):
        return ours
    judged = f"{verdict.cause} / {verdict.category}, {verdict.confidence * 100:.0f} %"
    return (Reason("person", OVERRULED, judged, "what Build-Eye judged, for the reasons that follow"), *ours)


def _began_after(job: Job, said_at: datetime) -> bool:
    return job.started_at is not None and job.started_at > said_at


def _age(said: PersonVerdict) -> tuple[datetime, str]:
    """Later is greater; of two of one moment always the same one."""
    return said.said_at, repr(said)
