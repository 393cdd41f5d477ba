from datetime import UTC, datetime
from typing import Any

import pytest

from buildeye.github.convert import commit_from, file_names, job_from, parse_time, pull_request_from, run_from
from buildeye.model import OutsideError

from .shapes import commit_json, job_json, pull_request_json, run_json


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-05-28T09:00:00Z", datetime(2026, 5, 28, 9, tzinfo=UTC)),
        ("2026-05-28T09:00:00.5Z", datetime(2026, 5, 28, 9, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-05-28T11:00:00+02:00", datetime(2026, 5, 28, 9, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+08:00", None),
    ],
)
def test_a_timestamp_is_read_as_utc(text: str, moment: datetime | None) -> None:
    assert parse_time(text) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-05-28T09:00:00", "2026-13-01T00:00:00Z"])
def test_a_text_that_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)


def test_a_run_keeps_what_github_says_of_it() -> None:
    run = run_from(run_json())
    assert (run.id, run.run_attempt, run.run_number, run.workflow_id) == (7, 2, 12, 99)
    assert (run.conclusion, run.event, run.path) == ("failure", "pull_request", ".github/workflows/pr_test_full.yaml")
    assert (run.actor, run.triggering_actor) == ("author-a", "author-b")
    assert run.run_started_at == datetime(2026, 5, 28, 9, 30, tzinfo=UTC)
    assert (run.pull_requests, run.repository_full_name) == ((9829,), "o/r")


def test_a_run_under_way_has_no_conclusion() -> None:
    assert run_from(run_json(status="in_progress", conclusion=None)).conclusion is None


def test_pull_requests_of_a_fork_with_the_same_branch_are_not_the_runs_own() -> None:
    entries = [{"number": 3, "base": {"repo": {"id": 6}}}, {"number": 4, "base": {"repo": {"id": 5}}}]
    assert run_from(run_json(pull_requests=entries)).pull_requests == (4,)


def test_a_job_keeps_its_steps_and_its_runner() -> None:
    job = job_from(job_json(), "o/r")
    assert (job.name, job.labels, job.runner_name) == ("singlecard (v0.20.2)", ("linux-aarch64-a3-4",), "a3-4-07")
    assert [(step.number, step.name, step.conclusion) for step in job.steps] == [(1, "Set up job", "success")]
    assert job.repository_full_name == "o/r"


def test_a_queued_job_has_neither_runner_nor_times() -> None:
    job = job_from(job_json(status="queued", conclusion=None, started_at=None, completed_at=None, runner_id=0,
                            runner_name="", steps=None), "o/r")  # fmt: skip
    assert (job.conclusion, job.started_at, job.runner_id, job.runner_name, job.steps) == (None, None, None, None, ())


def test_a_pull_request_of_a_deleted_account_has_no_author() -> None:
    assert pull_request_from(pull_request_json(user=None)).author == ""


def test_a_commit_without_account_is_by_the_name_in_it() -> None:
    assert commit_from(commit_json()).author == "Author A"
    assert commit_from(commit_json(author={"login": "author-a"})).author == "author-a"


def test_a_renamed_file_counts_under_both_names() -> None:
    files = [{"filename": "b.py", "previous_filename": "a.py"}, {"filename": "c.py"}]
    assert file_names(files, "x") == ("b.py", "a.py", "c.py")


@pytest.mark.parametrize("key", ["id", "name", "status", "head_sha", "created_at", "updated_at", "event"])
def test_a_run_without_a_field_says_which(key: str) -> None:
    data = run_json()
    del data[key]
    with pytest.raises(OutsideError, match=f'has no field "{key}"'):
        run_from(data)


@pytest.mark.parametrize("key", ["id", "run_id", "name", "status"])
def test_a_job_without_a_field_says_which(key: str) -> None:
    data = job_json()
    del data[key]
    with pytest.raises(OutsideError, match=f'has no field "{key}"'):
        job_from(data, "o/r")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"run_attempt": "2"}, 'run 7 has a field "run_attempt" that is not a number'),
        ({"name": 5}, 'run 7 has a field "name" that is not a text'),
        ({"created_at": "soon"}, 'run 7 has a field "created_at" that is not a time'),
        ({"status": None}, 'run 7 has a field "status" that is not a text that is not empty'),
        ({"pull_requests": {}}, 'run 7 has a field "pull_requests" that is not a list'),
        ({"actor": "me"}, "run 7, actor is not an object"),
    ],
)
def test_a_run_with_a_field_of_another_kind_says_which(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(OutsideError, match=told):
        run_from(run_json(**changes))


@pytest.mark.parametrize("data", [None, [], "text", 5])
def test_what_is_no_object_is_no_run(data: object) -> None:
    with pytest.raises(OutsideError, match="not an object"):
        run_from(data)
