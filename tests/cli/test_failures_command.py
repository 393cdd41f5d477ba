"""`build-eye failures`: from facts in a warehouse to the table, JSON and CSV."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.model import Cause
from buildeye.warehouse import open_warehouse
from tests.cli.program import build_eye
from tests.warehouse.facts import REPOSITORY, SIGNATURE, a_diagnosis, a_job, a_verdict, at


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`unit` failed at 3 of 5 on main, `e2e` at 1 of 1; two failures of `unit` are judged."""
    place = tmp_path_factory.mktemp("failures") / "warehouse"
    ends = [("unit", "failure")] * 3 + [("unit", "success")] * 2 + [("e2e \x1b[31m", "failure")]
    jobs = [
        a_job(n, name=name, conclusion=end, branch="main", completed=20 + n) for n, (name, end) in enumerate(ends, 1)
    ]
    with open_warehouse(f"chdb://{place}") as warehouse:
        warehouse.write_jobs(jobs)
        warehouse.write_diagnoses([a_diagnosis(1), a_diagnosis(2)])
        warehouse.write_verdicts([a_verdict(1), replace(a_verdict(2), cause=Cause.CODE)], REPOSITORY)
    return place


@pytest.fixture(autouse=True)
def here(filled: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")
    monkeypatch.setattr("buildeye.cli.failures.now", lambda: at(60))


def asked(*arguments: str, warned: str = "") -> str:
    answer = build_eye("failures", *arguments, "--target-repo", REPOSITORY)
    assert answer.code == 0 and (warned in answer.err if warned else answer.err == "")
    return answer.out


def test_a_table_says_how_often_whose_problem_and_as_what() -> None:
    head, *lines = asked("main").splitlines()
    assert head.split() == ["job", "failed", "of", "rate", "last", "whose", "fails", "as"]
    assert all(len(line) <= 100 for line in lines) and not any("\x1b" in line for line in lines)
    assert (
        "60% (23%-88%)" in lines[0] and "11-30 12:23" in lines[0] and "code 2" in lines[0] and "2x test_b" in lines[0]
    )
    assert "not judged" in "\n".join(lines) and "not diagnosed" in "\n".join(lines)


def test_json_has_counts_causes_and_signatures() -> None:
    unit, e2e = json.loads(asked("-o", "json"))
    assert (unit["name"], unit["failures"], unit["runs"], unit["rate"]) == ("unit", 3, 5, 0.6)
    assert unit["causes"] == [{"cause": "code", "failures": 2}] and unit["unjudged"] == 1
    assert unit["signatures"] == [{"signature": SIGNATURE, "failures": 2}] and unit["undiagnosed"] == 1
    assert (e2e["cause"], e2e["signature"], e2e["job_id"]) == (None, None, 6)


def test_csv_has_a_line_a_job_and_a_limit_cuts() -> None:
    rows = list(csv.DictReader(io.StringIO(asked("-o", "csv", "--limit", "1"))))
    assert [(row["name"], row["failures"], row["rate_low"]) for row in rows] == [("unit", "3", "0.2307")]


def test_a_time_without_failures_is_said_to_have_none() -> None:
    none = "the warehouse knows no commit of main of octo/widgets; build-eye sync brings facts"
    said = asked("--since", "10m", warned=none)
    assert said == f"{REPOSITORY}: no job failed at main since 2026-11-30 12:50 UTC\n"
    unknown = "the warehouse knows no commit of release"
    assert asked("release", warned=unknown).startswith(f"{REPOSITORY}: no job failed at release since 2026-11-16")
    assert json.loads(asked("release", "-o", "json", warned=unknown)) == []


@pytest.mark.parametrize("arguments", [("--since", "yesterday"), ("--limit", "0"), ("-o", "xml")])
def test_wrong_options_are_refused(arguments: tuple[str, str]) -> None:
    assert build_eye("failures", *arguments).code == 2
