"""Every saved question is answered on both places, and answers what its header says."""

import re
from datetime import datetime
from typing import Any
from unittest.mock import ANY

import pytest

from buildeye.model import Cause, Thing, UsageError
from buildeye.warehouse import Baseline, JobEnvironment, KeptLog, ReadArtifact, Result, SyncCursor, SyncedRun, Warehouse
from buildeye.warehouse.store import saved_queries, saved_query

from .facts import (
    NOON,
    REPOSITORY,
    SIGNATURE,
    a_change,
    a_diagnosis,
    a_job,
    a_pull,
    a_run,
    a_saying,
    a_verdict,
    an_incident,
    at,
)

QUESTIONS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "failed_jobs_since": (
        {"repository": REPOSITORY, "since": at(20)},
        [
            {"job_id": 1000, "event": "pull_request", "pull_requests": [7], "judged_by": "rules-1"},
            {"job_id": 1001, "event": "push", "pull_requests": [], "judged_by": ""},
            {"job_id": 1003, "event": "", "pull_requests": [], "judged_by": ""},
        ],
    ),
    "runs_since": (
        {"repository": REPOSITORY, "since": at(0)},
        [
            {"status": "completed", "conclusion": "failure", "runs": 2},
            {"status": "in_progress", "conclusion": "", "runs": 2},
        ],
    ),
    "verdicts_since": (
        {"repository": REPOSITORY, "since": at(41)},
        [{"job_id": 1000, "name": "unit (3.12)", "cause": "code", "rule_set": "rules-1", "judged_at": at(41)}],
    ),
    "signature_history": (
        {
            "repository": REPOSITORY,
            "signatures": [SIGNATURE, "never seen"],
            "base_branch": "main",
            "since": at(0),
            "until": at(25),
        },
        [
            {"signature": SIGNATURE, "job_id": 1000, "on_base": False, "pull_requests": [7], "actor": "octocat"},
            {"job_id": 1001, "on_base": True, "pull_requests": [], "passed_at": at(24)},
        ],
    ),
    "sync_cursors": (
        {"repository": REPOSITORY},
        [{"stream": "runs", "since": at(-60), "reached": at(30), "seen": "digest"}],
    ),
    "known_runs": (
        {"repository": REPOSITORY, "runs": [100, 102, 200, 404]},
        [
            {"run_id": 100, "run_attempt": 1, "status": "completed", "updated_at": at(30), "synced_attempt": 1},
            {"run_id": 102, "run_attempt": 1, "status": "in_progress", "conclusion": "", "synced_attempt": 0},
        ],
    ),
    "runs_to_revisit": (
        {"repository": REPOSITORY, "since": at(0)},
        [{"id": 102, "status": "in_progress"}, {"id": 101, "status": "completed", "actor": {"login": "octocat"}}],
    ),
    "runs_between": (
        {"repository": REPOSITORY, "since": at(0), "until": at(0), "limit": 2},
        [{"id": 103, "status": "in_progress"}, {"id": 102}],
    ),
    "failed_runs": (
        {"repository": REPOSITORY, "since": at(30), "until": at(30)},
        [
            {"id": 101, "conclusion": "failure", "no_pull_request": False},
            {"id": 100, "pull_requests": [{"number": 7}], "no_pull_request": True},
        ],
    ),
    "jobs_of_runs_between": (
        {"repository": REPOSITORY, "since": at(0), "until": at(1)},
        [
            {"id": 999, "log_place": "", "log_expired": True},
            {"id": 1000, "log_place": "k/1000", "log_expired": False},
            {"id": 1001, "log_place": ""},
            {"id": 1002},
            {"id": 1004, "steps": []},
        ],
    ),
    "known_pull_requests": (
        {"repository": REPOSITORY, "numbers": [404], "head_refs": ["feature"]},
        [{"number": 7, "changed_files": ["a.py"], "base": {"ref": "main", "sha": "b" * 40, "repo": ANY}}],
    ),
    "logs_wanted": (
        {"repository": REPOSITORY, "since": at(0), "until": at(100)},
        [{"job_id": 1003, "completed_at": at(90), "run_id": 999}, {"job_id": 1001, "name": "unit (3.12)"}],
    ),
    "green_logs_wanted": (
        {"repository": REPOSITORY, "base_branch": "main", "since": at(0), "until": at(100)},
        [{"job_id": 1004, "run_id": 101, "run_attempt": 1, "name": "unit (3.12)", "completed_at": at(24)}],
    ),
    "green_logs_kept": (
        {"repository": REPOSITORY, "since": at(-100)},
        [
            {
                "job_id": 901,
                "run_id": 90,
                "name": "unit (3.12)",
                "branch": "main",
                "completed_at": at(-29),
                "place": "k/901",
            }
        ],
    ),
    "green_baselines": (
        {"repository": REPOSITORY, "job_names": ["unit (3.12)", "never green"], "branch": "main"},
        [
            {
                "job_name": "unit (3.12)",
                "job_id": 900,
                "head_sha": "e" * 40,
                "completed_at": at(-30),
                "line_hashes": [5, 9],
            }
        ],
    ),
    "environments_of_jobs": (
        {"repository": REPOSITORY, "jobs": [900, 1000, 404]},
        [{"run_id": 100, "job_id": 1000, "things": [{"kind": "tool", "name": "git", "value": "2.51.0"}]}],
    ),
    "jobs_of_runs": (
        {"repository": REPOSITORY, "runs": [100, 999]},
        [{"run_id": 100, "job_id": 1000, "run_attempt": 1}, {"run_id": 999, "job_id": 1003, "name": "build"}],
    ),
    "test_artifacts_read": (
        {"repository": REPOSITORY, "artifacts": [7, 8]},
        [{"artifact_id": 7, "cases": 9, "troubles": []}],
    ),
    "runs_of_pull_request": (
        {"repository": REPOSITORY, "number": 7},
        [{"id": 103, "status": "in_progress"}, {"id": 102}, {"id": 100, "pull_requests": [{"number": 7}]}],
    ),
    "failed_jobs_of_runs": (
        {"repository": REPOSITORY, "runs": [100, 101, 102]},
        [
            {"run_id": 100, "id": 1000, "name": "unit (3.12)"},
            {"run_id": 101, "id": 999, "conclusion": "failure"},
            {"run_id": 101, "id": 1001},
        ],
    ),
    "diagnoses_of_runs": (
        {"repository": REPOSITORY, "runs": [100]},
        [
            {"run_id": 100, "job_id": 999, "signature": "other"},
            {"job_id": 1000, "signature": SIGNATURE, "key_line_number": 812},
            {"job_id": 1001},
        ],
    ),
    "incidents_between": (
        {"since": at(60), "until": at(90)},
        [
            {"id": "a1", "provider": "github", "components": ["Actions", "Packages"], "resolved_at": at(60)},
            {"id": "b2", "impact": "major", "status": "identified", "resolved_at": None},
        ],
    ),
    "job_runs": (
        {"repository": REPOSITORY, "job_name": "unit (3.12)", "branch": "main", "since": at(0), "limit": 2},
        [
            {"job_id": 1004, "conclusion": "success", "signature": "", "event": "push"},
            {"job_id": 1001, "conclusion": "failure", "signature": SIGNATURE, "event": "push"},
        ],
    ),
    "person_verdicts": (
        {"repository": REPOSITORY, "runs": [100, 101, 200]},
        [
            {"run_id": 100, "job_id": 0, "cause": "infrastructure", "category": "", "person": "alice"},
            {"run_id": 100, "job_id": 1000, "category": "accelerator", "why": "card 3", "said_at": at(60)},
        ],
    ),
    "person_verdicts_since": (
        {"repository": REPOSITORY, "since": at(1)},
        [
            {"job_id": 0, "jobs": [{"job_id": 999, "name": ANY, "signature": "other", "cause": "", "category": ""},
                                   {"job_id": 1001, "name": "unit (3.12)", "signature": SIGNATURE,
                                    "cause": "", "category": ""}]},
            {"job_id": 1000, "jobs": [{"job_id": 1000, "name": "unit (3.12)", "signature": SIGNATURE,
                                       "cause": "code", "category": "test-failure"}]},
        ],
    ),
    "verdict_changes": (
        {"repository": REPOSITORY, "runs": [100]},
        [{"job_id": 1000, "changed_at": at(45), "cause_before": "unknown", "cause": "code", "reasons": ["base"]}],
    ),
    "verdicts_of_runs": (
        {"repository": REPOSITORY, "runs": [100, 101]},
        [{"run_id": 100, "job_id": 1000, "name": "unit (3.12)", "weights": [1.5], "bad_sha": "", "run_attempt": 1}],
    ),
}  # fmt: skip


def seed(warehouse: Warehouse) -> None:
    elsewhere = "octo/other"
    warehouse.write_runs(
        [
            a_run(100),
            a_run(101, event="push", branch="main", pulls=()),
            a_run(102, status="in_progress", conclusion=None),
            a_run(103, status="in_progress", conclusion=None),
            a_run(200, repository=elsewhere),
        ]
    )
    warehouse.write_jobs(
        [
            a_job(1000),
            a_job(1001, run=101, branch="main", completed=21),
            a_job(1002, run=101, branch="main", conclusion="cancelled", name="lint"),
            a_job(1003, run=999, conclusion="timed_out", completed=90, name="build"),
            a_job(1004, run=101, branch="main", conclusion="success", completed=24),
            a_job(999, run=101, branch="main", completed=10),
            a_job(901, run=90, branch="main", conclusion="success", completed=-29),
            a_job(2000, run=200, repository=elsewhere),
        ]
    )
    warehouse.write_diagnoses([a_diagnosis(1000), a_diagnosis(1001), a_diagnosis(999, signature="other")])
    warehouse.write_verdicts([a_verdict(1000), a_verdict(1000, minutes=39, rule_set="rules-0")], REPOSITORY)
    warehouse.write_verdicts([a_verdict(2000, run=200)], elsewhere)
    warehouse.write_read_artifact(ReadArtifact(REPOSITORY, 100, 7, "junit", at(40), 1, 9))
    warehouse.write_pull_requests([a_pull(files=("a.py",))])
    warehouse.write_logs(
        [
            KeptLog(REPOSITORY, 100, 1000, at(50), "k/1000"),
            KeptLog(REPOSITORY, 90, 901, at(50), "k/901"),
            KeptLog(REPOSITORY, 101, 999, at(50), expired=True),
        ]
    )
    warehouse.write_synced_runs(
        [SyncedRun(REPOSITORY, 100, 1, at(50), no_pull_request=True), SyncedRun(REPOSITORY, 103, 1, at(50), gone=True)]
    )
    warehouse.write_sync_cursors([SyncCursor(REPOSITORY, "runs", at(-60), at(30), "digest", at(50))])
    warehouse.write_person_verdicts(
        [
            a_saying(said=50, cause=Cause.INFRASTRUCTURE, category="", person="alice"),
            a_saying(job=1000, said=60, cause=Cause.INFRASTRUCTURE, category="accelerator", why="card 3"),
            a_saying(run=101, said=55, withdrawn=True),
            a_saying(run=101, said=54),
            a_saying(run=102, said=0),
        ]
    )
    warehouse.write_verdict_changes([a_change()])
    warehouse.write_incidents(
        [
            an_incident(),
            an_incident("b2", began=90, updated=95, resolved=None, status="identified"),
            an_incident("before", resolved=59.9),
            an_incident("after", began=90.1, resolved=None),
        ]
    )
    git = (Thing("tool", "git", "2.51.0"),)
    warehouse.write_environments([JobEnvironment(REPOSITORY, 100, 1000, git, at(40))])
    warehouse.write_environments([JobEnvironment("octo/other", 200, 900, git, at(40))])
    warehouse.write_baselines([Baseline(REPOSITORY, "unit (3.12)", "main", 900, "e" * 40, at(-30), [9, 5])])


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
    with pytest.raises(UsageError, match="the query was refused: ") as caught:
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
