"""Agreement with the labels of the recorded runs, where they are at hand."""

import json
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.judging.scoring import share

from buildeye.logs.ruleset import load_ruleset
from buildeye.model import JobFinding
from buildeye.pipeline.classify import classify
from buildeye.pipeline.metadata import read_builds
from buildeye.triage.thresholds import DEFAULTS

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "recorded"
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def recorded_jobs() -> list[tuple[JobFinding, str]]:
    """Each labelled job with what is held of it and the label; empty where the runs are not at hand."""
    if not RECORDED.is_dir():
        return []
    rows = (json.loads(line) for line in (RECORDED / "labels.jsonl").read_text(encoding="utf-8").splitlines())
    labels = {row["job_id"]: row["cause"] for row in rows}
    findings = classify(read_builds(RECORDED / "vllm_ascend_runs.jsonl.gz"), load_ruleset(), DEFAULTS, NOW)
    return [(job, labels[job.job.id]) for finding in findings for job in finding.jobs if job.job.id in labels]


def recorded_agreement() -> float | None:
    """The share of labelled jobs whose cause agrees; None where the runs are not at hand."""
    jobs = recorded_jobs()
    return share(sum(job.verdict.cause == cause for job, cause in jobs), len(jobs)) if jobs else None
