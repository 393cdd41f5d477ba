"""Every saved question is answered on both places, and answers what its header says."""

import re
from datetime import datetime
from typing import Any

import pytest

from buildeye.model import UsageError
from buildeye.warehouse import Result, Warehouse
from buildeye.warehouse.store import saved_queries, saved_query

from .facts import (
    NOON,
    REPOSITORY,
    a_diagnosis,
    a_job,
    a_run,
)
from .questions import QUESTIONS, seed


def test_every_saved_question_is_answered(warehouse: Warehouse) -> None:
    seed(warehouse)
    assert sorted(QUESTIONS) == list(saved_queries())
    for name, (parameters, expected) in QUESTIONS.items():
        answer = warehouse.ask(name, **parameters)
        assert len(answer) == len(expected), name
        picked = [{column: row[column] for column in wanted} for row, wanted in zip(answer, expected, strict=True)]
        assert picked == expected, name


@pytest.mark.parametrize("name", saved_queries())
def test_a_header_says_who_asks_and_names_every_column(embedded: Warehouse, name: str) -> None:
    text = saved_query(name)
    header = "\n".join(line for line in text.splitlines() if line.startswith("--"))
    assert text.startswith("-- Asked by ") and "-- Parameters: " in header
    columns = embedded.query(text, QUESTIONS[name][0]).columns
    assert [column for column in columns if not re.search(rf"\b{column}\b", header)] == []


def test_a_question_nobody_saved_names_those_there_are(embedded: Warehouse) -> None:
    with pytest.raises(UsageError, match=r"no saved query 'nonsense'; there are .*failed_jobs_since, "):
        embedded.ask("nonsense")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"repository": REPOSITORY}, "missing: since, unknown: none"),
        ({"repository": REPOSITORY, "since": NOON, "branch": "main"}, "missing: none, unknown: branch"),
    ],
)
def test_wrong_parameters_are_named(embedded: Warehouse, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        embedded.ask("runs_since", **parameters)


def test_a_question_of_ones_own_gives_columns_types_and_rows(warehouse: Warehouse) -> None:
    assert warehouse.query("SELECT {n:UInt8} AS n, {t:DateTime64(0, 'UTC')} AS t", {"n": 7, "t": NOON}) == Result(
        ("n", "t"), ("UInt8", "DateTime64(0, 'UTC')"), ((7, NOON),)
    )


def test_an_answer_without_rows_still_has_its_columns(warehouse: Warehouse) -> None:
    asked = "-- none\nSELECT id, name FROM default.workflow_run WHERE id = {id:Int64};"
    assert warehouse.query(asked, {"id": 1}) == Result(("id", "name"), ("Int64", "String"), ())


@pytest.mark.parametrize("text", ["plain", "it's", "a\tb\nc", "back\\slash \\n", "向左", ""])
def test_a_text_parameter_arrives_unchanged(warehouse: Warehouse, text: str) -> None:
    answer = warehouse.query(
        "SELECT {one:String} AS one, {many:Array(String)} AS many", {"one": text, "many": [text, "x"]}
    )
    assert answer.rows == ((text, [text, "x"]),)


def test_a_time_parameter_keeps_its_moment_and_its_fraction(warehouse: Warehouse) -> None:
    elsewhere = datetime.fromisoformat("2026-11-30T20:00:00.000250+08:00")
    asked = "SELECT {t:DateTime64(6, 'UTC')} AS t, {whole:DateTime} AS whole"
    answer = warehouse.query(asked, {"t": elsewhere, "whole": NOON})
    assert answer.rows == ((NOON.replace(microsecond=250), NOON),)


@pytest.mark.parametrize(
    "sql", ["SELECT nothing_of_the_kind", "SELEKT 1", "SELECT * FROM default.no_such_table", "SELECT {x:UInt8}"]
)
def test_wrong_sql_is_the_askers_mistake_told_in_one_line(warehouse: Warehouse, sql: str) -> None:
    with pytest.raises(UsageError, match=r"query (was )?refused") as caught:
        warehouse.query(sql)
    assert "\n" not in str(caught.value) and "Exception" not in str(caught.value)


def test_pytorchs_ranking_of_failing_jobs_runs_unchanged(warehouse: Warehouse) -> None:
    warehouse.write_jobs([a_job(number, branch="main") for number in (1, 2)] + [a_job(3)])
    asked = f"""SELECT name, count(DISTINCT id) AS failures FROM default.workflow_job WHERE conclusion = 'failure'
        AND completed_at >= toDateTime('{NOON:%Y-%m-%d %H:%M:%S}', 'UTC') - INTERVAL 2 WEEK
        AND repository_full_name = '{REPOSITORY}' AND head_branch = 'main'
        GROUP BY name ORDER BY failures DESC LIMIT 10"""
    assert warehouse.query(asked).rows == (("unit (3.12)", 2),)


def test_pytorchs_history_of_a_test_file_runs_unchanged(warehouse: Warehouse) -> None:
    warehouse.query(
        """INSERT INTO tests.all_test_runs (job_id, file, classname, name, ordinal, failure, skipped, time_inserted)
        VALUES
        (1, 'lazy/test_ts_opinfo.py', 'T', 'a', 0, [], [], now64(3)),
        (2, 'lazy/test_ts_opinfo.py', 'T', 'a', 0, [('m', 't', 'AssertionError')], [], now64(3)),
        (3, 'lazy/test_ts_opinfo.py', 'T', 'a', 0, [], [('not here', '', 'skip')], now64(3)),
        (4, 'other.py', 'T', 'a', 0, [], [], now64(3))"""
    )
    asked = """SELECT file, classname, name, count() AS runs,
        countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
        countIf(failure_count > 0 OR error_count > 0) AS fails, countIf(skipped_count > 0) AS skipped
        FROM tests.all_test_runs WHERE time_inserted >= now() - INTERVAL 7 DAY AND file = 'lazy/test_ts_opinfo.py'
        GROUP BY file, classname, name ORDER BY runs DESC"""
    assert warehouse.query(asked).rows == (("lazy/test_ts_opinfo.py", "T", "a", 3, 1, 1, 1),)


def test_columns_that_pytorchs_queries_name_are_there(warehouse: Warehouse) -> None:
    warehouse.write_runs([a_run()])
    warehouse.write_jobs([a_job()])
    warehouse.write_diagnoses([a_diagnosis()])
    asked = """SELECT job.torchci_classification.line, job.torchci_classification_kg.'rule', job.conclusion_kg,
        workflow.repository.'full_name', tupleElement(workflow.head_commit, 'id'), job.url
        FROM default.workflow_job job FINAL JOIN default.workflow_run workflow FINAL ON workflow.id = job.run_id
        WHERE job.id = 1000"""
    url = f"https://api.github.com/repos/{REPOSITORY}/actions/jobs/1000"
    assert warehouse.query(asked).rows == (("E assert 1 == 2", "pytest.failed", "failure", REPOSITORY, "a" * 40, url),)
