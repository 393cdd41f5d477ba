"""`build-eye serve` as a process of its own: webhooks come in, the grid and the metrics go out and are scraped."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from benchmarks.webhook_kills import REPOSITORY, SECRET

from buildeye.simulator.webhooks import Told, signed
from buildeye.web.app import WEBHOOKS

from .scrapers import PROGRAMS, scraping
from .test_scraped import DEEPEST, RUNNING
from .test_serve import LIMIT, serving

SHA = "a" * 40


def deliveries() -> Iterator[tuple[str, dict[str, Any]]]:
    """A push to main with three jobs of one pool: one runs, two wait."""
    began = (datetime.now(UTC) - timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    built = {"head_sha": SHA, "head_branch": "main", "run_attempt": 1, "created_at": began, "conclusion": None}
    yield "workflow_run", built | {
        "id": 7, "name": "CI", "status": "in_progress", "event": "push", "workflow_id": 1, "path": "ci.yml",
        "run_number": 1, "run_started_at": began, "updated_at": began, "display_title": "Turn left",
        "actor": {"login": "octocat"}, "triggering_actor": {"login": "octocat"}, "html_url": "", "pull_requests": [],
    }  # fmt: skip
    for number in (1, 2, 3):
        begun = {"status": "in_progress", "started_at": began, "runner_name": "r1"} if number == 1 else {}
        yield "workflow_job", built | {
            "id": number, "run_id": 7, "name": f"job {number}", "workflow_name": "CI", "status": "queued",
            "labels": ["npu", "linux"], "steps": [],
        } | begun  # fmt: skip


@contextmanager
def filled(folder: Path) -> Iterator[str]:
    """The address of a server whose warehouse has the deliveries."""
    with serving(folder) as (_, address), httpx2.Client(base_url=address, trust_env=False, timeout=LIMIT) as client:
        for place, (event, told) in enumerate(deliveries()):
            payload = {"action": told["status"], event: told, "repository": {"full_name": REPOSITORY}}
            sent = signed(Told(datetime.now(UTC), event, payload), SECRET, f"d-{place}")
            assert client.post(WEBHOOKS, content=sent.body, headers=sent.headers).status_code == 202
        health: dict[str, object] = {}
        while health.get("waiting") != 0:
            health = client.get("/healthz").json()
        assert health["refused"] == 0
        yield address


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_webhooks_told_is_scraped_and_asked_for(tmp_path: Path, program: str) -> None:
    scraper, served = tmp_path / "scraper", tmp_path / "served"
    scraper.mkdir()
    served.mkdir()
    with filled(served) as address, scraping(program, scraper, address) as asked:
        deepest = [(dict(each.labels), each.points[0].value) for each in asked.query(DEEPEST)]
        (running,) = asked.query(RUNNING)
    assert deepest == [({"name": "linux,npu"}, 2.0)]
    assert (dict(running.labels), running.points[0].value) == ({"cluster": "here"}, 1.0)


def test_what_webhooks_told_is_on_the_grid(tmp_path: Path) -> None:
    with filled(tmp_path) as address:
        page = httpx2.get(f"{address}/api/hud/{REPOSITORY}/main/0", trust_env=False, timeout=LIMIT).json()
    (row,) = page["shaGrid"]
    assert (row["sha"], row["commitTitle"], row["author"]) == (SHA, "Turn left", "octocat")
    assert dict(zip(page["jobNames"], [cell["conclusion"] for cell in row["jobs"]], strict=True)) == {
        "CI / job 1": "pending", "CI / job 2": "queued", "CI / job 3": "queued",
    }  # fmt: skip
