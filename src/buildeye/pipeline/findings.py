"""The file form of findings: `classifications.json` and `recommendations.json`.

Every entry keeps the original system's fields (workflow_run_id, workflow_name, pr_number, pipeline_type,
classification) and carries one diagnosis a failed job under `jobs`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from buildeye.model import Finding
from buildeye.pipeline.stagefiles import parse, read_items, write_json

_ADAPTER = TypeAdapter(Finding)
_SHOWN = ("cause", "category", "confidence", "level", "determinism", "signature")


def to_json(finding: Finding) -> dict[str, Any]:
    """One entry: the original fields first, then everything needed to report without asking anything again."""
    whole = json.loads(_ADAPTER.dump_json(finding))
    whole["jobs"] = [_job(job) for job in whole["jobs"]]
    pr = finding.pull_request
    return {
        "workflow_run_id": finding.run.id,
        "workflow_name": finding.run.name,
        "pr_number": pr.number if pr else None,
        "pipeline_type": finding.pipeline_type,
        "classification": finding.verdict.cause.value,
        "confidence": finding.verdict.confidence,
        **{k: v for k, v in whole.items() if k != "pipeline_type"},
    }


def _job(job: dict[str, Any]) -> dict[str, Any]:
    verdict, diagnosis = job["verdict"], job["diagnosis"]
    return {
        "job_id": verdict["job_id"],
        "job_name": job["job"]["name"],
        **{key: verdict[key] for key in _SHOWN},
        "summary": diagnosis["summary"],
        "key_line": diagnosis["key_line"],
        **{key: value for key, value in job.items() if key != "environment"},
    }


def write_findings(path: Path, findings: Sequence[Finding], list_key: str) -> None:
    """Write findings under `list_key`: `classifications` or `recommendations`."""
    write_json(path, {list_key: [to_json(f) for f in findings]})


def read_findings(path: Path, list_key: str, stage: str) -> list[Finding]:
    """Read what `build-eye <stage>` wrote; raises UsageError that names the entry and the field that is missing."""
    return [parse(_ADAPTER, item, path, i, stage) for i, item in enumerate(read_items(path, list_key, stage))]
