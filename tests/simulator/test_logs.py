"""Logs look like GitHub's, are the same each time, and tell what the story says."""

import io
import re
import statistics
import zipfile

import pytest

from buildeye.model import Job
from buildeye.simulator import Past
from buildeye.simulator.chance import chance
from buildeye.simulator.failures import FAILURES
from buildeye.simulator.logs import has_log, render_log, zip_logs

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ")
KEY_TEXT = {
    "pytest-assertion": "AssertionError: assert 3 == 2",
    "trunk-dflash": "ValueError: too many values to unpack",
    "import-error": "ModuleNotFoundError: No module named",
    "vllm-api": "got an unexpected keyword argument",
    "kernel-compile": "error: no matching function for call to 'DataCopyPad'",
    "cmake": "CMake Error at csrc/CMakeLists.txt:57",
    "mypy": "[union-attr]",
    "ruff-format": "files were modified by this hook",
    "pr-title": "##[error]PR title must start with",
    "docs-link": "404 Client Error: Not Found for url",
    "eslint": "react-hooks/rules-of-hooks",
    "pip-index": "host='cache-service.nginx-pypi-cache",
    "docker-pull": "##[error]Docker pull failed with exit code 1",
    "disk-full": "No space left on device",
    "oom-killed": "##[error]Process completed with exit code 137.",
    "git-fetch": "The requested URL returned error: 502",
    "artifact-upload": "Failed to CreateArtifact",
    "csrc-cache": "Failed to restore cache entry",
    "hccl-timeout": "EI0006",
    "npu-unavailable": "The device is unavailable.",
    "job-timeout": "has exceeded the maximum execution time of",
    "runner-lost": "lost communication with the server",
    "superseded": "##[error]The operation was canceled.",
}


def _first(past: Past, failure: str) -> Job:
    return next(job for job in past.jobs if past.plots[job.id].failure == failure and has_log(job))


def _text(past: Past, job: Job) -> str:
    return render_log(past, job).decode("utf-8-sig")


@pytest.mark.parametrize("failure", sorted(KEY_TEXT))
def test_the_log_of_a_failed_job_says_why(past: Past, failure: str) -> None:
    text = _text(past, _first(past, failure))
    assert KEY_TEXT[failure] in text
    assert "${" not in text


@pytest.mark.parametrize("failure", sorted(KEY_TEXT.keys() - {"superseded"}))
def test_the_log_of_a_green_job_of_the_same_name_does_not_say_so(past: Past, failure: str) -> None:
    failed = _first(past, failure)
    green = next(job for job in past.jobs if job.name == failed.name and job.conclusion == "success")
    assert KEY_TEXT[failure] not in _text(past, green)
    assert "##[error]" not in _text(past, green)


@pytest.mark.parametrize("failure", ["pytest-assertion", "docker-pull", "runner-lost"])
def test_the_log_is_the_same_each_time(past: Past, failure: str) -> None:
    job = _first(past, failure)
    assert render_log(past, job) == render_log(past, job)


@pytest.mark.parametrize("failure", sorted(FAILURES.keys() - {"runner-gone"}))
def test_each_line_has_a_time_within_the_job_and_times_do_not_go_back(past: Past, failure: str) -> None:
    job = _first(past, failure)
    lines = _text(past, job).splitlines()
    assert all(LINE.match(line) for line in lines)
    stamps = [line[:19] for line in lines]
    assert stamps == sorted(stamps)
    assert job.started_at
    assert job.completed_at
    assert f"{job.started_at:%Y-%m-%dT%H:%M:%S}" <= stamps[0]
    assert stamps[-1] <= f"{job.completed_at:%Y-%m-%dT%H:%M:%S}"


def test_a_log_begins_with_the_runner_and_ends_with_its_clean_up(past: Past) -> None:
    raw = render_log(past, _first(past, "mypy"))
    lines = raw.decode("utf-8-sig").splitlines()
    assert raw.startswith(b"\xef\xbb\xbf")
    assert lines[0].endswith("Current runner version: '2.334.0'")
    assert any(line.endswith("Complete job name: lint / pre-commit") for line in lines)
    assert any(line.endswith("Post job cleanup.") for line in lines)
    assert lines[-1].endswith("Cleaning up orphan processes")


def test_logs_have_real_sizes(past: Past) -> None:
    sample = chance("sizes").sample([job for job in past.jobs if has_log(job)], 50)
    sizes = [render_log(past, job).count(b"\n") for job in sample]
    assert 1_000 <= statistics.median(sizes) <= 5_000
    assert render_log(past, _first(past, "hccl-timeout")).count(b"\n") > 10_000


def test_a_passing_log_holds_what_misleads(past: Past) -> None:
    job = next(job for job in past.jobs if "multicard-4-full" in job.name and job.conclusion == "success")
    text = _text(past, job)
    for misleading in ("0 errors", "expected by this test", "Traceback", "timeout=1800", "WARNING", "Retrying"):
        assert misleading in text


def test_a_job_whose_runner_was_gone_has_no_log(past: Past) -> None:
    job = next(job for job in past.jobs if past.plots[job.id].failure == "runner-gone")
    with pytest.raises(KeyError):
        render_log(past, job)


def test_the_zip_holds_each_log_whole_and_cut_at_its_steps(past: Past) -> None:
    job = _first(past, "mypy")
    jobs = tuple(one for one in past.jobs if (one.run_id, one.run_attempt) == (job.run_id, job.run_attempt))
    data = zip_logs(past, jobs)
    assert data == zip_logs(past, jobs)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        whole = next(name for name in names if name.endswith("_lint _ pre-commit.txt"))
        assert archive.read(whole) == render_log(past, job)
        steps = [name for name in names if name.startswith("lint _ pre-commit/")]
        assert "".join(archive.read(name).decode() for name in steps) == _text(past, job)
