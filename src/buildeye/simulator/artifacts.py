"""What jobs leave behind: a zip with a JUnit report of each unit-test job, and one with timings of each end-to-end job.

Made when asked for, the same bytes each time; a report tells the same tests as the job's log.
"""

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from string import Template
from xml.sax.saxutils import quoteattr

from buildeye.model import Job, Step
from buildeye.simulator.chance import chance
from buildeye.simulator.facts import Past
from buildeye.simulator.logs import shape_of
from buildeye.simulator.more_failures import failure_of
from buildeye.simulator.noise_tests import session_body
from buildeye.simulator.render_common import Json, moment, node, number_of

FIRST_ARTIFACT = 3410200000
REPORTING = re.compile(r"/ (?:smart-ut|unit)\b")
"""Jobs that upload a JUnit report."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One artifact: which job made it, and in which of its steps (an index)."""

    id: int
    name: str
    job: Job
    step: int
    created_at: datetime


def artifacts_of(past: Past) -> dict[int, Artifact]:
    """All artifacts by id, newest first, as GitHub lists them."""
    made = sorted(_made(past), key=lambda each: (each[0], each[2].id))
    found = [Artifact(FIRST_ARTIFACT + 11 * n, name, job, step, at) for n, (at, name, job, step) in enumerate(made)]
    return {artifact.id: artifact for artifact in reversed(found)}


def _made(past: Past) -> Iterator[tuple[datetime, str, Job, int]]:
    for job in past.jobs:
        slug = re.sub(r"[^a-z0-9]+", "-", job.name.lower()).strip("-")
        for index, step in enumerate(job.steps):
            if step.completed_at is None:
                continue
            if shape_of(job).steps[index].kind == "test" and REPORTING.search(job.name) and _reports(past, job, step):
                yield step.completed_at, f"junit-{slug}-{job.run_attempt}", job, index
            elif step.name == "Upload timing data" and step.conclusion == "success":
                yield step.completed_at, f"timing-data-{slug}-{job.run_attempt}", job, index


def _reports(past: Past, job: Job, step: Step) -> bool:
    """Whether the test session lived to write its report."""
    return step.conclusion == "success" or (step.conclusion == "failure" and bool(_failing(past, job)))


def _failing(past: Past, job: Job) -> str:
    plot = past.plots[job.id]
    failure = failure_of(plot.failure)
    return Template(failure.test).safe_substitute(plot.words) if failure else ""


def artifact_json(api: str, past: Past, artifact: Artifact) -> Json:
    """An artifact as the REST API tells it."""
    content = artifact_zip(past, artifact)
    url = f"{api}/repos/{past.full_name}/actions/artifacts/{artifact.id}"
    repository = number_of("repository", past.owner, past.name)
    return {
        "id": artifact.id,
        "node_id": node("A", artifact.id),
        "name": artifact.name,
        "size_in_bytes": len(content),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": past.log_expired(artifact.job),
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "created_at": moment(artifact.created_at),
        "expires_at": moment(artifact.created_at + timedelta(days=past.log_days)),
        "updated_at": moment(artifact.created_at),
        "workflow_run": {
            "id": artifact.job.run_id,
            "repository_id": repository,
            "head_repository_id": repository,
            "head_branch": artifact.job.head_branch,
            "head_sha": artifact.job.head_sha,
        },
    }


def artifact_zip(past: Past, artifact: Artifact) -> bytes:
    """The zip of an artifact."""
    if artifact.name.startswith("junit-"):
        failing = _failing(past, artifact.job) if artifact.job.steps[artifact.step].conclusion == "failure" else ""
        lines = shape_of(artifact.job).lines
        text = _junit(past.seed, artifact.job.id, artifact.step, lines, failing)
        return _zipped("reports/unit/junit.xml", text, artifact.created_at)
    return _zipped("timing.json", json.dumps({"job": artifact.job.name}), artifact.created_at)


@cache
def _junit(seed: int, job_id: int, step: int, lines: int, failing: str) -> str:
    told = session_body(chance(seed, job_id, step), lines, {"ws": "", "month_day": ""}, failing)
    rng = chance(seed, job_id, "junit")
    cases = [_case(found[1], found[2], found[3], rng.uniform(0.001, 2)) for found in map(_RESULT.match, told) if found]
    failures = sum("<failure" in case for case in cases)
    counts = f'errors="0" failures="{failures}" skipped="0" tests="{len(cases)}"'
    return (
        '<?xml version="1.0" encoding="utf-8"?><testsuites>'
        f'<testsuite name="pytest" {counts} time="612.340" hostname="runner">{"".join(cases)}</testsuite></testsuites>'
    )


_RESULT = re.compile(r"(tests/\S+\.py)::(\S+) (PASSED|FAILED) \[")


def _case(file: str, name: str, word: str, seconds: float) -> str:
    module = file.removesuffix(".py").replace("/", ".")
    inner = ""
    if word == "FAILED":
        inner = f"<failure message={quoteattr('assert 3 == 4')}>{file}:41: AssertionError</failure>"
    return (
        f'<testcase classname="{module}" name={quoteattr(name)} file="{file}" line="40" time="{seconds:.3f}">'
        f"{inner}</testcase>"
    )


def _zipped(name: str, text: str, at: datetime) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name, (at.year, at.month, at.day, at.hour, at.minute, at.second // 2 * 2))
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, text)
    return buffer.getvalue()
