"""What a webhook event says, read from payloads of GitHub's shape."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from buildeye.github.events import KEPT, PayloadError, fact_of
from buildeye.model import CheckRun, Job, PullRequest, Push, Run

from .examples import Example, octokit_examples
from .shapes import job_json, pull_request_json, run_json

REPOSITORY = {"id": 5, "full_name": "o/r", "pushed_at": 1_780_000_000}
PUSH = {
    "ref": "refs/heads/main",
    "before": "a" * 40,
    "after": "b" * 40,
    "forced": True,
    "deleted": False,
    "pusher": {"name": "author-a", "email": "x"},
    "head_commit": {
        "id": "b" * 40,
        "message": "Fix topk",
        "timestamp": "2026-05-28T11:00:00+02:00",
        "author": {"name": "Author A", "username": "author-a"},
    },
    "repository": REPOSITORY,
}
CHECK = {
    "id": 9,
    "name": "lint",
    "status": "completed",
    "conclusion": "failure",
    "head_sha": "b" * 40,
    "started_at": "2026-05-28T09:00:00Z",
    "completed_at": "2026-05-28T09:01:00Z",
    "output": {"annotations_count": 3},
    "app": {"slug": "lint-bot"},
    "details_url": "d",
    "html_url": "h",
}


def said(event: str, **payload: Any) -> Any:
    return fact_of(event, json.dumps({"repository": REPOSITORY} | payload).encode())


@pytest.mark.parametrize(
    ("event", "payload", "kind"),
    [
        ("workflow_run", {"workflow_run": run_json()}, Run),
        ("workflow_job", {"workflow_job": job_json()}, Job),
        ("pull_request", {"pull_request": pull_request_json()}, PullRequest),
        ("push", PUSH, Push),
        ("check_run", {"check_run": CHECK}, CheckRun),
    ],
)
def test_every_event_that_is_kept_names_its_repository(event: str, payload: dict[str, Any], kind: type) -> None:
    fact = said(event, **payload)
    assert (type(fact), fact.repository_full_name) == (kind, "o/r")


def test_a_push_keeps_its_head_commit_and_its_moment() -> None:
    push = said("push", **PUSH)
    assert (push.message, push.author_login, push.pusher, push.forced) == ("Fix topk", "author-a", "author-a", True)
    assert push.committed_at == datetime(2026, 5, 28, 9, tzinfo=UTC)
    assert push.pushed_at == datetime.fromtimestamp(1_780_000_000, UTC)


def test_a_push_that_deletes_a_branch_has_no_head_commit() -> None:
    push = said("push", **PUSH | {"deleted": True, "head_commit": None, "after": "0" * 40})
    assert (push.deleted, push.message, push.committed_at) == (True, "", None)


def test_a_check_keeps_its_app_and_its_annotations() -> None:
    check = said("check_run", check_run=CHECK)
    assert (check.app, check.annotations_count, check.conclusion) == ("lint-bot", 3, "failure")


def test_a_run_without_a_repository_of_its_own_has_that_of_the_event() -> None:
    assert said("workflow_run", workflow_run=run_json(repository=None)).repository_full_name == "o/r"


@pytest.mark.parametrize("event", ["ping", "star", "workflow_dispatch", "never heard of", ""])
def test_an_unknown_event_says_nothing_whatever_its_payload(event: str) -> None:
    assert fact_of(event, b"{") is None


@pytest.mark.parametrize(
    ("event", "body", "told"),
    [
        ("push", b"", "not JSON"),
        ("push", b"\xff\xfe", "not JSON"),
        ("push", b"[]", "a push is not an object"),
        ("workflow_job", b"{}", 'the event workflow_job has no field "workflow_job"'),
        ("workflow_job", b"[" * 100_000, "nested too deeply"),
        ("workflow_job", json.dumps({"workflow_job": job_json()}).encode(), "full_name"),
        ("workflow_run", json.dumps({"workflow_run": run_json(status=5)}).encode(), 'run 7 has a field "status"'),
        ("check_run", json.dumps({"check_run": CHECK | {"id": "9"}, "repository": REPOSITORY}).encode(), '"id"'),
    ],
)
def test_a_payload_that_cannot_be_read_says_why(event: str, body: bytes, told: str) -> None:
    with pytest.raises(PayloadError, match=told) as raised:
        fact_of(event, body)
    assert "base_url" not in str(raised.value)


def test_all_published_examples_are_read(examples: list[Example]) -> None:
    facts = [(example.event, fact_of(example.event, example.body)) for example in examples]
    assert {event for event, fact in facts if fact is not None} == set(KEPT)
    assert [event for event, fact in facts if fact is None and event in KEPT] == []
    assert len(facts) > 300


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return octokit_examples()
