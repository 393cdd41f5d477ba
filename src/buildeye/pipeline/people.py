"""A person's word over our own judgement, in what is told. What the warehouse keeps as ours stays ours."""

from collections.abc import Sequence
from dataclasses import replace

from buildeye.model import Cause, Finding, PersonVerdict
from buildeye.triage.judge import speak_for_run
from buildeye.triage.people import overruled, said_of
from buildeye.warehouse import Warehouse
from buildeye.warehouse.reading import person_verdict_of


def overrule(findings: Sequence[Finding], warehouse: Warehouse, repository: str) -> list[Finding]:
    """The findings with what people said of their runs over our verdicts."""
    said = said_of_runs(warehouse, repository, [finding.run.id for finding in findings])
    return [_overruled(finding, said) for finding in findings] if said else list(findings)


def said_of_runs(warehouse: Warehouse, repository: str, runs: Sequence[int]) -> list[PersonVerdict]:
    """What people said of runs of `repository` (`owner/name`) and did not take back."""
    if not runs:
        return []
    rows = warehouse.ask("person_verdicts", repository=repository, runs=sorted(set(runs)))
    return [person_verdict_of(row) for row in rows]


def _overruled(finding: Finding, given: Sequence[PersonVerdict]) -> Finding:
    words = [(job, said_of(job.job, given)) for job in finding.jobs]
    if not any(said for _, said in words):
        return finding
    jobs = tuple(replace(job, verdict=overruled(job.verdict, said)) if said else job for job, said in words)
    verdict = speak_for_run(job.verdict for job in jobs)
    related = finding.related_pull_requests if verdict.cause is Cause.INTERFERENCE else ()
    return replace(finding, jobs=jobs, verdict=verdict, related_pull_requests=related)
