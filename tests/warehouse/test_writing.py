"""What was written is there, once, whatever the order and however often."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buildeye.model import Cause, Culprit, MergeRange, Step, Thing, UsageError
from buildeye.warehouse import Baseline, JobEnvironment, KeptLog, Push, SyncCursor, SyncedRun, Warehouse, store
from buildeye.warehouse.reading import diagnosis_of, incident_of, job_of, pull_request_of, run_of, things_of, verdict_of

from .conftest import empty
from .facts import (
    NOON,
    REPOSITORY,
    SIGNATURE,
    a_diagnosis,
    a_job,
    a_pull,
    a_run,
    a_verdict,
    an_incident,
    at,
)


def latest(warehouse: Warehouse, table: str, columns: str = "* EXCEPT (_version)") -> list[dict[str, object]]:
    answer = warehouse.query(f"SELECT {columns} FROM {table}_latest ORDER BY ALL")
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def test_a_run_comes_back_as_it_was(warehouse: Warehouse) -> None:
    run = a_run()
    warehouse.write_runs([run])
    [row] = latest(warehouse, "default.workflow_run")
    assert row["display_title"] == run.display_title
    assert row["created_at"] == NOON and row["updated_at"] == at(30)
    assert row["pull_requests"] == [{"number": 7}]
    assert row["repository"] == {"full_name": REPOSITORY, "name": "widgets", "owner": {"login": "octo"}}
    assert row["head_commit"] == {"id": run.head_sha}


def test_an_incident_comes_back_as_it_was_and_its_later_state_wins(warehouse: Warehouse) -> None:
    began, ended = an_incident(updated=5, resolved=None, status="investigating"), an_incident()
    warehouse.write_incidents([ended])
    warehouse.write_incidents([began, replace(began, id="b2"), replace(ended, provider="elsewhere")])
    found = [incident_of(row) for row in latest(warehouse, "buildeye.incident")]
    assert found == [replace(ended, provider="elsewhere"), ended, replace(began, id="b2")]


def test_a_job_comes_back_with_its_steps_and_labels(warehouse: Warehouse) -> None:
    warehouse.write_jobs([a_job()])
    [row] = latest(warehouse, "default.workflow_job")
    assert row["labels"] == ["linux", "npu"]
    assert row["completed_at"] == at(20)
    assert row["steps"] == [
        {
            "name": "build",
            "number": 1,
            "status": "completed",
            "conclusion": "failure",
            "started_at": at(2),
            "completed_at": at(19),
        }
    ]


def test_what_is_missing_is_empty_or_1970_in_the_compatible_tables(warehouse: Warehouse) -> None:
    warehouse.write_jobs([a_job(status="queued", conclusion=None, completed=None, steps=())])
    [row] = latest(warehouse, "default.workflow_job", "conclusion, completed_at")
    assert row == {"conclusion": "", "completed_at": datetime(1970, 1, 1, tzinfo=UTC)}


def test_a_diagnosis_keeps_unknown_apart_from_no(warehouse: Warehouse) -> None:
    warehouse.write_diagnoses([a_diagnosis()])
    [row] = latest(warehouse, "buildeye.diagnosis")
    assert row["retry_helps"] is False
    assert row["key_line_number"] == 812
    assert row["evidence"] == [
        {"kind": "step", "id": "build", "line": None, "quote": "failed", "why": "the step that failed"},
        {"kind": "rule", "id": "pytest.failed", "line": 812, "quote": "E assert 1 == 2", "why": ""},
    ]
    assert row["suggestions"] == [
        {"title": "Run it here", "cost": "low", "steps": ["check out", "run"], "command": "pytest tests/test_a.py"}
    ]


def test_a_push_a_log_and_a_pull_request_come_back(warehouse: Warehouse) -> None:
    warehouse.write_pushes([Push(REPOSITORY, "refs/heads/main", "c" * 40, message="Merge\n\nall", pushed_at=NOON)])
    warehouse.write_logs([KeptLog(REPOSITORY, 100, 1000, NOON, "logs/1000.zst", 12345, "d" * 64)])
    warehouse.write_pull_requests([a_pull(files=("a.py", "b.py"))])
    [push] = latest(
        warehouse, "default.push", "head_commit.id AS id, head_commit.message AS message, repository.full_name"
    )
    assert (push["id"], push["message"]) == ("c" * 40, "Merge\n\nall")
    [log] = latest(warehouse, "buildeye.log")
    assert (log["size_bytes"], log["expired"], log["checked_at"]) == (12345, False, NOON)
    [pull] = latest(warehouse, "default.pull_request")
    assert pull["base"] == {"ref": "main", "sha": "b" * 40, "repo": {"full_name": REPOSITORY}}
    assert pull["changed_files"] == ["a.py", "b.py"]


def test_the_diagnosis_shows_in_the_job_for_pytorchs_queries(warehouse: Warehouse) -> None:
    warehouse.write_jobs([a_job()])
    warehouse.write_diagnoses([a_diagnosis(line="first"), a_diagnosis(minutes=50, line="better")])
    [row] = latest(warehouse, "default.workflow_job", "torchci_classification")
    assert row["torchci_classification"] == {
        "captures": [SIGNATURE],
        "context": ["test_b fails."],
        "job_id": 1000,
        "line": "better",
        "line_num": 812,
        "rule": "pytest.failed",
    }


def test_an_empty_batch_writes_nothing(warehouse: Warehouse) -> None:
    warehouse.write_runs([])
    assert latest(warehouse, "default.workflow_run") == []


def test_a_large_batch_is_cut_and_complete(embedded: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BATCH_ROWS", 7)
    embedded.write_jobs([a_job(number) for number in range(1, 31)])
    embedded.write_diagnoses([a_diagnosis(number) for number in range(1, 31)])
    [row] = latest(
        embedded, "default.workflow_job", "count() AS jobs, countIf(torchci_classification.line != '') AS read"
    )
    assert row == {"jobs": 30, "read": 30}


def test_a_batch_may_reach_over_many_years(embedded: Warehouse) -> None:
    embedded.write_pushes(
        [
            Push(REPOSITORY, "refs/heads/main", f"{year}-{month}", pushed_at=datetime(year, month, 1, tzinfo=UTC))
            for year, month in itertools.product(range(2017, 2026), range(1, 13))
        ]
    )
    assert len(latest(embedded, "default.push", "after")) == 108


def test_a_time_without_a_zone_is_refused(embedded: Warehouse) -> None:
    with pytest.raises(UsageError, match="no zone"):
        embedded.write_logs([KeptLog(REPOSITORY, 1, 2, datetime(2026, 1, 1))])


def test_what_a_job_ran_in_comes_back_as_it_was_read_last(warehouse: Warehouse) -> None:
    things = (
        Thing("image", "python:3.12", "sha256:" + "a" * 64),
        Thing("package", "it's", "1.0+l'ocal"),
        Thing("runner-image", "ubuntu-24.04", "20251102.1.0"),
    )
    newer = JobEnvironment(REPOSITORY, 100, 1000, things[::-1] * 2, at(5))
    warehouse.write_environments([newer])
    warehouse.write_environments([JobEnvironment(REPOSITORY, 100, 1000, (), at(0)), newer])
    [row] = latest(warehouse, "buildeye.job_environment")
    assert things_of(row) == things and row["read_at"] == at(5)


def test_an_older_baseline_does_not_replace_a_newer_one(warehouse: Warehouse) -> None:
    newer = Baseline(REPOSITORY, "unit", "main", 2, "b" * 40, at(5), [3, 2**64 - 1, 3])
    older = Baseline(REPOSITORY, "unit", "main", 1, "a" * 40, at(0), [1])
    warehouse.write_baselines([newer])
    warehouse.write_baselines([older])
    [row] = latest(warehouse, "buildeye.job_baseline")
    assert (row["job_id"], row["line_hashes"]) == (2, [3, 2**64 - 1])


Event = tuple[str, Any]
EVENTS: list[Event] = [
    ("runs", partial(a_run, status="queued", conclusion=None, updated=0)),
    ("runs", partial(a_run, updated=30)),
    ("runs", partial(a_run, status="queued", conclusion=None, attempt=2, updated=20)),
    ("runs", partial(a_run, conclusion="success", attempt=2, updated=60)),
    ("jobs", partial(a_job, status="queued", conclusion=None, completed=None, steps=())),
    ("jobs", partial(a_job, status="in_progress", conclusion=None, completed=None, steps=(Step("s", 1, "queued"),))),
    ("jobs", partial(a_job, status="in_progress", conclusion=None, completed=None, steps=(Step("s", 1, "completed"),))),
    ("jobs", a_job),
    ("diagnoses", partial(a_diagnosis, minutes=40)),
    ("diagnoses", partial(a_diagnosis, minutes=45, line="better")),
    ("verdicts", partial(a_verdict, minutes=41)),
    ("verdicts", partial(a_verdict, minutes=46, cause=Cause.INFRASTRUCTURE)),
]
ANY_ORDER_WITH_REPEATS = st.tuples(
    st.permutations(range(len(EVENTS))), st.lists(st.integers(0, len(EVENTS) - 1), max_size=3)
).map(lambda drawn: [*drawn[0], *drawn[1]])


def write(warehouse: Warehouse, kind: str, facts: list[Any]) -> None:
    if kind == "verdicts":
        warehouse.write_verdicts(facts, REPOSITORY)
    else:
        getattr(warehouse, f"write_{kind}")(facts)


@given(worlds=st.lists(ANY_ORDER_WITH_REPEATS, min_size=8, max_size=8))
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_events_in_any_order_and_repeated_leave_the_same_rows(embedded: Warehouse, worlds: list[list[int]]) -> None:
    """Each world is one run and its job, with a number of its own; the worlds' events arrive side by side.

    Each drawn order is also turned by its place in the list, so that even the plainest draw has many orders.
    """
    empty(embedded)
    turned = [[*order[place:], *order[:place]][:: -1 if place % 2 else 1] for place, order in enumerate(worlds)]
    for step in itertools.zip_longest(*turned):
        arriving = [(*EVENTS[event], number) for number, event in enumerate(step, 1) if event is not None]
        for kind, same in itertools.groupby(sorted(arriving, key=lambda each: each[0]), key=lambda each: each[0]):
            write(embedded, kind, [make(number) for _, make, number in same])
    job = "id, status, torchci_classification.line"
    assert rows_of(embedded, "default.workflow_run", "id, run_attempt, conclusion") == {(2, "success")}
    assert rows_of(embedded, "default.workflow_job", job) == {("completed", "better")}
    assert rows_of(embedded, "buildeye.diagnosis", "job_id, key_line_text") == {("better",)}
    assert rows_of(embedded, "buildeye.verdict", "job_id, cause") == {("infrastructure",)}


def rows_of(warehouse: Warehouse, table: str, columns: str) -> set[tuple[Any, ...]]:
    """What the worlds hold, without their numbers; each of the eight has one row."""
    rows = warehouse.query(f"SELECT {columns} FROM {table}_latest ORDER BY 1").rows
    assert [row[0] for row in rows] == list(range(1, 9))
    return {row[1:] for row in rows}


def test_a_batch_that_broke_off_and_is_written_again_is_there_once(warehouse: Warehouse) -> None:
    jobs = [a_job(number) for number in range(1, 6)]
    warehouse.write_jobs(jobs[:2])
    warehouse.write_jobs(jobs)
    warehouse.write_jobs(jobs[::-1])
    assert [row["id"] for row in latest(warehouse, "default.workflow_job", "id")] == [1, 2, 3, 4, 5]


def test_merging_the_parts_changes_nothing(embedded: Warehouse) -> None:
    for kind, make in EVENTS[4:10][::-1]:
        write(embedded, kind, [make()])
    before = latest(embedded, "default.workflow_job")
    embedded.query("OPTIMIZE TABLE default.workflow_job FINAL")
    assert latest(embedded, "default.workflow_job") == before
    assert embedded.query("SELECT count() FROM default.workflow_job").rows == ((1,),)


def test_facts_that_were_written_are_read_back_as_they_were(warehouse: Warehouse) -> None:
    runs = [a_run(1), a_run(2, status="queued", conclusion=None, pulls=())]
    jobs = [a_job(1), replace(a_job(2, status="queued", conclusion=None, completed=None, steps=()), runner_id=None,
                              runner_name=None, runner_group_name=None, started_at=None)]  # fmt: skip
    pulls = [a_pull(7), replace(a_pull(8, files=("a.py", "b.py")), merge_base_sha="d" * 40, merged_at=at(9))]
    warehouse.write_runs(runs)
    warehouse.write_jobs(jobs)
    warehouse.write_pull_requests(pulls)
    assert [run_of(row) for row in latest(warehouse, "default.workflow_run")] == runs
    assert [job_of(row) for row in latest(warehouse, "default.workflow_job")] == jobs
    told = replace(
        a_verdict(),
        otherwise=((Cause.INFRASTRUCTURE, 0.25),),
        merge_range=MergeRange("a" * 40, "b" * 40, 2),
        culprits=(Culprit("b" * 40, 0.75, "it changes the file", 7), Culprit("c" * 40, 0.25, "it is in the range")),
        related_pull_requests=(8, 9),
        person="maint",
    )
    warehouse.write_verdicts([told], REPOSITORY)
    assert [verdict_of(row) for row in latest(warehouse, "buildeye.verdict")] == [told]
    warehouse.write_diagnoses([a_diagnosis()])
    assert [diagnosis_of(row) for row in latest(warehouse, "buildeye.diagnosis")] == [a_diagnosis().diagnosis]
    assert sorted((pull_request_of(row) for row in latest(warehouse, "default.pull_request")),
                  key=lambda pull: pull.number) == pulls  # fmt: skip


def test_a_run_that_names_its_pull_request_beats_the_same_without(warehouse: Warehouse) -> None:
    for order in ((), (7,)), ((7,), ()):
        empty_run = [a_run(1, pulls=pulls) for pulls in order]
        for run in empty_run:
            warehouse.write_runs([run])
        assert [run_of(row).pull_requests for row in latest(warehouse, "default.workflow_run")] == [(7,)]


def test_a_cursor_saved_later_counts_and_a_newer_attempt_is_not_forgotten(warehouse: Warehouse) -> None:
    cursors = [SyncCursor(REPOSITORY, "runs", at(-9), at(n), str(n), at(n)) for n in (2, 1)]
    warehouse.write_sync_cursors(cursors)
    assert [row["seen"] for row in warehouse.ask("sync_cursors", repository=REPOSITORY)] == ["2"]
    warehouse.write_synced_runs([SyncedRun(REPOSITORY, 1, 2, at(0)), SyncedRun(REPOSITORY, 1, 1, at(5))])
    assert latest(warehouse, "buildeye.synced_run", "run_attempt") == [{"run_attempt": 2}]
