"""The server answers, limits and refuses as GitHub does."""

import re
from datetime import timedelta

import httpx2
import pytest

from buildeye.model import Job
from buildeye.simulator import Fault, Faults, Past
from buildeye.simulator.app import create_app
from buildeye.simulator.faults import bad_gateway, cut, secondary_limit, truncated
from buildeye.simulator.logs import has_log, render_log
from buildeye.simulator.server import ledger, running, serving

TOKEN = "simulated-token-4711"


def _in(past: Past, path: str) -> str:
    return f"/repos/{past.full_name}{path}"


ASKING = httpx2.Client(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))
"""For servers that live for one test."""


def _ask(base: str, path: str, **headers: str) -> httpx2.Response:
    return ASKING.get(base + path, headers=headers)


def _fresh_job(past: Past, conclusion: str = "failure") -> Job:
    return next(job for job in reversed(past.jobs) if job.conclusion == conclusion and has_log(job))


def test_pagination_visits_each_run_once(client: httpx2.Client, past: Past) -> None:
    seen: list[int] = []
    url: str | None = _in(past, "/actions/runs?per_page=100")
    while url:
        answer = client.get(url)
        body = answer.json()
        seen += [run["id"] for run in body["workflow_runs"]]
        assert body["total_count"] == len({run.id for run in past.attempts})
        url = answer.links.get("next", {}).get("url")
    assert seen == sorted({run.id for run in past.attempts}, reverse=True)


def test_links_name_the_neighbours_and_the_ends(client: httpx2.Client, past: Past) -> None:
    links = client.get(_in(past, "/actions/runs?per_page=50&page=3&event=pull_request")).links
    pages = {name: re.findall(r"[?&]page=(\d+)", link["url"])[0] for name, link in links.items()}
    assert (pages["prev"], pages["next"]) == ("2", "4")
    assert set(pages) == {"prev", "next", "first", "last"}
    assert "event=pull_request" in links["last"]["url"]


def test_one_page_has_no_links(client: httpx2.Client, past: Past) -> None:
    assert "link" not in client.get(_in(past, "/actions/workflows")).headers


@pytest.mark.parametrize("size", ["0", "x", "", "-3"])
def test_a_senseless_page_size_means_thirty(client: httpx2.Client, past: Past, size: str) -> None:
    assert len(client.get(_in(past, f"/actions/runs?per_page={size}")).json()["workflow_runs"]) == 30


def test_no_page_is_larger_than_a_hundred(client: httpx2.Client, past: Past) -> None:
    assert len(client.get(_in(past, "/actions/runs?per_page=500")).json()["workflow_runs"]) == 100


def test_created_selects_the_last_day(client: httpx2.Client, past: Past) -> None:
    since = past.now - timedelta(hours=24)
    runs = client.get(
        _in(past, "/actions/runs"), params={"created": f">={since:%Y-%m-%dT%H:%M:%SZ}", "per_page": 100}
    ).json()
    wanted = {run.id for run in past.attempts if run.created_at and run.created_at >= since}
    assert {run["id"] for run in runs["workflow_runs"]} == wanted


@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        ("status=failure", "conclusion", "failure"),
        ("status=in_progress", "status", "in_progress"),
        ("branch=main", "head_branch", "main"),
        ("event=schedule", "event", "schedule"),
    ],
)
def test_filters_leave_only_what_they_say(
    client: httpx2.Client, past: Past, query: str, field: str, value: str
) -> None:
    body = client.get(_in(past, f"/actions/runs?{query}&per_page=100")).json()
    assert body["total_count"] > 0
    assert {run[field] for run in body["workflow_runs"]} == {value}


def test_head_sha_finds_the_runs_of_one_commit(client: httpx2.Client, past: Past) -> None:
    sha = past.attempts[-1].head_sha
    found = client.get(_in(past, f"/actions/runs?head_sha={sha}")).json()["workflow_runs"]
    assert {run["id"] for run in found} == {run.id for run in past.attempts if run.head_sha == sha}


@pytest.mark.parametrize("name", ["pr_test_full.yaml", "228664102"])
def test_runs_of_a_workflow_are_found_by_file_and_by_id(client: httpx2.Client, past: Past, name: str) -> None:
    found = client.get(_in(past, f"/actions/workflows/{name}/runs")).json()["workflow_runs"]
    assert {run["name"] for run in found} == {"E2E-Full"}


def test_jobs_of_the_latest_attempt_unless_all_are_asked_for(client: httpx2.Client, past: Past) -> None:
    rerun = next(run for run in past.attempts if run.run_attempt == 2)
    latest = client.get(_in(past, f"/actions/runs/{rerun.id}/jobs")).json()["jobs"]
    every = client.get(_in(past, f"/actions/runs/{rerun.id}/jobs?filter=all")).json()["jobs"]
    first = client.get(_in(past, f"/actions/runs/{rerun.id}/attempts/1/jobs")).json()["jobs"]
    assert {job["run_attempt"] for job in latest} == {2}
    assert {job["id"] for job in every} == {job["id"] for job in latest + first}


def test_runs_from_forks_name_no_pull_request_but_their_commit_does(client: httpx2.Client, past: Past) -> None:
    pull = next(pull for pull in past.pulls if pull.author in past.forks and pull.state == "open")
    run = client.get(_in(past, f"/actions/runs?head_sha={pull.head_sha}")).json()["workflow_runs"][0]
    found = client.get(_in(past, f"/commits/{pull.head_sha}/pulls")).json()
    assert run["pull_requests"] == []
    assert run["head_repository"]["owner"]["login"] == pull.author
    assert [one["number"] for one in found] == [pull.number]
    listed = client.get(_in(past, f"/pulls?state=all&head={pull.author}:{pull.head_ref}")).json()
    assert [one["number"] for one in listed] == [pull.number]


def test_a_log_is_a_redirect_to_a_signed_text(client: httpx2.Client, past: Past) -> None:
    job = _fresh_job(past)
    answer = client.get(_in(past, f"/actions/jobs/{job.id}/logs"))
    assert answer.status_code == 302
    stored = client.get(answer.headers["location"])
    assert stored.headers["content-type"].startswith("text/plain")
    assert stored.content == render_log(past, job)
    assert client.get(answer.headers["location"].partition("&sig=")[0]).status_code == 403


def test_the_logs_of_a_run_are_a_redirect_to_a_zip(client: httpx2.Client, past: Past) -> None:
    job = next(job for job in reversed(past.jobs) if past.plots[job.id].failure == "mypy")
    answer = client.get(_in(past, f"/actions/runs/{job.run_id}/logs"))
    assert answer.status_code == 302
    assert client.get(answer.headers["location"]).content.startswith(b"PK")


def test_expired_logs_are_gone(client: httpx2.Client, past: Past) -> None:
    old = next(job for job in past.jobs if has_log(job))
    for path in (f"/actions/jobs/{old.id}/logs", f"/actions/runs/{old.run_id}/logs"):
        answer = client.get(_in(past, path))
        assert answer.status_code == 410
        assert answer.json()["status"] == "410"


def test_a_job_without_steps_and_a_job_that_goes_on_have_no_log(client: httpx2.Client, past: Past) -> None:
    gone = next(job for job in past.jobs if past.plots[job.id].failure == "runner-gone")
    going = next(job for job in past.jobs if job.status == "in_progress")
    for job in (gone, going):
        assert client.get(_in(past, f"/actions/jobs/{job.id}/logs")).status_code == 404


def test_a_lost_runner_is_told_by_the_annotation(client: httpx2.Client, past: Past) -> None:
    gone = next(job for job in past.jobs if past.plots[job.id].failure == "runner-gone")
    (note,) = client.get(_in(past, f"/check-runs/{gone.id}/annotations")).json()
    assert "lost communication with the server" in note["message"]
    assert str(gone.runner_name) in note["message"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/actions/runs/1", 404),
        ("/actions/runs/x", 404),
        ("/actions/jobs/1/logs", 404),
        ("/pulls/1", 404),
        ("/nothing/here", 404),
        ("/actions/workflows/none.yaml/runs", 404),
        ("/compare/main...nothing", 404),
        ("/commits/0000000", 422),
        ("/actions/runs?created=yesterday", 422),
        ("/actions/runs?status=red", 422),
        ("/pulls?state=odd", 422),
    ],
)
def test_errors_have_a_message_a_link_and_the_status(client: httpx2.Client, past: Past, path: str, status: int) -> None:
    answer = client.get(_in(past, path))
    assert answer.status_code == status
    assert set(answer.json()) == {"message", "documentation_url", "status"}
    assert answer.json()["status"] == str(status)


def test_another_repository_is_not_found(client: httpx2.Client) -> None:
    assert client.get("/repos/someone/else/actions/runs").status_code == 404


def test_comparing_main_with_a_branch_shows_what_the_branch_adds(client: httpx2.Client, past: Past) -> None:
    pull = past.pulls[-1]
    body = client.get(_in(past, f"/compare/main...{pull.head_ref}")).json()
    assert body["merge_base_commit"]["sha"] == pull.base_sha
    assert {file["filename"] for file in body["files"]} == set(pull.changed_files)
    assert client.get(_in(past, "/compare/main...main")).json()["status"] == "identical"


def test_the_same_answer_again_is_a_304_that_costs_nothing(past: Past) -> None:
    with running(past) as base:
        first = _ask(base, _in(past, "/actions/runs"))
        again = _ask(base, _in(past, "/actions/runs"), **{"if-none-match": first.headers["etag"]})
        other = _ask(base, _in(past, "/actions/runs?page=2"), **{"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code, other.status_code) == (200, 304, 200)
    assert again.content == b""
    assert [answer.headers["x-ratelimit-used"] for answer in (first, again, other)] == ["1", "1", "2"]


def test_the_limit_runs_out_and_comes_back_after_an_hour(past: Past) -> None:
    now = [1_780_000_000.0]
    with running(past, limit=2, clock=lambda: now[0]) as base:
        answers = [_ask(base, _in(past, "")) for _ in range(3)]
        free = _ask(base, "/rate_limit")
        now[0] += 3600
        later = _ask(base, _in(past, ""))
    assert [answer.status_code for answer in answers] == [200, 200, 403]
    assert [answer.headers["x-ratelimit-remaining"] for answer in answers] == ["1", "0", "0"]
    assert answers[2].headers["x-ratelimit-reset"] == "1780003600"
    assert "rate limit exceeded" in answers[2].json()["message"]
    assert free.json()["rate"] == {"limit": 2, "remaining": 0, "used": 2, "reset": 1780003600}
    assert later.status_code == 200


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"token {TOKEN}"])
def test_the_right_token_opens_the_door(past: Past, given: str) -> None:
    with running(past, token=TOKEN) as base:
        assert _ask(base, _in(past, ""), authorization=given).status_code == 200


@pytest.mark.parametrize(
    ("given", "message"), [({}, "Requires authentication"), ({"authorization": "Bearer nonsense"}, "Bad credentials")]
)
def test_a_wrong_or_missing_token_is_a_401(past: Past, given: dict[str, str], message: str) -> None:
    with running(past, token=TOKEN) as base:
        answer = _ask(base, _in(past, ""), **given)
    assert answer.status_code == 401
    assert answer.json()["message"] == message


def test_a_stored_log_needs_no_token(past: Past) -> None:
    job = _fresh_job(past)
    with running(past, token=TOKEN) as base:
        where = _ask(base, _in(past, f"/actions/jobs/{job.id}/logs"), authorization=f"Bearer {TOKEN}")
        assert ASKING.get(where.headers["location"]).status_code == 200


def test_a_token_without_the_permission_is_a_403_for_that_area_only(past: Past) -> None:
    with running(past, faults=Faults(denied=frozenset({"actions"}))) as base:
        refused, allowed = _ask(base, _in(past, "/actions/runs")), _ask(base, _in(past, "/pulls"))
    assert refused.status_code == 403
    assert refused.json()["message"] == "Resource not accessible by personal access token"
    assert allowed.status_code == 200


def test_no_answer_tells_a_token(past: Past) -> None:
    app = create_app(past, token=TOKEN)
    with serving(app) as base:
        paths = (_in(past, ""), _in(past, "/actions/runs"), "/nothing", "/rate_limit")
        answers = [
            _ask(base, path, authorization=f"Bearer {given}") for path in paths for given in (TOKEN, "wrong-one")
        ]
    assert ledger(app).tokens == {TOKEN, "wrong-one"}
    for answer in answers:
        told = answer.text + str(answer.headers)
        assert not any(token in told for token in ledger(app).tokens)


def test_the_ledger_counts_every_request(past: Past) -> None:
    app = create_app(past)
    with serving(app) as base:
        for _ in range(3):
            _ask(base, _in(past, ""))
    assert ledger(app).requests == 3
    assert set(ledger(app).paths) == {_in(past, "")}


@pytest.mark.parametrize(
    ("fault", "status", "wait"),
    [(bad_gateway(), 502, None), (secondary_limit(7), 403, "7"), (Fault(503, "busy", 2), 503, "2")],
)
def test_a_fault_answers_the_request_it_was_ordered_for(
    past: Past, fault: Fault, status: int, wait: str | None
) -> None:
    with running(past, faults=Faults({2: fault})) as base:
        answers = [_ask(base, _in(past, "")) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, status, 200]
    assert answers[1].headers.get("retry-after") == wait


def test_a_cut_connection_ends_before_the_body_does(past: Past) -> None:
    with running(past, faults=Faults({1: cut()})) as base:
        with pytest.raises(httpx2.RemoteProtocolError):
            _ask(base, _in(past, ""))
        assert _ask(base, _in(past, "")).status_code == 200


def test_json_cut_short_says_it_is_whole_and_keeps_its_tag(past: Past) -> None:
    with running(past, faults=Faults({1: truncated(), 3: truncated()})) as base:
        short, whole = (_ask(base, _in(past, "/actions/runs")) for _ in range(2))
    assert whole.content.startswith(short.content)
    assert len(short.content) == len(whole.content) // 2 == int(short.headers["content-length"])
    assert short.headers["etag"] == whole.headers["etag"]


def test_a_log_can_be_cut_in_its_middle(past: Past) -> None:
    job = _fresh_job(past)
    with running(past, faults=Faults({2: cut()})) as base:
        where = _ask(base, _in(past, f"/actions/jobs/{job.id}/logs")).headers["location"]
        got = 0
        with ASKING.stream("GET", where) as answer, pytest.raises(httpx2.RemoteProtocolError):
            for chunk in answer.iter_bytes():
                got += len(chunk)
        assert got == len(render_log(past, job)) // 2
        assert ASKING.get(where).content == render_log(past, job)


def test_a_share_of_requests_fails_the_same_ones_each_time(past: Past) -> None:
    def statuses() -> list[int]:
        with running(past, faults=Faults(share=0.3, kinds=(bad_gateway(),), seed=5)) as base:
            return [_ask(base, _in(past, "")).status_code for _ in range(40)]

    first = statuses()
    assert first == statuses()
    assert 3 <= first.count(502) <= 25


def test_runs_come_to_the_list_and_leave_it_while_it_is_read(past: Past) -> None:
    newest = max(run.id for run in past.attempts)
    path = _in(past, "/actions/runs?per_page=1")
    with running(past, faults=Faults(arriving={newest: 2}, leaving={newest: 3})) as base:
        shown = [_ask(base, path).json()["workflow_runs"][0]["id"] for _ in range(3)]
    assert [number == newest for number in shown] == [False, True, False]


def test_the_logs_of_an_attempt_are_a_zip_of_that_attempt(client: httpx2.Client, past: Past) -> None:
    run = next(run for run in reversed(past.attempts) if run.run_attempt == 2)
    for attempt in (1, 2):
        answer = client.get(_in(past, f"/actions/runs/{run.id}/attempts/{attempt}/logs"))
        if answer.status_code == 410:
            pytest.skip("the newest re-run is older than logs are kept")
        assert client.get(answer.headers["location"]).content.startswith(b"PK")
    assert client.get(_in(past, f"/actions/runs/{run.id}/attempts/9/logs")).status_code == 404
