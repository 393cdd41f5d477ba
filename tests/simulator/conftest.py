"""One past for all tests of the simulator, a server over it, and GitHub's published description of its answers."""

import fcntl
import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from buildeye.simulator import Past, build_past
from buildeye.simulator.server import running

NOW = datetime(2026, 5, 28, 6, 30, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "octokit-openapi"
PACKAGE = "@octokit/openapi"
REPOSITORY = "/repos/{owner}/{repo}"
DESCRIBED = (
    *(
        REPOSITORY + path
        for path in (
            "",
            "/actions/workflows",
            "/actions/workflows/{workflow_id}/runs",
            "/actions/runs",
            "/actions/runs/{run_id}",
            "/actions/runs/{run_id}/jobs",
            "/actions/runs/{run_id}/attempts/{attempt_number}",
            "/actions/runs/{run_id}/attempts/{attempt_number}/jobs",
            "/actions/jobs/{job_id}",
            "/actions/artifacts",
            "/actions/artifacts/{artifact_id}",
            "/actions/runs/{run_id}/artifacts",
            "/check-runs/{check_run_id}/annotations",
            "/commits/{ref}/check-runs",
            "/issues/{issue_number}/comments",
            "/issues/comments/{comment_id}",
            "/pulls",
            "/pulls/{pull_number}",
            "/pulls/{pull_number}/files",
            "/commits",
            "/commits/{ref}",
            "/commits/{commit_sha}/pulls",
            "/compare/{basehead}",
        )
    ),
    "/rate_limit",
    "/user",
)


@pytest.fixture(scope="session")
def past() -> Past:
    return build_past(7, NOW)


@pytest.fixture(scope="session")
def client(past: Past) -> Iterator[httpx2.Client]:
    """A client of a server that lets everybody in; paths are relative to the server."""
    with running(past, limit=1_000_000) as base, httpx2.Client(base_url=base, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def described() -> dict[str, Any]:
    """JSON schemas of GitHub's answers by path, and `components` they refer to; skips where npm cannot bring them."""
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = CACHE / f"schemas-{hashlib.sha256(json.dumps(DESCRIBED).encode()).hexdigest()[:12]}.json"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            kept.write_text(json.dumps(_needed(_download())))
    loaded: dict[str, Any] = json.loads(kept.read_text())
    return loaded


def _download() -> dict[str, Any]:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so GitHub's API description cannot be had")
    try:
        command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(CACHE), PACKAGE]
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm did not bring {PACKAGE} within 240 s")
    if done.returncode != 0:
        pytest.skip(f"npm cannot bring {PACKAGE}: exit {done.returncode}")
    modules = CACHE / "node_modules"
    description: dict[str, Any] = json.loads((modules / PACKAGE / "generated" / "api.github.com.json").read_text())
    shutil.rmtree(modules)
    return description


def _needed(description: dict[str, Any]) -> dict[str, Any]:
    """The schemas of the described paths and all that they refer to, as plain JSON Schema."""
    answers = {}
    for path in DESCRIBED:
        content = description["paths"][path]["get"]["responses"]["200"]["content"]
        answers[path] = _plain(content["application/json"]["schema"])
    components: dict[str, Any] = {}
    waiting = _references(answers)
    while waiting:
        name = waiting.pop()
        if name not in components:
            components[name] = _plain(description["components"]["schemas"][name])
            waiting |= _references(components[name])
    return {"answers": answers, "components": {"schemas": components}}


def _references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        here = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
        return here.union(*map(_references, schema.values()))
    return set().union(*map(_references, schema)) if isinstance(schema, list) else set()


def _plain(schema: Any) -> Any:
    """OpenAPI 3.0 to JSON Schema: `nullable` becomes a choice; examples go."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _plain(part) for key, part in schema.items() if key not in ("nullable", "example", "examples")}
    return {"anyOf": [{"type": "null"}, kept]} if schema.get("nullable") is True else kept
