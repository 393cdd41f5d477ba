import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from buildeye.config import Settings
from buildeye.github import GitHub, LogState
from buildeye.github.convert import pull_request_from, run_from
from buildeye.model import OutsideError

from .conftest import NOW, TOKEN, Start
from .shapes import commit_json, job_json, pull_request_json, run_json
from .stand_in import Call, Reply, as_json, serving

SINCE = NOW - timedelta(hours=24)


def stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def paged(entries: list[Any], call: Call, key: str) -> Reply:
    size, page = int(call.query["per_page"]), int(call.query["page"])
    return as_json({"total_count": len(entries), key: entries[(page - 1) * size : page * size]})


def search(runs: list[dict[str, Any]], cap: int = 1000) -> Any:
    """GitHub's search: of the runs in the window it shows `cap`, and counts all."""

    def answer(call: Call) -> Reply:
        low, high = call.query["created"].split("..")
        found = [run for run in runs if low <= run["created_at"] <= high]
        size, page = int(call.query["per_page"]), int(call.query["page"])
        shown = found[:cap][(page - 1) * size : page * size]
        return as_json({"total_count": len(found), "workflow_runs": shown})

    return answer


def test_runs_of_all_pages_come_newest_first(start: Start) -> None:
    runs = [run_json(n, stamp(NOW - timedelta(minutes=n))) for n in range(7)]
    client, server = start(search(runs), per_page=3)
    assert [run.id for run in client.runs("o", "r", since=SINCE)] == list(range(7))
    windows = [call.query["created"].split("..") for call in server.calls]
    assert {start for start, _ in windows} == {"2026-05-27T12:00:00Z"}
    assert [end for _, end in windows] == ["2026-05-28T12:00:00Z", "2026-05-28T11:58:00Z", "2026-05-28T11:56:00Z"]


def test_a_window_with_more_than_github_shows_is_cut_until_all_are_seen(start: Start) -> None:
    runs = [run_json(n, stamp(NOW - timedelta(seconds=20 * n))) for n in range(2500)]
    client, server = start(search(runs))
    assert [run.id for run in client.runs("o", "r", since=SINCE)] == list(range(2500))
    assert len(server.calls) < 60


def test_one_second_with_more_than_github_shows_ends(start: Start) -> None:
    runs = [run_json(n, stamp(NOW)) for n in range(1200)]
    client, _ = start(search(runs))
    assert len(list(client.runs("o", "r", since=NOW - timedelta(seconds=3)))) == 1000


def test_a_run_that_slips_to_the_next_page_is_told_once(start: Start) -> None:
    pages = {"1": [run_json(3), run_json(2)], "2": [run_json(2), run_json(1)]}
    client, _ = start(lambda call: as_json({"total_count": 4, "workflow_runs": pages[call.query["page"]]}), per_page=2)
    created = NOW - timedelta(hours=3)  # of all of them: a second before it would be asked for, one at a time
    assert [run.id for run in client.runs("o", "r", since=created)] == [3, 2, 1]


def test_the_first_page_of_the_newest_runs_always_has_the_same_address(start: Start) -> None:
    client, server = start(lambda call: as_json({"total_count": 1, "workflow_runs": [run_json(1, stamp(NOW))]}))
    for hours in (24, 7):
        pages = client.run_pages("o", "r", since=NOW - timedelta(hours=hours))
        assert [[run.id for run in page] for page in pages] == [[1]]
    assert server.calls[0].query == server.calls[1].query == {"page": "1", "per_page": "100"}


@pytest.mark.parametrize(
    ("workflows", "ids"),
    [
        ((), [1, 2, 3]),
        (("pr_test_full.yaml",), [1]),
        ((".github/workflows/pr_test_light.yaml",), [2]),
        (("schedule_*.yaml", "pr_test_full.yaml"), [1, 3]),
        (("test_full.yaml",), []),
    ],
)
def test_only_runs_of_the_monitored_workflow_files_are_told(
    start: Start, workflows: tuple[str, ...], ids: list[int]
) -> None:
    paths = ["pr_test_full.yaml", "pr_test_light.yaml", "schedule_nightly_test_a2.yaml@refs/heads/main"]
    runs = [run_json(n, stamp(NOW), path=f".github/workflows/{path}") for n, path in enumerate(paths, 1)]
    client, _ = start(search(runs))
    assert [run.id for run in client.runs("o", "r", since=SINCE, workflows=workflows)] == ids


def test_branch_and_event_are_asked_of_github(start: Start) -> None:
    client, server = start(search([]))
    assert list(client.runs("o", "r", since=SINCE, branch="main", event="schedule")) == []
    assert (server.calls[0].query["branch"], server.calls[0].query["event"]) == ("main", "schedule")


def test_jobs_are_those_of_the_latest_attempt_unless_all_are_asked_for(start: Start) -> None:
    client, server = start(lambda call: paged([job_json(1), job_json(2), job_json(3)], call, "jobs"), per_page=2)
    assert [job.id for job in client.jobs("o", "r", 7)] == [1, 2, 3]
    client.jobs("o", "r", 7, all_attempts=True)
    assert [call.query["filter"] for call in server.calls] == ["latest", "latest", "all", "all"]


def test_jobs_of_many_runs_come_in_order_and_one_failure_spoils_no_other(start: Start) -> None:
    def answer(call: Call) -> Reply:
        number = int(call.path.split("/")[-2])
        return as_json({"message": "Not Found"}, 404) if number == 3 else paged([job_json(number)], call, "jobs")

    client, _ = start(answer, concurrency=3)
    runs = [run_from(run_json(n)) for n in range(8)]
    found = list(client.jobs_of_runs("o", "r", runs))
    assert [entry.run.id for entry in found] == list(range(8))
    assert [[job.id for job in entry.jobs] for entry in found] == [[n] if n != 3 else [] for n in range(8)]
    assert "there is no run 3" in found[3].error


def test_a_pull_request_comes_with_the_files_of_all_pages(start: Start) -> None:
    def answer(call: Call) -> Reply:
        if call.path.endswith("/files"):
            page = int(call.query["page"])
            following = (
                {"link": f'<http://127.0.0.1/x?page={page + 1}>; rel="next"'}
                if page < 3
                else {"link": "<x>; rel=first"}
            )
            return as_json([{"filename": f"f{page}.py"}]).with_headers(following)
        return as_json(pull_request_json())

    client, server = start(answer)
    pull = client.pull_request("o", "r", 9829)
    assert (pull.number, pull.changed_files) == (9829, ("f1.py", "f2.py", "f3.py"))
    asked = len(server.calls)
    assert client.pull_request("o", "r", 9829, files=False).changed_files == ()
    assert len(server.calls) == asked + 1


def test_files_and_merge_base_come_in_one_request(start: Start) -> None:
    files = [{"filename": "a.py", "previous_filename": "b.py"}]
    data = {"status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1, "commits": [commit_json("c1")]}
    data |= {"merge_base_commit": {"sha": "bbb"}, "files": files}
    client, server = start(lambda call: as_json(data))
    pull = pull_request_from(pull_request_json())
    found = client.with_files("o", "r", pull)
    assert (found.changed_files, found.merge_base_sha) == (("a.py", "b.py"), "bbb")
    assert replace(found, changed_files=(), merge_base_sha="") == pull
    assert [call.path for call in server.calls] == [f"/repos/o/r/compare/{pull.base_sha}...{pull.head_sha}"]


@pytest.mark.parametrize("compared", [None, 300])
def test_files_of_a_head_that_is_gone_or_changes_too_many_are_asked_of_the_pull_request(
    start: Start, compared: int | None
) -> None:
    def answer(call: Call) -> Reply:
        if call.path.endswith("/files"):
            return as_json([{"filename": f"f{n}.py"} for n in range(3)])
        files = [{"filename": f"f{n}.py"} for n in range(compared or 0)]
        data = {"status": "ahead", "ahead_by": 1, "behind_by": 0, "total_commits": 1, "commits": [], "files": files,
                "merge_base_commit": {"sha": "bbb"}}  # fmt: skip
        return as_json(data) if compared else as_json({"message": "Not Found"}, 404)

    client, _ = start(answer)
    found = client.with_files("o", "r", pull_request_from(pull_request_json()))
    assert (found.changed_files, found.merge_base_sha) == (("f0.py", "f1.py", "f2.py"), "bbb" if compared else "")


def test_pull_requests_come_page_by_page_the_one_changed_last_first(start: Start) -> None:
    def answer(call: Call) -> Reply:
        return as_json([pull_request_json(n) for n in range(5)][(int(call.query["page"]) - 1) * 2 :][:2])

    client, server = start(answer, per_page=2)
    pages = client.changed_pull_requests("o", "r")
    assert [pull.number for pull in next(pages)] == [0, 1]
    assert len(server.calls) == 1
    assert [[pull.number for pull in page] for page in pages] == [[2, 3], [4]]
    assert server.calls[0].query == {
        "state": "all", "sort": "updated", "direction": "desc", "per_page": "2", "page": "1"
    }  # fmt: skip


def test_pull_requests_of_a_commit_are_listed(start: Start) -> None:
    client, server = start(lambda call: as_json([pull_request_json(1), pull_request_json(2)]))
    assert [pull.number for pull in client.pull_requests_of_commit("o", "r", "3d91e02")] == [1, 2]
    assert server.calls[0].path == "/repos/o/r/commits/3d91e02/pulls"


def test_a_comparison_names_merge_base_commits_and_files(start: Start) -> None:
    commits = [commit_json("c1"), commit_json("c2"), commit_json("c3")]

    def answer(call: Call) -> Reply:
        page = int(call.query["page"])
        data = {"status": "ahead", "ahead_by": 3, "behind_by": 0, "total_commits": 3, "files": [{"filename": "a.py"}]}
        return as_json(data | {"merge_base_commit": {"sha": "bbb"}, "commits": commits[(page - 1) * 2 : page * 2]})

    client, server = start(answer, per_page=2)
    found = client.compare("o", "r", "main", "fix/topk")
    assert (found.merge_base_sha, found.ahead_by, found.changed_files) == ("bbb", 3, ("a.py",))
    assert [commit.sha for commit in found.commits] == ["c1", "c2", "c3"]
    assert server.calls[0].path == "/repos/o/r/compare/main...fix%2Ftopk"


def test_a_branch_is_followed_by_first_parents_from_the_head_found_first(start: Start) -> None:
    parents = {"m5": ["m4"], "m4": ["m3", "s2"], "s2": ["s1"], "m3": ["m2"], "s1": ["m2"], "m2": ["m1"], "m1": []}
    listed = [commit_json(sha, parents=[{"sha": one} for one in of]) for sha, of in parents.items()]

    def answer(call: Call) -> Reply:
        page = int(call.query["page"])
        moved = [commit_json("m6", parents=[{"sha": "m5"}])] if call.query["sha"] == "main" and page > 1 else []
        return as_json((moved + listed)[(page - 1) * 3 : page * 3])

    client, server = start(answer, per_page=3)
    assert [commit.sha for commit in client.branch_commits("o", "r", "main")] == ["m5", "m4", "m3", "m2", "m1"]
    assert [call.query["sha"] for call in server.calls] == ["main", "m5", "m5"]


def test_a_commit_comes_with_its_files(start: Start) -> None:
    client, _ = start(lambda call: as_json(commit_json(files=[{"filename": "a.py"}])))
    commit = client.commit("o", "r", "3d91e02")
    assert (commit.parents, commit.changed_files) == (("bbb",), ("a.py",))
    assert commit.committed_at == datetime(2026, 5, 28, 8, 30, tzinfo=UTC)


def test_a_run_knows_its_repository_even_if_the_answer_does_not_say(start: Start) -> None:
    client, _ = start(lambda call: as_json(run_json(repository=None)))
    assert client.run("o", "r", 7).repository_full_name == "o/r"


def test_the_client_is_as_the_settings_say(tmp_path: Path) -> None:
    with serving(search([run_json(n, stamp(NOW - timedelta(seconds=n))) for n in range(3)])) as server:
        settings = Settings.model_validate(
            {
                "api": {"base_url": server.url, "per_page": 2},
                "storage": {"data_dir": tmp_path},
                "github_token": SecretStr(TOKEN),
            }
        )
        with GitHub.of(settings) as client:
            assert len(list(client.runs("o", "r", since=SINCE, until=NOW))) == 3
            assert client.stats.requests == 2
        assert server.calls[0].headers["authorization"] == f"Bearer {TOKEN}"
        assert (tmp_path / "cache" / "github-answers.sqlite").exists()


def test_the_rate_limit_is_read(start: Start) -> None:
    core = {"limit": 5000, "remaining": 4871, "reset": int(NOW.timestamp())}
    client, _ = start(lambda call: as_json({"resources": {"core": core}}))
    limit = client.rate_limit()
    assert (limit.limit, limit.remaining, limit.reset_at) == (5000, 4871, NOW)


def test_an_answer_that_was_seen_before_is_asked_for_conditionally_and_costs_nothing(
    start: Start, tmp_path: Path
) -> None:
    def answer(call: Call) -> Reply:
        limit = {"x-ratelimit-remaining": "4870", "x-ratelimit-reset": str(int(NOW.timestamp()))}
        known = call.headers.get("if-none-match") == 'W/"e1"'
        headers = {"etag": 'W/"e1"', "cache-control": "private, max-age=60", "vary": "Accept, Authorization"} | limit
        return Reply(304, headers=headers) if known else as_json(run_json()).with_headers(headers)

    client, server = start(answer, cache_dir=tmp_path / "cache")
    assert client.run("o", "r", 7) == client.run("o", "r", 7) == client.run("o", "r", 7)
    assert [call.headers.get("if-none-match") for call in server.calls] == [None, 'W/"e1"', 'W/"e1"']
    assert (client.stats.requests, client.stats.not_modified, client.stats.remaining) == (3, 2, 4870)


def test_a_changed_answer_replaces_the_one_seen_before(start: Start, tmp_path: Path) -> None:
    titles = iter(["one", "two"])

    def answer(call: Call) -> Reply:
        title = next(titles)
        return as_json(run_json(display_title=title), etag=f'"{title}"')

    client, _ = start(answer, cache_dir=tmp_path)
    assert [client.run("o", "r", 7).display_title for _ in range(2)] == ["one", "two"]


def test_the_cache_never_holds_the_token(start: Start, tmp_path: Path) -> None:
    client, server = start(lambda call: as_json(run_json(), etag='"e"'), cache_dir=tmp_path)
    client.run("o", "r", 7)
    assert server.calls[0].headers["authorization"] == f"Bearer {TOKEN}"
    client.close()
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"head_sha" in stored
    assert TOKEN.encode() not in stored
    assert b"Bearer" not in stored


def test_a_damaged_cache_is_begun_anew(start: Start, tmp_path: Path) -> None:
    (tmp_path / "github-answers.sqlite").write_bytes(b"not a database" * 1000)
    client, _ = start(lambda call: as_json(run_json()), cache_dir=tmp_path)
    assert client.run("o", "r", 7).id == 7


def test_a_cache_folder_that_cannot_be_made_is_told(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutsideError, match="cannot be written"):
        start(lambda call: Reply(), cache_dir=tmp_path / "file" / "cache")


def test_many_logs_are_fetched_several_at_once_but_no_more_than_allowed(start: Start, tmp_path: Path) -> None:
    lock, both = threading.Lock(), threading.Barrier(2)
    under_way: list[int] = []
    most = [0]

    def answer(call: Call) -> Reply:
        with lock:
            under_way.append(1)
            most[0] = max(most[0], len(under_way))
        both.wait(timeout=10)
        with lock:
            under_way.pop()
        return Reply(body=call.path.encode())

    client, _ = start(answer, concurrency=2)
    found = list(client.download_job_logs("o", "r", range(6), tmp_path))
    assert [(log.job_id, log.state) for log in found] == [(n, LogState.SAVED) for n in range(6)]
    assert most[0] == 2
