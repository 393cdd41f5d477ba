"""Every saved question with parameters and what is answered when `seed` was written."""

from datetime import UTC, datetime
from typing import Any
from unittest.mock import ANY

from buildeye.model import Case, CaseRun, Cause, Origin, Outcome, Thing
from buildeye.warehouse import Baseline, JobEnvironment, KeptLog, ReadArtifact, SyncCursor, SyncedRun, Warehouse

from .facts import (
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

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_WINDOW = {"repository": REPOSITORY, "since": at(-60), "until": at(60)}
_CASE = {"file": "tests/test_a.py", "classname": "TestB", "case": "test_c"}

QUESTIONS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "test_file_week": (
        {**_WINDOW, "file": "tests/test_a.py", "module": ""},
        [
            {
                "classname": "TestB", "name": "test_c", "runs": 2, "successful": 1, "fails": 1, "skipped": 0,
                "flaky": 0, "seconds": 2.0, "last_failed": at(20),
            },
            {"name": "test_d", "runs": 1, "skipped": 1, "seconds": 0.0, "last_failed": NEVER},
        ],
    ),
    "test_files_like": (
        {**_WINDOW, "base": "TEST_A"},
        [{"file": "tests/test_a.py", "classname": "", "runs": 3}],
    ),
    "test_cases_named": (
        {**_WINDOW, "names": ["test_c", "TestB::test_c"], "file": "", "module": ""},
        [{"file": "tests/test_a.py", "classname": "TestB", "name": "test_c", "runs": 2}],
    ),
    "test_days": (
        {**_WINDOW, **_CASE},
        [
            {
                "day": at(0).date(), "workflow_name": "CI", "job": "unit (3.12)", "runs": 2, "successful": 1,
                "fails": 1, "skipped": 0, "flaky": 0, "seconds": 4.0,
            }
        ],
    ),
    "test_ends": (
        {**_WINDOW, **_CASE},
        [
            {"passed": True, "at": at(24), "run_id": 101, "attempt": 1, "job_id": 1004, "branch": "main"},
            {"passed": False, "at": at(20), "job_id": 1000, "html_url": "https://example.test/jobs/1000"},
        ],
    ),
    "test_messages": (
        {**_WINDOW, **_CASE, "limit": 5},
        [
            {
                "message": "assert 1 == 2", "fails": 1, "flaky": 0, "first_at": at(20), "last_at": at(20),
                "run_id": 100, "job_id": 1000,
            }
        ],
    ),
    "test_commits": (
        {**_WINDOW, "files": [], "names": []},
        [
            {
                "file": "tests/test_a.py", "classname": "TestB", "name": "test_c",
                "commits": [("a" * 40, at(20), ANY, 0, 0, 1, [100], [7], ["octocat"], [(1000, 1080)])],
            }
        ],
    ),
    "commit_stories": (
        {"repository": REPOSITORY, "commits": ["a" * 7, "b" * 40]},
        [
            {"id": 103, "event": "pull_request", "status": "in_progress", "conclusion": "", "failed_jobs": []},
            {"id": 101, "run_attempt": 1, "head_sha": "a" * 40, "conclusion": "failure", "failed_jobs": ANY},
        ],
    ),
    "branch_commits": (
        {"repository": REPOSITORY, "branch": "main", "limit": 3, "ending": ""},
        [
            {"sha": "a" * 40, "at": at(0), "pull_request": 0, "before": ""},
            {"sha": f"{9:040}", "at": at(-20), "pull_request": 9, "title": "Turn"},
            {"sha": f"{8:040}", "at": at(-30), "pull_request": 8, "title": "Turn"},
        ],
    ),
    "branch_letters": (
        {"repository": REPOSITORY, "branch": "main", "commits": ["b" * 40, "a" * 40], "since": at(0)},
        [
            {"workflow_name": "CI", "name": "lint", "letters": "~C", "failed": []},
            {
                "name": "unit (3.12)", "letters": "~F",
                "failed": [
                    (1, "X", 999, "other", "https://example.test/jobs/999"),
                    (1, "X", 1001, SIGNATURE, "https://example.test/jobs/1001"),
                ],
            },
        ],
    ),
    "top_failures": (
        {"repository": REPOSITORY, "branch": "main", "since": at(0), "until": at(60), "limit": 5},
        [
            {
                "name": "unit (3.12)", "workflows": ["CI"], "failures": 2, "timed_out": 0, "runs": 3,
                "last_failure": at(21),
            }
        ],
    ),
    "failed_as": (
        {
            "repository": REPOSITORY, "branch": "feature", "since": at(0), "until": at(60),
            "names": ["unit (3.12)", "build"],
        },
        [
            {
                "name": "unit (3.12)", "cause": "infrastructure", "signature": SIGNATURE, "failures": 1, "flaky": 0,
                "newest": at(20), "run_id": 100, "id": 1000,
            }
        ],
    ),
    "unknown_failures": (
        {"repository": REPOSITORY, "since": at(0), "until": at(60), "limit": 5},
        [],
    ),
    "queue_now": (
        {"repository": REPOSITORY, "label": "npu", "at": at(1)},
        [
            {
                "repository": REPOSITORY, "label": "linux,npu", "queued": 7, "running": 0, "ghosts_over": 0,
                "started": 0, "waiting": [60.0, 60.0, 60.0, 60.0], "longest_run_id": ANY,
            }
        ],
    ),
    "queue_over": (
        {"repository": REPOSITORY, "label": "", "since": at(0), "until": at(20), "bucket": 600},
        [
            {
                "label": "linux,npu", "bucket": 0, "ghosts": 0, "queued": 7, "waited_seconds": 840.0, "started": 7,
                "started_waits": [120.0, 120.0, 120.0, 120.0], "waiting": 0,
            },
            {"label": "linux,npu", "bucket": 1, "queued": 0, "ran_seconds": ANY, "started": 0},
        ],
    ),
    "hud_commits": (
        {
            "repository": REPOSITORY, "branch": "main", "until": at(0), "until_sha": f"{9:040}", "limit": 2,
            "offset": 0,
        },
        [
            {"sha": f"{9:040}", "at": at(-20), "pull_request": 9, "title": "Turn", "author": "octocat"},
            {"sha": f"{8:040}", "at": at(-30), "pull_request": 8},
        ],
    ),
    "hud_branch_of_commit": (
        {"repository": REPOSITORY, "sha": "a" * 7},
        [{"sha": "a" * 40, "branch": "main", "at": at(0)}],
    ),
    "hud_cells": (
        {"repository": REPOSITORY, "branch": "main", "commits": ["a" * 40, "b" * 40], "since": at(0)},
        [{"sha": "a" * 40, "web": "", "names": ANY, "cells": ANY}],
    ),
    "pool_jobs": (
        {"at": at(30), "since": at(-100)},
        [
            {"repository": "octo/other", "pool": "linux,npu", "assigned": 0, "running": 0},
            {"repository": REPOSITORY, "pool": "linux,npu", "assigned": 0, "running": 0},
        ],
    ),
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
    "results_around": (
        {
            "repository": REPOSITORY, "base_branch": "main", "judged_since": at(15), "judged_until": at(25),
            "near_since": at(15), "near_until": at(25), "known_since": at(-100), "known_until": at(100),
        },
        [
            {"job_id": 901, "conclusion": "success", "built": at(0), "ended": at(-29), "on_base": False, "author": ""},
            {"job_id": 999, "on_base": True, "pull_request": 0, "author": "octocat", "signature": "other"},
            {
                "job_id": 1000, "run_id": 100, "attempt": 1, "workflow": "CI", "name": "unit (3.12)",
                "head_sha": "a" * 40, "branch": "feature", "conclusion": "failure", "built": at(0), "started": at(2),
                "ended": at(20), "on_base": False, "pull_request": 7, "author": "octocat", "signature": SIGNATURE,
                "cause": "code", "category": "test-failure", "tests": ["tests/test_a.py::test_b"],
                "key_line": "E assert 1 == 2", "runner": "runner-3", "pool": "linux,npu", "waited_seconds": 120,
            },
            {"job_id": 1002, "conclusion": "cancelled", "signature": ""},
            {"job_id": 1001, "on_base": True, "pull_request": 0, "signature": SIGNATURE},
            {"job_id": 1004, "conclusion": "success", "on_base": True},
            {"job_id": 1003, "name": "build", "conclusion": "timed_out"},
        ],
    ),
    "environments_around": (
        {
            "repository": REPOSITORY, "judged_since": at(20), "judged_until": at(20), "known_since": at(24),
            "known_until": at(24),
        },
        [
            {"run_id": 100, "job_id": 1000, "things": [{"kind": "tool", "name": "git", "value": "2.51.0"}]},
            {"run_id": 101, "job_id": 1004},
        ],
    ),
    "merges_between": (
        {"repository": REPOSITORY, "base_branch": "main", "since": at(-30), "until": at(-20)},
        [
            {
                "number": 8, "title": "Turn", "author": "octocat", "merge_commit_sha": f"{8:040}",
                "merged_at": at(-30), "head_sha": "a" * 40, "changed_files": [],
            },
            {"number": 9, "merged_at": at(-20), "changed_files": ["b.py"]},
        ],
    ),
    "merges_to_complete": (
        {
            "repository": REPOSITORY, "base_branch": "main", "since": at(0), "until": at(0), "hours": 1, "limit": 5,
        },
        [{"number": 8}],
    ),
    "judged_jobs": (
        {"repository": REPOSITORY, "since": at(20), "until": at(21)},
        [
            {"id": 1000, "run_id": 100, "conclusion": "failure", "labels": ["linux", "npu"]},
            {"id": 1001, "completed_at": at(21)},
            {"id": 1002, "conclusion": "cancelled"},
        ],
    ),
    "runs_by_id": (
        {"repository": REPOSITORY, "runs": [101, 200, 404]},
        [{"id": 101, "event": "push", "pull_requests": [], "actor": {"login": "octocat"}, "created_at": at(0)}],
    ),
    "diagnoses_of_jobs": (
        {"repository": REPOSITORY, "jobs": [1000, 404]},
        [{"run_id": 100, "job_id": 1000, "cause": "code", "key_line_number": 812, "retry_helps": False}],
    ),
    "verdicts_of_jobs": (
        {"repository": REPOSITORY, "jobs": [1000, 2000]},
        [{"job_id": 1000, "cause": "code", "rule_set": "rules-1", "weights": [1.5], "judged_at": at(41)}],
    ),
    "sync_cursors": (
        {"repository": REPOSITORY},
        [{"stream": "runs", "since": at(-60), "reached": at(30), "seen": "digest"}],
    ),
    "repositories": (
        {},
        [
            {"repository_full_name": "octo/other", "newest": at(0)},
            {"repository_full_name": REPOSITORY, "newest": at(0)},
        ],
    ),
    "repositories_of_run": ({"run": 100}, [{"repository_full_name": REPOSITORY}]),
    "logs_of_runs": (
        {"repository": REPOSITORY, "runs": [90, 404]},
        [{"run_id": 90, "job_id": 901}],
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


def _case_runs() -> list[CaseRun]:
    """A test that failed in one job and passed in another of the same name and commit; one that was skipped."""
    failed, passed = (
        Origin(REPOSITORY, run, "junit", at(ended), job_id=job)
        for run, ended, job in [(100, 20, 1000), (101, 24, 1004)]
    )
    bad = (Outcome("assert 1 == 2\nwhere", "text", "AssertionError"),)
    return [
        CaseRun(failed, Case(0, "test_c", "TestB", "tests/test_a.py", seconds=3, failures=bad)),
        CaseRun(failed, Case(1, "test_d", "TestB", "tests/test_a.py", skips=(Outcome("no NPU"),))),
        CaseRun(passed, Case(0, "test_c", "TestB", "tests/test_a.py", seconds=1)),
    ]


def seed(warehouse: Warehouse) -> None:
    """Write what the answers are about, besides another repository's."""
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
    warehouse.write_test_runs(_case_runs())
    warehouse.write_diagnoses([a_diagnosis(1000), a_diagnosis(1001), a_diagnosis(999, signature="other")])
    warehouse.write_verdicts([a_verdict(1000), a_verdict(1000, minutes=39, rule_set="rules-0")], REPOSITORY)
    warehouse.write_verdicts([a_verdict(2000, run=200)], elsewhere)
    warehouse.write_read_artifact(ReadArtifact(REPOSITORY, 100, 7, "junit", at(40), 1, 9))
    warehouse.write_pull_requests(
        [
            a_pull(files=("a.py",)),
            a_pull(8, head="else", merged=-30),
            a_pull(9, head="else", merged=-20, files=("b.py",)),
            a_pull(10, head="else", merged=-61),
        ]
    )
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
    warehouse.write_environments([JobEnvironment(REPOSITORY, 101, number, git, at(40)) for number in (1001, 1004)])
    warehouse.write_environments([JobEnvironment("octo/other", 200, 900, git, at(40))])
    warehouse.write_baselines([Baseline(REPOSITORY, "unit (3.12)", "main", 900, "e" * 40, at(-30), [9, 5])])
