"""`build-eye unknown`: from facts in a warehouse to the table, JSON and CSV."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from buildeye.model import Cause
from buildeye.warehouse import open_warehouse
from tests.cli.program import build_eye
from tests.warehouse.facts import REPOSITORY, a_job, a_verdict, at


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`unit` failed three times in a way nobody knows, `lint` once without a word in its log."""
    place = tmp_path_factory.mktemp("unknown") / "warehouse"
    jobs = [a_job(n, name="lint" if n == 4 else "unit", completed=20 + n) for n in range(1, 5)]
    verdicts = [a_verdict(n, cause=Cause.UNKNOWN) for n in range(1, 5)]
    with open_warehouse(f"chdb://{place}") as warehouse:
        warehouse.write_jobs(jobs)
        warehouse.write_verdicts([replace(each, signature="" if each.job_id == 4 else "a|b/c") for each in verdicts],
                                 REPOSITORY)  # fmt: skip
    return place


@pytest.fixture(autouse=True)
def here(filled: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    del folder
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")
    monkeypatch.setattr("buildeye.cli.unknown.now", lambda: at(60))


def asked(*arguments: str) -> str:
    answer = build_eye("unknown", *arguments, "--target-repo", REPOSITORY)
    assert (answer.code, answer.err) == (0, "")
    return answer.out


def test_a_table_says_how_many_and_how_to_look() -> None:
    head, *lines = asked().splitlines()
    assert head.split() == ["job", "failed", "branches", "newest", "looks", "like", "look"]
    assert all(len(line) <= 100 for line in lines)
    assert lines[0].split()[:3] == ["unit", "3", "1"] and "nothing known in the log" in "\n".join(lines)
    assert "build-eye explain 100 --job 3" in lines[0]


def test_the_command_to_look_is_one_that_works() -> None:
    (unit, _) = json.loads(asked("-o", "json"))
    words = unit["look"].split()
    answer = build_eye(*words[1:], "--target-repo", REPOSITORY)
    assert answer.code == 0 and "unknown" in answer.out


def test_json_and_csv_have_the_page_of_the_newest() -> None:
    (unit, lint) = json.loads(asked("-o", "json"))
    assert (unit["failures"], unit["signature"], unit["html_url"]) == (3, "a|b/c", "https://example.test/jobs/3")
    assert (lint["name"], lint["signature"]) == ("lint", "")
    rows = list(csv.DictReader(io.StringIO(asked("-o", "csv"))))
    assert [row["job_id"] for row in rows] == ["3", "4"]


def test_what_a_limit_cuts_off_is_said() -> None:
    answer = build_eye("unknown", "--limit", "1", "--target-repo", REPOSITORY)
    assert "lint" not in answer.out and answer.err == "only the first 1 groups are shown; --limit shows more\n"


def test_a_time_without_them_is_said_to_have_none() -> None:
    none = f"{REPOSITORY}: every failure since 2026-11-30 12:59 UTC that was judged has a cause\n"
    assert asked("--since", "1m") == none
    assert json.loads(asked("--since", "1m", "-o", "json")) == []


@pytest.mark.parametrize("arguments", [("--since", "yesterday"), ("--limit", "0"), ("-o", "xml")])
def test_wrong_options_are_refused(arguments: tuple[str, str]) -> None:
    assert build_eye("unknown", *arguments).code == 2
