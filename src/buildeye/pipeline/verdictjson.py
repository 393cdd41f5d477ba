"""Verdicts on a run as JSON: the same facts as on a terminal, under names that stay."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from buildeye.model import VerdictChange
from buildeye.pipeline.explainrun import ExplainedJob, ExplainedRun
from buildeye.pipeline.verdicts import JobVerdict, RunVerdicts


def as_json(run: RunVerdicts, jobs: Sequence[JobVerdict]) -> dict[str, Any]:
    """All that is known: `verdict` is what counts, `ours` our own judgement, `person` who overruled it or null."""
    return {
        "repository": run.repository,
        "run_id": run.run_id,
        "said": [dataclasses.asdict(said) for said in run.said],
        "jobs": [
            {
                "job_id": each.job.id,
                "name": each.job.name,
                "run_attempt": each.job.run_attempt,
                "html_url": each.job.html_url,
                "verdict": dataclasses.asdict(each.counts),
                "ours": dataclasses.asdict(each.ours),
                "person": dataclasses.asdict(each.said) if each.said else None,
                "changes": [change_as_json(each.job.name, change) for change in each.changes],
            }
            for each in jobs
        ],
    }


def change_as_json(name: str, change: VerdictChange) -> dict[str, Any]:
    """A change with the name of its job."""
    return {"name": name} | dataclasses.asdict(change)


def run_json(run: ExplainedRun) -> dict[str, Any]:
    """A run with its failed jobs; `status` and `conclusion` are '' when something failed."""
    return {
        "repository": run.repository,
        "run_id": run.run_id,
        "source": run.source,
        "status": run.status,
        "conclusion": run.conclusion,
        "jobs": [job_json(each) for each in run.jobs],
    }


def job_json(each: ExplainedJob) -> dict[str, Any]:
    """A failed job: `verdict` is what counts (a person's word wins), `ours` our own where a person overruled it."""
    judged, job = each.verdict, each.job
    return {
        "job_id": job.id,
        "name": job.name,
        "html_url": job.html_url,
        "run_attempt": job.run_attempt,
        "verdict": dataclasses.asdict(judged.counts) if judged else None,
        "ours": dataclasses.asdict(judged.ours) if judged and judged.said else None,
        "diagnosis": each.diagnosis.to_dict() if each.diagnosis else None,
        "note": each.note,
    }
