"""355 recorded runs in the original system's own form: who failed is told, who did not is left alone."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from buildeye.logs.ruleset import load_ruleset
from buildeye.model import Cause, Finding, JobFinding, Level
from buildeye.pipeline.classify import cancelled, classify
from buildeye.pipeline.metadata import Build, read_builds
from buildeye.triage.thresholds import DEFAULTS, Thresholds
from tests.triage.cases import NOW

RECORDED = Path(__file__).parents[3] / "shared" / "corpus" / "recorded"
SURE = 0.9
AGREEMENT = 0.92
"""The share of labelled jobs whose cause is judged as it is labelled: 100 of 108 when it was measured, rounded down."""

pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason=f"the recorded runs are not at {RECORDED}")


@pytest.fixture(scope="module")
def builds() -> list[Build]:
    return read_builds(RECORDED / "vllm_ascend_runs.jsonl.gz")


@pytest.fixture(scope="module")
def findings(builds: list[Build]) -> list[Finding]:
    return classify(builds, load_ruleset(), Thresholds(), NOW)


@pytest.fixture(scope="module")
def labels() -> dict[int, dict[str, Any]]:
    rows = [json.loads(line) for line in (RECORDED / "labels.jsonl").read_text().splitlines()]
    return {row["job_id"]: row for row in rows}


@pytest.fixture(scope="module")
def jobs(findings: list[Finding], labels: dict[int, dict[str, Any]]) -> dict[int, JobFinding]:
    """What was found of each labelled job."""
    return {job.job.id: job for finding in findings for job in finding.jobs if job.job.id in labels}


def test_runs_that_did_not_fail_yield_nothing(builds: list[Build], findings: list[Finding]) -> None:
    ended = Counter(build.run.conclusion for build in builds)
    assert (ended["skipped"], ended["success"]) == (140, 47)
    assert {finding.run.conclusion for finding in findings} == {"failure", "cancelled"}
    assert len({finding.run.id for finding in findings}) == len(findings)


def test_every_run_that_failed_is_told(builds: list[Build], findings: list[Finding]) -> None:
    failed = {build.run.id for build in builds if build.run.conclusion == "failure"}
    assert len(failed) == 110
    assert failed <= {finding.run.id for finding in findings}


def test_a_cancelled_run_is_told_only_when_a_job_had_failed_in_it(builds: list[Build], findings: list[Finding]) -> None:
    stopped = [build for build in builds if build.run.conclusion == "cancelled"]
    with_failures = {build.run.id for build in stopped if build.failed}
    assert {f.run.id for f in findings if f.run.conclusion == "cancelled"} == with_failures
    assert {build.run.id for build, _ in cancelled(builds)} == {build.run.id for build in stopped} - with_failures


def test_a_failed_run_of_which_no_job_is_known_is_unknown(findings: list[Finding], jobs: dict[int, JobFinding]) -> None:
    bare = [finding for finding in findings if not any(job.job.id in jobs for job in finding.jobs)]
    assert len(bare) == 45
    assert {finding.verdict.cause for finding in bare} == {Cause.UNKNOWN}


def test_every_excerpt_gets_a_diagnosis_that_quotes_a_line_of_it(
    builds: list[Build], jobs: dict[int, JobFinding], labels: dict[int, dict[str, Any]]
) -> None:
    excerpts = {f.job.id: f.log_excerpt for build in builds for f in build.failed}
    assert jobs.keys() == labels.keys()
    assert len(jobs) == 108
    for number, job in jobs.items():
        key = job.diagnosis.key_line
        assert key is not None, number
        assert key.text.strip(), number
        assert 1 <= key.number <= excerpts[number].count("\n") + 1
        assert any(line.number == key.number for line in job.lines)
        assert job.diagnosis.summary


def test_no_verdict_that_is_sure_of_itself_contradicts_the_label(
    jobs: dict[int, JobFinding], labels: dict[int, dict[str, Any]]
) -> None:
    for number, job in jobs.items():
        for said in (job.diagnosis, job.verdict):
            if said.confidence >= SURE:
                assert said.cause == labels[number]["cause"], (number, job.diagnosis.summary)


def test_more_causes_are_right_than_the_original_system_had(
    jobs: dict[int, JobFinding], labels: dict[int, dict[str, Any]]
) -> None:
    right = sum(job.verdict.cause == labels[number]["cause"] for number, job in jobs.items())
    original = sum(label["original"] == label["cause"] for label in labels.values())
    assert original == 74
    assert right > original + 10
    assert right / len(jobs) >= AGREEMENT


@pytest.mark.parametrize("level", [Level.MEDIUM, Level.LOW])
def test_each_word_of_confidence_is_right_as_often_as_it_promises(
    level: Level, jobs: dict[int, JobFinding], labels: dict[int, dict[str, Any]]
) -> None:
    said = [job.verdict.cause == labels[number]["cause"] for number, job in jobs.items() if job.verdict.level is level]
    assert said
    assert sum(said) / len(said) >= getattr(DEFAULTS, level)


def test_files_alone_are_no_history_so_no_verdict_is_sure(jobs: dict[int, JobFinding]) -> None:
    assert not [job for job in jobs.values() if job.verdict.level is Level.HIGH]
    assert all(any(r.id.endswith("-missing") for r in job.verdict.reasons) for job in jobs.values())


def test_nothing_of_a_runners_own_error_mark_makes_a_compile_error(jobs: dict[int, JobFinding]) -> None:
    compiles = [job for job in jobs.values() if job.diagnosis.category in ("compile", "kernel-compile", "link")]
    assert len(compiles) <= 10


def test_the_file_may_be_plain_as_well(findings: list[Finding], tmp_path: Path) -> None:
    plain = tmp_path / "runs.jsonl"
    plain.write_bytes(gzip.decompress((RECORDED / "vllm_ascend_runs.jsonl.gz").read_bytes()))
    assert len(read_builds(plain)) == 355
