"""`build-eye streaks`: from facts in a warehouse to the table, JSON and CSV."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.insight.streakrows import brief, named
from buildeye.warehouse import open_warehouse
from tests.cli.program import build_eye
from tests.warehouse.facts import REPOSITORY, a_diagnosis, a_job, a_pull, a_run, at

SHAS = [f"{number:x}" * 40 for number in range(1, 6)]
"""Commits, oldest first; the second was merged with #9 and never built."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five commits: `unit` passed at the first only, `e2e` never, `lint` always; a fork fails too."""
    place = tmp_path_factory.mktemp("streaks") / "warehouse"
    runs, jobs = [], []
    for number, sha in enumerate(SHAS):
        if number == 1:
            continue
        run = a_run(100 + number, event="push", branch="main", pulls=())
        runs.append(replace(run, head_sha=sha, created_at=at(60 * number)))
        for place_of, (name, passed) in enumerate([("unit (1/2)", number == 0), ("e2e", False), ("lint", True)]):
            job = a_job(1000 + 10 * number + place_of, run=100 + number, name=name, branch="main",
                        conclusion="success" if passed else "failure")  # fmt: skip
            jobs.append(replace(job, head_sha=sha, created_at=at(60 * number)))
    runs.append(replace(a_run(300, branch="main"), head_sha=SHAS[4], created_at=at(300)))
    jobs.append(replace(a_job(3000, run=300, name="of a fork", branch="main"), head_sha=SHAS[4], created_at=at(300)))
    with open_warehouse(f"chdb://{place}") as warehouse:
        warehouse.write_runs(runs)
        warehouse.write_jobs(jobs)
        warehouse.write_pull_requests([replace(a_pull(9, merged=60), merge_commit_sha=SHAS[1])])
        warehouse.write_diagnoses([a_diagnosis(1000 + 10 * number) for number in (2, 3)])
    return place


@pytest.fixture
def here(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")


def asked(*arguments: str, warned: str = "") -> str:
    answer = build_eye("streaks", *arguments, "--target-repo", REPOSITORY)
    assert answer.code == 0 and (warned in answer.err if warned else answer.err == "")
    return answer.out


@pytest.mark.usefixtures("here")
def test_a_table_says_since_when_and_as_what() -> None:
    out = asked("main")
    assert all(len(line) <= 100 for line in out.splitlines())
    assert out.split("\n")[1:3] and "CI / e2e" in out.splitlines()[1] and "4+" in out.splitlines()[1]
    assert "before this window" in out.splitlines()[1] and "4x not diagnosed" in out
    assert "CI / unit" in out and "2026-11-30 3333333" in out and "3333333 (1 of 2)" in out and "2x test_b" in out
    assert "lint" not in out and "of a fork" not in out


@pytest.mark.usefixtures("here")
def test_json_names_the_commits_between_the_last_pass_and_the_first_failure() -> None:
    (unit,) = json.loads(asked("-o", "json", "--job", "UNIT"))
    assert unit["job"] == "CI / unit" and unit["streak"] == 3 and unit["clipped"] is False
    assert (unit["first_bad"], unit["last_good"]) == (SHAS[2], SHAS[0])
    assert unit["between"] == [
        {"sha": SHAS[1], "pull_request": 9},
        {"sha": SHAS[2], "pull_request": None},
    ]
    assert (unit["failed"], unit["judged"], unit["failure_rate"], unit["undiagnosed"]) == (3, 4, 0.75, 1)
    assert unit["signatures"][0]["commits"] == 2


@pytest.mark.usefixtures("here")
def test_csv_has_a_head_and_a_line_a_streak() -> None:
    rows = list(csv.DictReader(io.StringIO(asked("-o", "csv"))))
    assert [(row["job"], row["streak"], row["clipped"]) for row in rows] == [
        ("CI / e2e", "4", "true"), ("CI / unit", "3", "false"),
    ]  # fmt: skip


@pytest.mark.usefixtures("here")
def test_a_picture_has_a_bar_a_streak() -> None:
    lines = asked("-o", "graph").splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == ["streak", "CI / e2e", "CI / unit"]
    assert lines[1].count("█") > lines[2].count("█") > 10


@pytest.mark.usefixtures("here")
def test_a_shorter_window_clips_and_a_higher_minimum_leaves_out() -> None:
    assert [each["clipped"] for each in json.loads(asked("-o", "json", "--commits", "2"))] == [True, True]
    assert [each["job"] for each in json.loads(asked("-o", "json", "--min", "4"))] == ["CI / e2e"]


@pytest.mark.usefixtures("here")
def test_a_branch_without_failures_is_said_to_have_none() -> None:
    unknown = "the warehouse knows no commit of release of octo/widgets"
    said = asked("release", warned=unknown)
    assert said == f"{REPOSITORY}: no job is on a streak at release (newest 100 commits)\n"
    assert json.loads(asked("release", "-o", "json", warned=unknown)) == []


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("arguments", [(SHAS[3][:7],), ("main", "--at", SHAS[3]), ("--at", SHAS[3][:8].upper())])
def test_streaks_may_end_at_a_given_commit(arguments: tuple[str, ...]) -> None:
    found = {each["job"]: each for each in json.loads(asked(*arguments, "-o", "json"))}
    assert {job: each["streak"] for job, each in found.items()} == {"CI / e2e": 3, "CI / unit": 2}
    assert found["CI / unit"]["last_bad"] == SHAS[3]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("abcdef0",), "main has no commit abcdef0 that is known here"),
        (("--at", "abc"), '--at is "abc"; write the name of a commit, or at least its first 7 characters'),
        ((SHAS[3], "--at", SHAS[2]), "both name a commit; give one"),
    ],
)
def test_a_commit_that_is_none_is_refused(arguments: tuple[str, ...], said: str) -> None:
    answer = build_eye("streaks", *arguments, "--target-repo", REPOSITORY)
    assert (answer.code, answer.out) == (2, "") and said in answer.err and answer.err.count("\n") == 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("arguments", [("--commits", "0"), ("--min", "0"), ("-o", "xml")])
def test_wrong_options_are_refused(arguments: tuple[str, str]) -> None:
    assert build_eye("streaks", *arguments).code == 2


@pytest.mark.parametrize(
    ("text", "name", "fits"),
    [
        ("unit (3.12)", "CI / unit (3.12)", True), ("e2e|unit", "CI / Unit", True), ("^CI / u", "CI / unit", True),
        ("(", "CI / unit (3)", True), ("(", "CI / unit", False), ("", "any", True), ("lint", "CI / unit", False),
    ],
)  # fmt: skip
def test_a_job_is_named_by_text_or_by_a_pattern(text: str, name: str, fits: bool) -> None:
    assert named(text)(name) is fits


@pytest.mark.parametrize(
    ("signature", "short"),
    [
        ("pytest.failed|tests/test_a.py::test_b|AssertionError", "test_b AssertionError"),
        ("npu.ei0006", "npu.ei0006"),
        ("rule|", "rule"),
    ],
)
def test_a_signature_is_told_briefly(signature: str, short: str) -> None:
    assert brief(signature) == short
