"""The grid in PyTorch's shape, over real HTTP and a real warehouse."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import httpx2
import pytest

from buildeye.insight.grid import FLAKY, JobRun, letter_of, merged
from buildeye.insight.hudgrid import hud_page, positional
from buildeye.model import OutsideError
from buildeye.warehouse import Warehouse
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, SIGNATURE, a_diagnosis, a_pull, a_run, at

from .hud_facts import WEB, columns, hud, job, pushed, sha, shas

HERE = f"/api/hud/{REPOSITORY}"
ENDINGS = (
    ("completed", "success"), ("completed", "failure"), ("completed", "timed_out"), ("completed", "startup_failure"),
    ("completed", "cancelled"), ("completed", "skipped"), ("completed", "neutral"), ("completed", "of tomorrow"),
    ("queued", ""), ("in_progress", ""),
)  # fmt: skip


@pytest.fixture
def filled(warehouse: Warehouse) -> Warehouse:
    """Five commits of main with one job each, the third of a merge with #9; and what is none of main's business."""
    empty(warehouse)
    warehouse.write_runs([pushed(number) for number in (1, 2, 4, 5)])
    warehouse.write_jobs([job(10 * number, number, ended="failure" if number > 3 else "success") for number in (1, 4)])
    warehouse.write_pull_requests([replace(a_pull(9, merged=180, title="Turn (#9)"), merge_commit_sha=sha(3))])
    warehouse.write_jobs([job(50, 5, "lint"), job(51, 5, "unit", "failure"), job(30, 3, "lint", workflow="")])
    warehouse.write_runs([pushed(7, repository="octo/other"), pushed(8, branch="feature/x")])
    warehouse.write_runs([replace(pushed(9, event="pull_request"), head_sha=sha(5))])
    warehouse.write_jobs([replace(job(90, 5, "of a fork"), run_id=9)])
    warehouse.write_diagnoses([a_diagnosis(51)])
    return warehouse


@pytest.fixture
def client(filled: Warehouse) -> Iterator[httpx2.Client]:
    with hud(filled) as opened:
        yield opened


def page(client: httpx2.Client, path: str = "main/1", **asked: Any) -> dict[str, Any]:
    answer = client.get(f"{HERE}/{path}", params=asked)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert isinstance(found, dict)
    return found


def test_a_page_has_commits_newest_first_and_a_cell_for_every_name(client: httpx2.Client) -> None:
    found = page(client)
    assert list(found) == ["shaGrid", "jobNames"]
    assert shas(found) == [sha(5), sha(4), sha(3), sha(2), sha(1)]
    assert found["jobNames"] == ["CI / lint", "CI / unit", "lint"]
    assert [len(row["jobs"]) for row in found["shaGrid"]] == [3] * 5
    ends = {name: [cell.get("conclusion", "") for cell in cells] for name, cells in columns(found).items()}
    assert ends == {
        "CI / lint": ["success", "", "", "", ""],
        "CI / unit": ["failure", "failure", "", "", "success"],
        "lint": ["", "", "success", "", ""],
    }
    assert found["shaGrid"][3]["jobs"] == [{}, {}, {}]


def test_a_row_says_who_brought_what_and_when(client: httpx2.Client) -> None:
    rows = [{name: value for name, value in row.items() if name != "jobs"} for row in page(client)["shaGrid"]]
    assert rows[0] == {
        "sha": sha(5), "time": "2026-11-30T17:00:00Z", "prNum": None, "commitUrl": f"{WEB}/commit/{sha(5)}",
        "commitTitle": "Commit 5", "author": "octocat",
    }  # fmt: skip
    assert rows[2] | {"prNum": 9, "commitTitle": "Turn (#9)"} == rows[2]


def test_a_title_that_ends_with_a_number_names_the_pull_request(warehouse: Warehouse) -> None:
    empty(warehouse)
    warehouse.write_runs([replace(pushed(1), display_title="Mend the widget (#123)\n\n(#7)")])
    with hud(warehouse) as client:
        (row,) = page(client)["shaGrid"]
    assert (row["prNum"], row["commitTitle"], row["commitUrl"]) == (
        123, "Mend the widget (#123)", f"https://github.com/{REPOSITORY}/commit/{sha(1)}",
    )  # fmt: skip


def test_a_cell_says_what_is_known_of_its_run(client: httpx2.Client) -> None:
    cells = columns(page(client))
    assert cells["CI / unit"][0] == {
        "id": 51, "conclusion": "failure", "status": "completed", "htmlUrl": f"{WEB}/actions/runs/5/job/51",
        "logUrl": f"{WEB}/commit/{sha(5)}/checks/51/logs", "durationS": 1080, "failureLines": ["E assert 1 == 2"],
        "failureLineNumbers": [812], "failureCaptures": [SIGNATURE], "sha": sha(5),
    }  # fmt: skip
    passed = cells["CI / lint"][0]
    assert (passed["failureLines"], passed["failureLineNumbers"], passed["failureCaptures"]) == ([], [], [])


def test_runs_of_one_job_become_the_cell_that_the_streaks_see_too(warehouse: Warehouse) -> None:
    empty(warehouse)
    told = [runs for size in (1, 2, 3) for runs in combinations(ENDINGS, size)]
    told += [tuple(reversed(runs)) for runs in told if len(runs) > 1]
    jobs = [
        job(10 * place + n, 1, f"j{place}", ended, status=status)
        for place, runs in enumerate(told)
        for n, (status, ended) in enumerate(runs)
    ]
    warehouse.write_runs([pushed(1)])
    warehouse.write_jobs(jobs)
    with hud(warehouse) as client:
        cells = columns(page(client))
    for place, runs in enumerate(told):
        ours = merged(
            JobRun("c", "j", 10 * place + n, letter_of(status, ended)) for n, (status, ended) in enumerate(runs)
        )
        (cell,) = cells[f"CI / j{place}"]
        letter = letter_of(cell["status"], cell["conclusion"])
        shown = FLAKY if cell.get("failedPreviousRun") else letter
        assert (shown, cell["id"]) == (ours.letter, ours.id), runs


def test_a_run_that_goes_on_has_pytorchs_word_for_it_and_no_duration(warehouse: Warehouse) -> None:
    empty(warehouse)
    warehouse.write_runs([pushed(1)])
    warehouse.write_jobs([job(1, 1, "a", status="queued"), job(2, 1, "b", status="in_progress")])
    with hud(warehouse) as client:
        cells = columns(page(client))
    assert [cells[name][0]["conclusion"] for name in ("CI / a", "CI / b")] == ["queued", "pending"]
    assert all("durationS" not in cells[name][0] for name in cells)


def test_shards_stay_apart_as_pytorch_has_them(warehouse: Warehouse) -> None:
    empty(warehouse)
    warehouse.write_runs([pushed(1)])
    warehouse.write_jobs([job(1, 1, "test (default, 1, 2)"), job(2, 1, "test (default, 2, 2)")])
    with hud(warehouse) as client:
        assert page(client)["jobNames"] == ["CI / test (default, 1, 2)", "CI / test (default, 2, 2)"]


@pytest.mark.parametrize("line", ['"quoted" \\ back', "tab\tbell\x07", "</script>", "向左 🚀", "\x1b[31mred\x1b[0m"])
def test_what_a_log_says_arrives_unchanged(warehouse: Warehouse, line: str) -> None:
    empty(warehouse)
    warehouse.write_runs([pushed(1)])
    warehouse.write_jobs([job(1000, 1, f"unit {line}", "failure")])
    warehouse.write_diagnoses([a_diagnosis(1000, line=line, signature=line)])
    with hud(warehouse) as client:
        ((name, (cell,)),) = columns(page(client)).items()
    assert (name, cell["failureLines"], cell["failureCaptures"]) == (f"CI / unit {line}", [line], [line])


def test_page_0_is_page_1_and_pages_do_not_overlap(client: httpx2.Client) -> None:
    assert page(client, "main/0", per_page=2) == page(client, "main/1", per_page=2)
    found = [shas(page(client, f"main/{number}", per_page=2)) for number in (1, 2, 3, 4)]
    assert found == [[sha(5), sha(4)], [sha(3), sha(2)], [sha(1)], []]


def test_each_page_names_its_own_jobs(client: httpx2.Client) -> None:
    assert page(client, "main/2", per_page=1)["jobNames"] == ["CI / unit"]
    empty_row = page(client, "main/4", per_page=1)
    assert (empty_row["jobNames"], [row["jobs"] for row in empty_row["shaGrid"]]) == ([], [[]])


@pytest.mark.parametrize("ref", [sha(4), sha(4)[:7]])
def test_a_commit_begins_the_grid_of_its_branch(client: httpx2.Client, ref: str) -> None:
    assert shas(page(client, f"{ref}/1")) == [sha(4), sha(3), sha(2), sha(1)]
    assert shas(page(client, f"{ref}/2", per_page=3)) == [sha(1)]


@pytest.mark.parametrize("ref", ["feature/x", "feature%2Fx"])
def test_a_branch_may_have_slashes(client: httpx2.Client, ref: str) -> None:
    assert shas(page(client, f"{ref}/0")) == [sha(8)]


@pytest.mark.parametrize("path", ["octo/none/main/1", "nobody/widgets/main/1", f"{REPOSITORY}/gone/1", "a/b/abcdef0/0"])
def test_what_is_not_known_is_an_empty_grid(client: httpx2.Client, path: str) -> None:
    assert client.get(f"/api/hud/{path}").json() == {"shaGrid": [], "jobNames": []}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("octo/widgets/main/one", "the page is a whole number from 0"),
        ("octo/widgets/main/-1", "the page is a whole number from 0"),
        ("octo/widgets/main/1e3", "the page is a whole number from 0"),
        ("octo/widgets/main/999999999", "the page is a whole number from 0"),
        ("octo/widgets/main/1?per_page=0", "per_page is a whole number from 1 to 100"),
        ("octo/widgets/main/1?per_page=many", "per_page is a whole number from 1 to 100"),
        ("octo/widgets/main/1?per_page=", "per_page is a whole number from 1 to 100"),
        ("octo/wid%20gets/main/1", "the address names no repository"),
        ("octo/widgets/ma%00in/1", "the address names no branch or commit"),
        ("octo/widgets/ma%20in/1", "the address names no branch or commit"),
        ("octo/widgets/" + "x" * 300 + "/1", "the address names no branch or commit"),
    ],
)
def test_a_malformed_question_is_told_in_one_sentence(client: httpx2.Client, path: str, said: str) -> None:
    answer = client.get(f"/api/hud/{path}")
    assert answer.status_code == 400
    assert list(answer.json()) == ["message"] and answer.json()["message"].startswith(said)
    assert "\n" not in answer.json()["message"]


def test_no_page_has_more_than_100_commits(warehouse: Warehouse) -> None:
    empty(warehouse)
    runs = [
        replace(a_run(n, event="push", branch="main"), head_sha=f"{n:040}", created_at=at(n)) for n in range(1, 131)
    ]
    warehouse.write_runs(runs)
    with hud(warehouse) as client:
        assert [len(shas(page(client, "main/1", **asked))) for asked in ({"per_page": 5000}, {})] == [100, 50]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer right"}, 200),
        ({"authorization": "bearer right"}, 200),
        ({"x-hud-internal-bot": "right"}, 200),
        ({"authorization": "Bearer wrong", "x-hud-internal-bot": "right"}, 200),
        ({"authorization": "Basic right"}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"x-hud-internal-bot": ""}, 401),
        ({"x-hud-internal-bot": "righ\xe9"}, 401),
        ({}, 401),
    ],
)
def test_with_a_token_only_who_sends_it_is_answered(filled: Warehouse, headers: dict[str, str], status: int) -> None:
    with hud(filled, "right") as client:
        raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
        answer = client.get(f"{HERE}/main/1", headers=raw)
    assert answer.status_code == status
    assert (status == 200) == ("shaGrid" in answer.json())
    assert "right" not in answer.json().get("message", "")


def test_without_a_token_the_header_of_the_script_does_no_harm(client: httpx2.Client) -> None:
    answer = client.get(f"{HERE}/main/0", headers={"x-hud-internal-bot": "anything"})
    assert answer.status_code == 200


def test_a_warehouse_that_is_away_is_a_503_and_a_sentence(filled: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_given: object, **_named: object) -> None:
        raise OutsideError("ClickHouse at db.test:8123 does not answer: check that it runs.")

    with hud(filled) as client:
        monkeypatch.setattr(filled, "ask", away)
        answer = client.get(f"{HERE}/main/1")
    assert (answer.status_code, list(answer.json())) == (503, ["message"])


def test_a_grid_is_two_questions_however_large(filled: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = filled.ask

    def counted(name: str, **parameters: Any) -> list[dict[str, Any]]:
        asked.append(name)
        return real(name, **parameters)

    monkeypatch.setattr(filled, "ask", counted)
    assert len(hud_page(filled, REPOSITORY, "main", 1, 100).commits) == 5
    assert asked == ["hud_commits", "hud_cells"]


def test_cells_are_placed_by_name() -> None:
    cells = {"a": {"y": '{"id":1}'}, "c": {"x": '{"id":2}', "y": '{"id":3}'}}
    assert positional(["c", "b", "a"], cells) == (
        ("x", "y"), (('{"id":2}', '{"id":3}'), ("{}", "{}"), ("{}", '{"id":1}')),
    )  # fmt: skip
    assert positional(["c"], {}) == ((), ((),))
