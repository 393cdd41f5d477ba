"""GitHub's JSON in small: the fields the REST documentation shows, with made-up values."""

from typing import Any


def run_json(number: int = 7, created_at: str = "2026-05-28T09:00:00Z", **changes: Any) -> dict[str, Any]:
    """A workflow run as `GET /actions/runs` shows it."""
    return {
        "id": number,
        "name": "E2E-Full",
        "node_id": "x",
        "head_branch": "fix-topk",
        "head_sha": "3d91e02",
        "path": ".github/workflows/pr_test_full.yaml",
        "display_title": "Fix topk",
        "run_number": 12,
        "event": "pull_request",
        "status": "completed",
        "conclusion": "failure",
        "workflow_id": 99,
        "url": "u",
        "html_url": "https://github.com/o/r/actions/runs/7",
        "pull_requests": [{"id": 1, "number": 9829, "base": {"repo": {"id": 5}}, "head": {"repo": {"id": 5}}}],
        "created_at": created_at,
        "updated_at": "2026-05-28T10:00:00Z",
        "actor": {"login": "author-a"},
        "run_attempt": 2,
        "run_started_at": "2026-05-28T09:30:00Z",
        "triggering_actor": {"login": "author-b"},
        "repository": {"id": 5, "full_name": "o/r"},
    } | changes


def job_json(number: int = 70, **changes: Any) -> dict[str, Any]:
    """A job as `GET /actions/runs/ID/jobs` shows it."""
    return {
        "id": number,
        "run_id": 7,
        "workflow_name": "E2E-Full",
        "head_branch": "fix-topk",
        "run_attempt": 2,
        "head_sha": "3d91e02",
        "html_url": "https://github.com/o/r/actions/runs/7/job/70",
        "status": "completed",
        "conclusion": "failure",
        "created_at": "2026-05-28T09:30:00Z",
        "started_at": "2026-05-28T09:31:00Z",
        "completed_at": "2026-05-28T09:59:00Z",
        "name": "singlecard (v0.20.2)",
        "steps": [
            {
                "name": "Set up job",
                "status": "completed",
                "conclusion": "success",
                "number": 1,
                "started_at": "2026-05-28T09:31:00Z",
                "completed_at": "2026-05-28T09:31:09.123+02:00",
            }
        ],
        "labels": ["linux-aarch64-a3-4"],
        "runner_id": 3,
        "runner_name": "a3-4-07",
        "runner_group_id": 1,
        "runner_group_name": "Default",
    } | changes


def pull_request_json(number: int = 9829, **changes: Any) -> dict[str, Any]:
    """A pull request as `GET /pulls/NUMBER` shows it."""
    return {
        "number": number,
        "state": "closed",
        "title": "Fix topk",
        "user": {"login": "author-a"},
        "created_at": "2026-05-27T09:00:00Z",
        "updated_at": "2026-05-28T09:00:00Z",
        "merged_at": None,
        "merge_commit_sha": "aaa",
        "html_url": "https://github.com/o/r/pull/9829",
        "head": {"ref": "fix-topk", "sha": "3d91e02"},
        "base": {"ref": "main", "sha": "bbb", "repo": {"full_name": "o/r"}},
    } | changes


def commit_json(sha: str = "3d91e02", **changes: Any) -> dict[str, Any]:
    """A commit as `GET /commits/SHA` shows it."""
    return {
        "sha": sha,
        "html_url": f"https://github.com/o/r/commit/{sha}",
        "commit": {
            "author": {"name": "Author A", "date": "2026-05-28T08:00:00Z"},
            "committer": {"name": "GitHub", "date": "2026-05-28T08:30:00Z"},
            "message": "Fix topk",
        },
        "author": None,
        "parents": [{"sha": "bbb"}],
    } | changes
