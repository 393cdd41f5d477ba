"""Test reports from the artifacts of runs and from files, each through the program as people run it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from buildeye.simulator import Faults, Past
from buildeye.simulator.app import create_app
from buildeye.simulator.artifacts import Artifact, artifacts_of
from buildeye.simulator.faults import Fault
from buildeye.simulator.server import ledger, running, serving
from tests.pipeline.places import LIMIT, Place, environment

_ASK = """
import json, sys
from buildeye.warehouse import open_warehouse
with open_warehouse(sys.argv[1]) as warehouse:
    print(json.dumps(warehouse.query(sys.argv[2]).rows, default=str))
"""
CASES = "SELECT * EXCEPT (_version) FROM tests.all_test_runs_latest ORDER BY ALL"
BY_JOB = (
    "SELECT job_id, workflow_id, workflow_run_attempt, count(), countIf(result = 'failed')"
    " FROM tests.all_test_runs_latest GROUP BY ALL ORDER BY ALL"
)
READ = "SELECT artifact_id, cases, troubles FROM buildeye.test_artifact_latest ORDER BY ALL"


def ask(place: Place, sql: str) -> list[list[Any]]:
    done = subprocess.run(
        [sys.executable, "-c", _ASK, f"chdb://{place.folder / 'warehouse'}", sql],
        env=environment(), capture_output=True, text=True, timeout=LIMIT, check=True,
    )  # fmt: skip
    rows: list[list[Any]] = json.loads(done.stdout)
    return rows


def reports_of(past: Past, place: Place) -> list[Artifact]:
    """The artifacts with test reports of the completed runs that were looked at."""
    settings = json.loads((place.folder / "config.yaml").read_text())
    oldest = past.now.timestamp() - settings["monitoring"]["lookback_hours"] * 3600
    ended = {
        run.id
        for run in {run.id: run for run in past.attempts}.values()
        if run.status == "completed" and run.created_at and run.created_at.timestamp() >= oldest
    }
    return [a for a in artifacts_of(past).values() if a.name.startswith("junit-") and a.job.run_id in ended]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory, past: Past, half_day: int) -> tuple[Place, str, str, int]:
    """A place after `ingest artifacts` twice, what both said, and how many requests the second took."""
    app = create_app(past)
    with serving(app) as address:
        place = Place.made(tmp_path_factory.mktemp("read") / "place", address, past.full_name, half_day)
        first = place.run("ingest", "artifacts")
        before = ledger(app).requests
        second = place.run("ingest", "artifacts")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    return place, first.stdout, second.stdout, ledger(app).requests - before


def test_every_case_is_kept_with_the_job_and_the_attempt_that_ran_it(
    read: tuple[Place, str, str, int], past: Past
) -> None:
    place, said, _, _ = read
    wanted = reports_of(past, place)
    rows = ask(place, BY_JOB)
    assert sorted(row[:3] for row in rows) == sorted([a.job.id, a.job.run_id, a.job.run_attempt] for a in wanted)
    failing = {row[0] for row in rows if row[4]}
    assert failing == {a.job.id for a in wanted if a.job.conclusion == "failure"}
    assert f"{len(wanted)} artifacts read: {len(wanted)} test reports, {sum(row[3] for row in rows):,} cases" in said


def test_an_artifact_is_fetched_once(read: tuple[Place, str, str, int]) -> None:
    place, _, said, requests = read
    assert "0 artifacts read" in said
    assert f"({len(ask(place, READ))} known before)" in said
    assert requests < 15, "the lists of runs and of artifacts, and no artifact"
    assert list((place.folder / "data" / "artifacts").iterdir()) == []


def test_a_pass_reads_the_reports_of_failed_runs_when_told_to(tmp_path: Path, past: Past, half_day: int) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, half_day)
        silent = place.run("monitor")
        assert "test reports" not in silent.stdout
        done = place.run("monitor", BUILD_EYE_TESTS__OF_RUNS="failed")
    assert done.returncode == 0, done.stderr
    failed = {run.id for run in past.attempts if run.conclusion == "failure"}
    wanted = {a.id for a in reports_of(past, place) if a.job.run_id in failed}
    assert {row[0] for row in ask(place, READ)} == wanted
    assert f"{len(wanted)} artifacts read" in done.stdout


def test_what_github_refuses_is_said_and_read_another_time(tmp_path: Path, past: Past, half_day: int) -> None:
    faults = Faults(at={number: Fault(404) for number in range(4, 60, 3)})
    with running(past, faults=faults) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, half_day)
        first = place.run("ingest", "artifacts")
    wanted = {a.id for a in reports_of(past, place)}
    assert (first.returncode, "not read" in first.stderr) == (0, True), first.stderr
    assert {row[0] for row in ask(place, READ)} < wanted
    with running(past) as address:
        second = place.run("ingest", "artifacts", BUILD_EYE_API__BASE_URL=address)
    assert (second.returncode, second.stderr.count("not read")) == (0, 0), second.stderr
    assert ask(place, READ) == sorted([number, cases, []] for number, cases, _ in ask(place, READ))
    assert {row[0] for row in ask(place, READ)} == wanted


def test_a_run_by_its_number_is_read_whenever_it_was(tmp_path: Path, past: Past) -> None:
    old = next(a for a in artifacts_of(past).values() if a.name.startswith("junit-") and not past.log_expired(a.job))
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, 1)
        left = place.folder / "data" / "artifacts" / ".1.zip.x.part"
        left.parent.mkdir(parents=True)
        left.write_text("what a killed process left")
        os.utime(left, (0, 0))
        done = place.run("ingest", "artifacts", str(old.job.run_id))
    assert done.returncode == 0, done.stderr
    assert not left.exists()
    assert {row[1] for row in ask(place, BY_JOB)} == {old.job.run_id}


def test_reading_that_is_killed_again_and_again_is_finished_by_the_last(
    tmp_path: Path, past: Past, half_day: int, read: tuple[Place, str, str, int]
) -> None:
    with running(past) as address:
        place = Place.made(tmp_path / "place", address, past.full_name, half_day)
        kept = 0
        for _ in range(3):
            with place.start("ingest", "artifacts") as child:
                deadline = time.monotonic() + LIMIT
                while child.poll() is None and time.monotonic() < deadline:
                    parts = len(
                        list((place.folder / "warehouse" / "data").glob("tests/all_test_runs/*_*/checksums.txt"))
                    )
                    if parts > kept:
                        kept = parts
                        break
                    time.sleep(0.002)
                child.kill()
        done = place.run("ingest", "artifacts")
    assert done.returncode == 0, done.stderr
    assert kept
    assert ask(place, CASES) == ask(read[0], CASES)


@pytest.fixture
def here(tmp_path: Path) -> Place:
    return Place.made(tmp_path / "place", "http://127.0.0.1:9", "octo/widgets", 1)


def test_files_are_kept_for_the_run_that_is_named(here: Place) -> None:
    (here.folder / "unit").mkdir()
    (here.folder / "unit" / "a.xml").write_text(
        "<testsuite><testcase name='a'><failure>token=ghp_0123456789abcdefghijABCDEFGHIJ012345</failure></testcase>"
        "<testcase name='b'/></testsuite>"
    )
    for _ in range(2):
        done = here.run("ingest", "junit", "unit", "--run", "26426100000", "--job", "77790100007", "--attempt", "2")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "run 26426100000 of octo/widgets: 1 reports, 2 test cases, 1 failed\n"
    assert ask(here, BY_JOB) == [[77790100007, 26426100000, 2, 2, 1]]
    assert ask(here, "SELECT invoking_file, failure.text FROM tests.all_test_runs_latest WHERE name = 'a'") == [
        ["unit", ["token=ghp_***"]]
    ]


def test_of_very_many_broken_reports_the_first_are_told(here: Place) -> None:
    for number in range(50):
        (here.folder / f"{number:02}.xml").write_text("<testsuite><testcase name='kept'/>")
    done = here.run("ingest", "junit", ".", "--run", "5")
    assert (done.returncode, done.stderr.count("\n")) == (1, 21)
    assert "more reports could not be read whole" in done.stderr
    assert ask(here, BY_JOB) == [[0, 5, 1, 50, 0]]


def test_in_a_workflow_the_run_is_the_one_it_is_a_step_of(here: Place) -> None:
    (here.folder / "a.xml").write_text("<testsuite><testcase name='a'/></testsuite>")
    done = here.run(
        "ingest", "junit", "a.xml", GITHUB_RUN_ID="7", GITHUB_RUN_ATTEMPT="3", GITHUB_REPOSITORY="octo/other"
    )
    assert done.stdout == "run 7 of octo/other: 1 reports, 1 test cases\n"
    assert ask(here, "SELECT repository_full_name, workflow_run_attempt FROM tests.all_test_runs_latest") == [
        ["octo/other", 3]
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("cut.xml", "--run", "5"), 1, "it breaks at line 1"),
        (("cov.xml", "--run", "5"), 1, "it is no JUnit report: its root is <coverage>"),
        (("none.xml", "--run", "5"), 2, "none.xml: no such file or folder"),
        (("cut.xml",), 2, "no run: say with --run"),
        (("cut.xml", "--run", "0"), 2, "--run"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_and_an_exit_code(
    here: Place, arguments: tuple[str, ...], code: int, said: str
) -> None:
    (here.folder / "cut.xml").write_text("<testsuite><testcase name='kept'/><testcase name='cu")
    (here.folder / "cov.xml").write_text("<coverage/>")
    done = here.run("ingest", "junit", *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert said in done.stderr
    if "breaks" in said:
        assert ask(here, "SELECT name FROM tests.all_test_runs_latest") == [["kept"]]


def test_a_report_of_a_run_that_is_not_known_was_made_when_its_file_was_written(here: Place) -> None:
    began = int(time.time())
    written = began - 3 * 86_400
    for name, at in (("a.xml", written), ("b.xml", 10_000_000_000), ("c.xml", 1)):
        (here.folder / name).write_text(f"<testsuite><testcase name='{name}'/></testsuite>")
        os.utime(here.folder / name, (at, at))
    for _ in range(2):
        assert here.run("ingest", "junit", "a.xml", "b.xml", "c.xml", "--run", "5").returncode == 0
    made = dict(ask(here, "SELECT name, toUnixTimestamp(time_inserted) FROM tests.all_test_runs_latest"))
    assert made["a.xml"] == written
    assert all(began <= made[name] <= time.time() for name in ("b.xml", "c.xml")), "neither to come nor of 1970"


def test_two_machines_of_one_run_with_a_report_at_the_same_place_are_kept_apart(here: Place) -> None:
    (here.folder / "a.xml").write_text("<testsuite><testcase name='a'/></testsuite>")
    for runner in ("runner-1", "runner-2", "runner-2"):
        done = here.run(
            "ingest", "junit", "a.xml",
            GITHUB_RUN_ID="7", GITHUB_REPOSITORY="octo/widgets", GITHUB_JOB="unit", RUNNER_NAME=runner,
        )  # fmt: skip
        assert done.returncode == 0
    assert ask(here, BY_JOB) == [[0, 7, 1, 2, 0]]


def test_many_files_are_written_together_and_none_when_one_is_not_there(here: Place) -> None:
    names = [f"{number:03}.xml" for number in range(120)]
    for name in names:
        (here.folder / name).write_text("<testsuite><testcase name='a'/></testsuite>")
    assert here.run("ingest", "junit", *names, "none.xml", "--run", "5").returncode == 2
    assert here.run("ingest", "junit", *names, "--run", "5", "--job", "6").returncode == 0
    assert ask(here, BY_JOB) == [[6, 5, 1, 120, 0]]
    inserts = "SELECT max(max_block_number) FROM system.parts WHERE database = 'tests' AND table = 'all_test_runs'"
    assert ask(here, inserts)[0][0] < 5


def test_ingestion_that_is_killed_between_batches_is_finished_by_the_next(here: Place) -> None:
    cases = "".join(f"<testcase name='t{number}' classname='c'/>" for number in range(40_000))
    (here.folder / "large.xml").write_text(f"<testsuite>{cases}</testsuite>")
    arguments = ("ingest", "junit", "large.xml", "--run", "5")
    with here.start(*arguments) as child:
        deadline = time.monotonic() + LIMIT
        parts = here.folder / "warehouse" / "data"
        while child.poll() is None and time.monotonic() < deadline:
            if list(parts.glob("tests/all_test_runs/2*_*/checksums.txt")):
                break
            time.sleep(0.001)
        child.kill()
    ((kept,),) = ask(here, "SELECT count() FROM tests.all_test_runs")
    assert 0 < kept <= 40_000 and kept % 5_000 == 0
    for _ in range(2):
        assert here.run(*arguments).returncode == 0
    assert ask(here, "SELECT count(), uniqExact(name), uniqExact(time_inserted) FROM tests.all_test_runs_latest") == [
        [40_000, 40_000, 1]
    ]
