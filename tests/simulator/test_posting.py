"""What clients write is kept, and refused where GitHub refuses it."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from buildeye.simulator import Faults, Past
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving

CHECK = {"name": "Build-Eye", "status": "completed", "conclusion": "success", "output": {"title": "t", "summary": "s"}}


@pytest.fixture
def board(past: Past) -> Iterator[httpx2.Client]:
    """A client of a server that nothing was posted to; paths are below the repository."""
    with (
        serving(create_app(past)) as base,
        httpx2.Client(base_url=f"{base}/repos/{past.full_name}", trust_env=False) as client,
    ):
        yield client


def test_comments_are_listed_in_pages_and_edited_in_place(board: httpx2.Client, past: Past) -> None:
    where = f"/issues/{past.pulls[-1].number}/comments"
    made = [board.post(where, json={"body": f"text {n}"}).json() for n in range(3)]
    first = board.get(f"{where}?per_page=2")
    assert [one["body"] for one in first.json()] == ["text 0", "text 1"]
    assert "next" in first.links
    edited = board.patch(f"/issues/comments/{made[1]['id']}", json={"body": "new"}).json()
    assert (edited["id"], edited["body"]) == (made[1]["id"], "new")
    assert [one["body"] for one in board.get(where).json()] == ["text 0", "new", "text 2"]
    assert made[0]["user"]["login"] == "octo-reader"


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({}, 422, "body"),
        ({"body": 7}, 422, "body"),
        ({"body": " "}, 422, "Body cannot be blank"),
        ({"body": "x" * 65_537}, 422, "Body is too long (maximum is 65536 characters)"),
        ({"body": "x" * 65_536}, 201, ""),
        ([], 400, "JSON object"),
    ],
)
def test_a_comment_github_would_not_take_is_refused(
    board: httpx2.Client, past: Past, body: Any, status: int, said: str
) -> None:
    answer = board.post(f"/issues/{past.pulls[-1].number}/comments", json=body)
    assert answer.status_code == status
    assert said in answer.text


def test_there_are_no_comments_where_there_is_nothing(board: httpx2.Client) -> None:
    assert board.get("/issues/1/comments").status_code == 404
    assert board.post("/issues/1/comments", json={"body": "x"}).status_code == 404
    assert board.patch("/issues/comments/1", json={"body": "x"}).status_code == 404
    assert board.patch("/check-runs/1", json={"conclusion": "success"}).status_code == 404


def test_the_newest_check_of_a_name_is_listed(board: httpx2.Client, past: Past) -> None:
    sha = past.pulls[-1].head_sha
    ids = [board.post("/check-runs", json={**CHECK, "head_sha": sha, "name": n}).json()["id"] for n in ("a", "b", "b")]
    listed = board.get(f"/commits/{sha}/check-runs").json()
    assert (listed["total_count"], [one["id"] for one in listed["check_runs"]]) == (2, [ids[2], ids[0]])
    named = board.get(f"/commits/{sha}/check-runs?check_name=b&filter=all").json()
    assert [one["id"] for one in named["check_runs"]] == [ids[2], ids[1]]
    assert board.patch(f"/check-runs/{ids[0]}", json={"conclusion": "neutral"}).json()["conclusion"] == "neutral"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": ""}, "supplied"),
        ({"conclusion": "well"}, "not a member"),
        ({"status": "done"}, "not a member"),
        ({"output": {"title": "t"}}, "supplied"),
        ({"output": {"title": "t", "summary": "x" * 65_536}}, "maximum length of 65535"),
        ({"head_sha": "f" * 40}, "No commit found"),
    ],
)
def test_a_check_github_would_not_take_is_refused(
    board: httpx2.Client, past: Past, changes: dict[str, Any], said: str
) -> None:
    answer = board.post("/check-runs", json={**CHECK, "head_sha": past.pulls[-1].head_sha, **changes})
    assert answer.status_code == 422
    assert said in answer.text


def test_the_token_of_a_workflow_does_not_tell_whose_it_is(past: Past) -> None:
    with serving(create_app(past, login="")) as base, httpx2.Client(base_url=base, trust_env=False) as client:
        assert client.get("/user").status_code == 403
        where = f"/repos/{past.full_name}/issues/{past.pulls[-1].number}/comments"
        assert client.post(where, json={"body": "x"}).json()["user"]["type"] == "Bot"


def test_writes_are_in_the_ledger_also_those_that_were_refused(past: Past) -> None:
    app = create_app(past, faults=Faults(denied=frozenset({"check-runs"})))
    with serving(app) as base, httpx2.Client(base_url=f"{base}/repos/{past.full_name}", trust_env=False) as client:
        assert client.post("/check-runs", json=CHECK).status_code == 403
        client.get("/pulls")
    assert ledger(app).writes == [f"POST /repos/{past.full_name}/check-runs"]
