"""What tests did, from JUnit reports that were really read into a real warehouse."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from buildeye.insight.caseids import case_id
from buildeye.insight.flaky import FlakyState, flaky_cases, judged_cases
from buildeye.insight.testruns import CaseHistory, NoSuchCase, case_history, file_week, files_like
from buildeye.warehouse import Warehouse, open_warehouse
from tests.insight.junitxml import Told, ci_job, ci_run, ingest
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, at
from tests.warehouse.throughdoor import through_door

FILE = "tests/test_a.py"
SINCE, UNTIL = at(-60), at(600)
GUIDE = """
    SELECT file, classname, name, count() AS runs,
        countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
        countIf(failure_count > 0 OR error_count > 0) AS fails, countIf(skipped_count > 0) AS skipped
    FROM tests.all_test_runs
    WHERE time_inserted >= toDateTime('2026-11-30 11:00:00', 'UTC') AND file = 'tests/test_a.py'
    GROUP BY file, classname, name ORDER BY runs DESC
"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as warehouse:
        yield warehouse


@pytest.fixture(scope="module")
def door(opened: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with through_door(opened, tmp_path_factory.mktemp("door")) as asked:
        yield asked


@pytest.fixture(params=["embedded", "door"])
def warehouse(request: pytest.FixtureRequest, opened: Warehouse) -> Warehouse:
    empty(opened)
    asked = request.getfixturevalue("door") if request.param == "door" else opened
    assert isinstance(asked, Warehouse)
    return asked


def week(warehouse: Warehouse, file: str = FILE) -> dict[str, tuple[int, int, int, int, int]]:
    found = file_week(warehouse, REPOSITORY, file, SINCE, UNTIL)
    counts = {each.name: each.counts for each in found}
    return {name: (c.runs, c.successful, c.fails, c.skipped, c.flaky) for name, c in counts.items()}


def test_the_tests_of_a_file_are_counted_as_the_guides_query_counts_them(warehouse: Warehouse, tmp_path: Path) -> None:
    names = ["pass", "fail", "error", "skip", "flaky"]
    for job in range(4):
        told = [Told(name, name if job else "pass", seconds=job) for name in names]
        ingest(warehouse, tmp_path, 100 + job, 1000 + job, *told, Told("x", file="tests/test_b.py"), minutes=job)
    assert week(warehouse) == {
        "pass": (4, 4, 0, 0, 0), "fail": (4, 1, 3, 0, 0), "error": (4, 1, 3, 0, 0), "skip": (4, 1, 0, 3, 0),
        "flaky": (4, 4, 0, 0, 3),
    }  # fmt: skip
    guide = {row[2]: row[3:] for row in warehouse.query(GUIDE).rows}
    assert {name: counts[:4] for name, counts in week(warehouse).items()} == guide


def test_times_and_rates_leave_skips_out(warehouse: Warehouse, tmp_path: Path) -> None:
    ingest(warehouse, tmp_path, 100, 1000, Told("a", "fail", seconds=3), Told("b", "skip", seconds=9))
    ingest(warehouse, tmp_path, 101, 1001, Told("a", seconds=1), minutes=5)
    ingest(warehouse, tmp_path, 102, 1002, Told("a", "skip", seconds=90), minutes=6)
    first, second = file_week(warehouse, REPOSITORY, FILE, SINCE, UNTIL)
    assert (first.name, first.seconds, first.counts.pass_rate, first.last_failed) == ("a", 2.0, 0.5, at(0))
    assert (second.name, second.seconds, second.counts.pass_rate, second.last_failed) == ("b", None, None, None)
    assert first.id == "tests/test_a.py::TestB::a"


@pytest.mark.parametrize("warehouse", ["embedded"], indirect=True)
def test_a_report_that_is_read_twice_or_half_and_then_whole_counts_once(warehouse: Warehouse, tmp_path: Path) -> None:
    cases = [Told("a"), Told("a", "fail"), Told("b", "skip")]
    for told in (cases[:1], cases, cases):
        ingest(warehouse, tmp_path, 100, 1000, *told)
    assert warehouse.query("SELECT count() FROM tests.all_test_runs").rows == ((7,),), "ClickHouse has merged already"
    assert week(warehouse) == {"a": (2, 1, 1, 0, 0), "b": (1, 0, 0, 1, 0)}
    warehouse.query("OPTIMIZE TABLE tests.all_test_runs FINAL")
    assert week(warehouse) == {"a": (2, 1, 1, 0, 0), "b": (1, 0, 0, 1, 0)}


def test_other_repositories_and_times_do_not_count(warehouse: Warehouse, tmp_path: Path) -> None:
    ingest(warehouse, tmp_path, 100, 1000, Told("a"))
    ingest(warehouse, tmp_path, 101, 1001, Told("a"), repository="octo/other")
    ingest(warehouse, tmp_path, 102, 1002, Told("a"), minutes=-61)
    ingest(warehouse, tmp_path, 103, 1003, Told("a"), minutes=600)
    assert week(warehouse) == {"a": (1, 1, 0, 0, 0)}


def test_tests_whose_reports_name_no_file_are_found_by_their_module(warehouse: Warehouse, tmp_path: Path) -> None:
    told = [
        Told("a", file=""),
        Told("b", file="", classname="tests.test_a"),
        Told("c", file="", classname="tests.test_ab"),
    ]
    ingest(warehouse, tmp_path, 100, 1000, *told)
    assert sorted(week(warehouse)) == ["a", "b"]
    assert week(warehouse, "tests/test_a") == {}
    found = case_history(warehouse, REPOSITORY, "tests/test_a.py::TestB::a", SINCE, UNTIL)
    assert isinstance(found, CaseHistory) and found.counts.runs == 1


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("test_ts_opinfo.py", ["lazy/test_ts_opinfo.py", "old/test_ts_opinfo.py"]),
        ("test/lazy/test_ts_opinfo.py", ["lazy/test_ts_opinfo.py", "old/test_ts_opinfo.py"]),
        ("old/test_ts_opinfo", ["lazy/test_ts_opinfo.py", "old/test_ts_opinfo.py"]),
        ("old/test_ts_opinfo.py/", ["lazy/test_ts_opinfo.py", "old/test_ts_opinfo.py"]),
        ("src/old/test_ts_opinfo.py", ["old/test_ts_opinfo.py", "lazy/test_ts_opinfo.py"]),
        ("TEST_TS_OPINFO.PY", ["lazy/test_ts_opinfo.py", "old/test_ts_opinfo.py"]),
        ("tests/test_c.py", ["tests.test_c.TestD"]),
        ("nothing.py", []),
        ("", []),
        ("/", []),
    ],
)
def test_the_nearest_names_of_a_file_that_has_no_runs(
    warehouse: Warehouse, tmp_path: Path, asked: str, nearest: list[str]
) -> None:
    files = ["lazy/test_ts_opinfo.py", "old/test_ts_opinfo.py", "other.py"]
    told = [Told(f"{n}", file=file) for n, file in enumerate([*files, files[0]])]
    ingest(warehouse, tmp_path, 100, 1000, *told, Told("d", file="", classname="tests.test_c.TestD"))
    found = list(files_like(warehouse, REPOSITORY, asked, SINCE, UNTIL))
    assert sorted(found) == sorted(nearest) and found[:1] == nearest[:1]


@pytest.fixture
def past(warehouse: Warehouse, tmp_path: Path) -> Warehouse:
    """Two days of `a`: it passes, fails twice, is flaky in a job, and passes at last."""
    runs = [ci_run(100 + n, f"{n}" * 40, minutes=60 * n, branch="main") for n in range(5)]
    outcomes = ["pass", "fail", "other", "flaky", "pass"]
    warehouse.write_runs(runs)
    for n, (run, outcome) in enumerate(zip(runs, outcomes, strict=True)):
        day = 1440 if n > 2 else 0
        warehouse.write_jobs(
            [
                ci_job(1000 + n, run, "unit", failed=outcome in ("fail", "other"), minutes=60 * n),
                ci_job(2000 + n, run, "lint", minutes=60 * n),
            ]
        )
        ingest(warehouse, tmp_path, run.id, 1000 + n, Told("a", outcome), Told("b"), minutes=60 * n + day)
    ingest(warehouse, tmp_path, 104, 2004, Told("a", "skip"), minutes=241 + 1440)
    return warehouse


def test_the_history_of_a_test_has_its_days_jobs_messages_and_ends(past: Warehouse) -> None:
    found = case_history(past, REPOSITORY, "tests/test_a.py::TestB::a", SINCE, at(3000))
    assert isinstance(found, CaseHistory)
    days = [(f"{day}", c.runs, c.successful, c.fails, c.skipped, c.flaky) for day, c in found.days]
    assert days == [("2026-11-30", 3, 1, 2, 0, 0), ("2026-12-01", 3, 2, 0, 1, 1)]
    assert [(job, c.runs, c.fails, c.skipped) for job, c in found.jobs] == [
        ("CI / unit", 5, 2, 0),
        ("CI / lint", 1, 0, 1),
    ]
    told = [(each.text, each.fails, each.flaky, each.run_id) for each in found.messages]
    assert told == [
        ("ConnectionError: reset", 0, 1, 103), ("TimeoutError: 30 s", 1, 0, 102), ("assert 1 == 2", 1, 0, 101),
    ]  # fmt: skip
    assert found.last_pass and found.last_failure
    assert (found.last_pass.run_id, found.last_pass.head_sha, found.last_pass.branch) == (104, "4" * 40, "main")
    assert found.last_pass.html_url == "https://example.test/jobs/1004"
    assert (found.last_failure.run_id, found.last_failure.at) == (102, at(120))
    assert (found.flakiness.state, found.flakiness.flaky, found.flakiness.commits) == (FlakyState.FLAKY, 1, 3)
    assert found.seconds == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("asked", "id"),
    [
        ("tests/test_a.py::TestB::a", "tests/test_a.py::TestB::a"),
        ("TestB::b", "tests/test_a.py::TestB::b"),
        ("b", "tests/test_a.py::TestB::b"),
        ("weird::name[x]", "tests/test_c.py::weird::name[x]"),
    ],
)
def test_a_test_is_found_by_its_id_or_the_end_of_it(past: Warehouse, tmp_path: Path, asked: str, id: str) -> None:
    ingest(
        past,
        tmp_path,
        104,
        1004,
        Told("weird::name[x]", file="tests/test_c.py", classname="tests.test_c"),
        name="c.xml",
    )
    found = case_history(past, REPOSITORY, asked, SINCE, at(3000))
    assert isinstance(found, CaseHistory) and found.id == id


def test_a_name_that_several_tests_have_and_one_that_none_has_are_told(past: Warehouse, tmp_path: Path) -> None:
    ingest(past, tmp_path, 104, 1004, Told("a", file="tests/test_c.py", classname="tests.test_c"), name="c.xml")
    several = case_history(past, REPOSITORY, "a", SINCE, at(3000))
    assert several == NoSuchCase("a", ("tests/test_a.py::TestB::a", "tests/test_c.py::a"), several=True)
    elsewhere = case_history(past, REPOSITORY, "tests/test_x.py::TestB::b", SINCE, at(3000))
    assert elsewhere == NoSuchCase("tests/test_x.py::TestB::b", ("tests/test_a.py::TestB::b",))
    assert case_history(past, REPOSITORY, "none", SINCE, at(3000)) == NoSuchCase("none")


def test_without_runs_and_jobs_in_the_warehouse_a_history_is_still_told(warehouse: Warehouse, tmp_path: Path) -> None:
    ingest(warehouse, tmp_path, 100, 0, Told("a", "error"))
    found = case_history(warehouse, REPOSITORY, "a", SINCE, UNTIL)
    assert isinstance(found, CaseHistory) and found.last_failure
    assert (found.last_failure.head_sha, found.last_failure.html_url, found.last_pass) == ("", "", None)
    assert [job for job, _ in found.jobs] == [""]
    assert [each.text for each in found.messages] == ["E  fixture broke"]


def flaky_names(warehouse: Warehouse) -> list[str]:
    return [each.name for each in flaky_cases(warehouse, REPOSITORY, SINCE, UNTIL)]


SHA = "a" * 40


@pytest.mark.parametrize(
    ("other", "flaky"),
    [
        ({}, True),
        ({"sha": "b" * 40}, False),
        ({"name": "unit (windows)"}, False),
        ({"workflow": "Nightly"}, False),
        ({"outcome": "fail"}, False),
        ({"outcome": "skip"}, False),
        ({"outcome": "flaky"}, True),
        ({"same_run": True}, True),
    ],
)
def test_flaky_is_to_pass_and_fail_at_one_commit_in_jobs_of_one_name(
    warehouse: Warehouse, tmp_path: Path, other: dict[str, str], flaky: bool
) -> None:
    first = ci_run(100, SHA)
    second = first if "same_run" in other else ci_run(101, other.get("sha", SHA), minutes=30)
    warehouse.write_runs([first, second])
    name, workflow = other.get("name", "unit"), other.get("workflow", "CI")
    warehouse.write_jobs([ci_job(1000, first, failed=True), ci_job(1001, second, name, workflow=workflow)])
    ingest(warehouse, tmp_path, first.id, 1000, Told("a", "fail"))
    outcome = other.get("outcome", "pass")
    ingest(
        warehouse, tmp_path, second.id, 1001, Told("a", outcome), minutes=30, attempt=2 if "same_run" in other else 1
    )
    assert flaky_names(warehouse) == (["a"] if flaky else [])


def test_jobs_that_are_not_known_are_compared_only_with_the_same_report(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.write_runs([ci_run(100, SHA), ci_run(101, SHA)])
    ingest(warehouse, tmp_path, 100, 0, Told("a", "fail"), Told("b", "fail"), name="linux.xml")
    ingest(warehouse, tmp_path, 100, 0, Told("a"), name="windows.xml")
    assert flaky_names(warehouse) == []
    ingest(warehouse, tmp_path, 100, 0, Told("b"), Told("b"), name="linux.xml", attempt=2)
    assert flaky_names(warehouse) == ["b"]


def test_one_name_twice_in_a_report_is_two_tests_and_no_flake(warehouse: Warehouse, tmp_path: Path) -> None:
    ingest(warehouse, tmp_path, 100, 0, Told("a", "fail"), Told("a"))
    assert flaky_names(warehouse) == []


def test_attempts_of_a_run_that_is_not_known_are_one_commit(warehouse: Warehouse, tmp_path: Path) -> None:
    ingest(warehouse, tmp_path, 100, 0, Told("a", "fail"))
    ingest(warehouse, tmp_path, 100, 0, Told("a"), attempt=2, minutes=5)
    (found,) = flaky_cases(warehouse, REPOSITORY, SINCE, UNTIL)
    assert found.flakiness.last_flaky and found.flakiness.last_flaky.sha == "run 100"


def test_what_a_flake_cost_is_counted_at_the_commits_where_it_was_flaky(warehouse: Warehouse, tmp_path: Path) -> None:
    runs = [
        ci_run(100, SHA, branch="feature", pulls=(7,), actor="ada"), ci_run(101, SHA, branch="feature", pulls=(7,)),
        ci_run(102, "b" * 40, branch="else", pulls=(8,), actor="bob"), ci_run(103, "c" * 40, minutes=50),
    ]  # fmt: skip
    warehouse.write_runs(runs)
    jobs = [(1000, 0, "fail"), (1001, 1, "pass"), (1002, 1, "fail"), (1003, 2, "fail"), (1004, 3, "flaky")]
    for number, place, outcome in jobs:
        warehouse.write_jobs([ci_job(number, runs[place], failed=outcome == "fail", minutes=number - 1000)])
        ingest(warehouse, tmp_path, runs[place].id, number, Told("a", outcome), minutes=number - 1000)
    (found,) = flaky_cases(warehouse, REPOSITORY, SINCE, UNTIL)
    assert (found.runs, found.pull_requests, found.people) == (3, (7,), ("ada", "octocat"))
    assert found.minutes == pytest.approx(24), "two jobs that failed, twelve minutes each; the flaky one passed"
    assert (found.flakiness.flaky, found.flakiness.commits, found.flakiness.failed) == (2, 2, 1)


def test_the_surest_come_first_and_a_limit_cuts(warehouse: Warehouse, tmp_path: Path) -> None:
    for n in range(6):
        told = [Told("often", "flaky"), Told("once", "pass" if n else "flaky"), Told("never"), Told("skipped", "skip")]
        ingest(warehouse, tmp_path, 100 + n, 1000 + n, *told, minutes=n)
    assert flaky_names(warehouse) == ["often", "once"]
    assert [each.name for each in flaky_cases(warehouse, REPOSITORY, SINCE, UNTIL, 1)] == ["often"]
    assert flaky_cases(warehouse, REPOSITORY, SINCE - timedelta(days=9), SINCE) == ()
    assert flaky_cases(warehouse, "octo/other", SINCE, UNTIL) == ()


def test_reading_the_same_reports_again_changes_no_judgement(past: Warehouse, tmp_path: Path) -> None:
    before = flaky_cases(past, REPOSITORY, SINCE, at(3000))
    for _ in range(2):
        ingest(past, tmp_path, 103, 1003, Told("a", "flaky"), Told("b"), minutes=180 + 1440)
    assert flaky_cases(past, REPOSITORY, SINCE, at(3000)) == before != ()


def test_tests_can_be_judged_by_name_also_when_they_never_failed(past: Warehouse) -> None:
    found = judged_cases(past, REPOSITORY, SINCE, at(3000), files=[FILE], names=["b"])
    assert [(each.id, each.flakiness.state, each.flakiness.clean) for each in found] == [
        (case_id(FILE, "tests.test_a.TestB", "b"), FlakyState.STEADY, 5)
    ]
