"""Every answer fits GitHub's published OpenAPI description."""

from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from buildeye.simulator import Past
from buildeye.simulator.artifacts import artifacts_of
from buildeye.simulator.server import running

WHERE = "urn:github"


def _check(described: dict[str, Any], path: str, body: Any) -> None:
    resource = Resource.from_contents({"components": described["components"]}, default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(WHERE, resource)
    schema = {"$id": f"{WHERE}/answer", "allOf": [_absolute(described["answers"][path])]}
    validator = Draft202012Validator(schema, registry=registry)
    problems = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(body)]
    assert not problems, problems[:5]


def _absolute(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: f"{WHERE}{part}" if key == "$ref" else _absolute(part) for key, part in schema.items()}
    return [_absolute(part) for part in schema] if isinstance(schema, list) else schema


def _urls(past: Past) -> list[tuple[str, str]]:
    """An address for each described path, and more where an answer has several faces."""
    rerun = next(run for run in past.attempts if run.run_attempt == 2)
    failed = next(job for job in past.jobs if job.conclusion == "failure" and job.steps)
    gone = next(job for job in past.jobs if past.plots[job.id].failure == "runner-gone")
    going = next(run for run in past.attempts if run.status == "in_progress")
    waiting = next(run for run in past.attempts if run.status == "queued")
    merged, fresh = past.pulls[0], past.pulls[-1]
    tip = next(commit for commit in reversed(past.commits) if commit.branch == "main")
    artifact = next(iter(artifacts_of(past).values()))
    runs, attempts = "/actions/runs/{run_id}", "/actions/runs/{run_id}/attempts/{attempt_number}"
    return [
        ("", ""),
        ("/actions/workflows", "/actions/workflows"),
        ("/actions/workflows/{workflow_id}/runs", "/actions/workflows/pr_test_light.yaml/runs?per_page=100"),
        ("/actions/runs", "/actions/runs?per_page=100"),
        *((runs, f"/actions/runs/{run.id}") for run in (rerun, going, waiting)),
        *((runs + "/jobs", f"/actions/runs/{run.id}/jobs?filter=all") for run in (rerun, going, waiting)),
        (attempts, f"/actions/runs/{rerun.id}/attempts/1"),
        (attempts + "/jobs", f"/actions/runs/{rerun.id}/attempts/1/jobs"),
        *(("/actions/jobs/{job_id}", f"/actions/jobs/{job.id}") for job in (failed, gone)),
        ("/actions/artifacts", "/actions/artifacts?per_page=100"),
        ("/actions/artifacts/{artifact_id}", f"/actions/artifacts/{artifact.id}"),
        (runs + "/artifacts", f"/actions/runs/{artifact.job.run_id}/artifacts"),
        ("/check-runs/{check_run_id}/annotations", f"/check-runs/{gone.id}/annotations"),
        ("/pulls", "/pulls?state=all&per_page=100"),
        *(("/pulls/{pull_number}", f"/pulls/{pull.number}") for pull in (merged, fresh)),
        ("/pulls/{pull_number}/files", f"/pulls/{fresh.number}/files"),
        ("/commits", "/commits?sha=main&per_page=100"),
        ("/commits/{ref}", f"/commits/{tip.sha}"),
        ("/commits/{commit_sha}/pulls", f"/commits/{tip.sha}/pulls"),
        ("/compare/{basehead}", f"/compare/{fresh.base_sha}...{fresh.head_sha}"),
    ]


def test_what_was_posted_fits_the_published_description(past: Past, described: dict[str, Any]) -> None:
    pull, here = past.pulls[-1], f"/repos/{past.full_name}"
    output = {"title": "t", "summary": "s"}
    check = {"name": "Build-Eye", "head_sha": pull.head_sha, "conclusion": "neutral", "output": output}
    with running(past) as base, httpx2.Client(base_url=base, trust_env=False) as client:
        comment = client.post(f"{here}/issues/{pull.number}/comments", json={"body": "text"})
        made = client.post(f"{here}/check-runs", json=check)
        assert (comment.status_code, made.status_code) == (201, 201)
        for path, url in (
            ("/repos/{owner}/{repo}/issues/{issue_number}/comments", f"{here}/issues/{pull.number}/comments"),
            ("/repos/{owner}/{repo}/issues/comments/{comment_id}", f"{here}/issues/comments/{comment.json()['id']}"),
            ("/repos/{owner}/{repo}/commits/{ref}/check-runs", f"{here}/commits/{pull.head_sha}/check-runs"),
            ("/user", "/user"),
        ):
            answer = client.get(url)
            assert answer.status_code == 200
            _check(described, path, answer.json())
        assert client.get(f"{here}/commits/{pull.head_sha}/check-runs").json()["check_runs"] == [made.json()]


def test_every_answer_fits_the_published_description(
    client: httpx2.Client, past: Past, described: dict[str, Any], subtests: pytest.Subtests
) -> None:
    for path, url in _urls(past):
        with subtests.test(url):
            answer = client.get(f"/repos/{past.full_name}{url}")
            assert answer.status_code == 200
            _check(described, "/repos/{owner}/{repo}" + path, answer.json())


def test_the_rate_limit_fits_the_published_description(client: httpx2.Client, described: dict[str, Any]) -> None:
    _check(described, "/rate_limit", client.get("/rate_limit").json())
