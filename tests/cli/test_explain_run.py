"""`build-eye explain RUN`: from the warehouse, else from kept logs, else from GitHub; nothing is written."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from buildeye.cli.terminal import cells
from buildeye.logstore import open_log_store
from buildeye.model import Job
from buildeye.pipeline.explainrun import MOST_READ
from buildeye.pipeline.sync.joblogs import place_of
from buildeye.simulator import Past, build_past
from buildeye.simulator.app import create_app
from buildeye.simulator.server import ledger, serving
from buildeye.warehouse import KeptLog, open_warehouse
from tests.cli.contract import check
from tests.cli.program import Answer, build_eye
from tests.cli.test_explain import RED
from tests.warehouse.facts import REPOSITORY, a_diagnosis, a_job, a_run, a_verdict, at

NOWHERE = "http://127.0.0.1:9"
ALONE = "no history, no other runs and no people were weighed"
MANY = range(2000, 2007)
"""Failed jobs of run 102, of which none was judged and every log is kept."""


@pytest.fixture(scope="module")
def past() -> Past:
    return build_past(7, datetime(2026, 11, 30, 12, tzinfo=UTC))


@pytest.fixture(scope="module")
def github(past: Past) -> Iterator[tuple[str, Starlette]]:
    """The simulated GitHub: its address and the app."""
    app = create_app(past)
    with serving(app) as address:
        yield address, app


@pytest.fixture
def asked(past: Past, github: tuple[str, Starlette], monkeypatch: pytest.MonkeyPatch) -> Starlette:
    """Settings for the simulated GitHub's repository; there is no warehouse."""
    _settings(monkeypatch, github[0], past.full_name)
    return github[1]


def _settings(monkeypatch: pytest.MonkeyPatch, address: str, repository: str) -> None:
    owner, _, name = repository.partition("/")
    monkeypatch.setenv("BUILD_EYE_API__BASE_URL", address)
    monkeypatch.setenv("BUILD_EYE_API__MAX_RETRIES", "0")
    monkeypatch.setenv("BUILD_EYE_TARGET_REPOSITORY__OWNER", owner)
    monkeypatch.setenv("BUILD_EYE_TARGET_REPOSITORY__REPO", name)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with a warehouse and kept logs: run 100 was judged, 101 passed, 102 was not judged, 300 is in two."""
    place = tmp_path_factory.mktemp("filled")
    store = open_log_store("", place / "data")
    kept = {number: store.keep(place_of(REPOSITORY, at(20), number), [RED.encode()]) for number in (1000, *MANY)}
    read = a_diagnosis()
    assert read.diagnosis.key_line
    shown = replace(read.diagnosis.key_line, number=5, text="E   AssertionError: assert 3 == 2")
    with open_warehouse(f"chdb://{place / 'warehouse'}") as warehouse:
        warehouse.write_runs([
            a_run(100), a_run(101, conclusion="success"), a_run(102), a_run(300, repository="octo/one"),
            a_run(300, repository="octo/two"), a_run(400, repository="octo/one", conclusion="success"),
        ])  # fmt: skip
        warehouse.write_jobs([
            a_job(1000), a_job(1001, name="lint", conclusion="success"),
            a_job(1100, run=101, conclusion="success"),
            *(a_job(number, run=102, name=f"unit {number}") for number in MANY),
            a_job(4000, run=400, repository="octo/one", conclusion="success"),
        ])  # fmt: skip
        warehouse.write_verdicts([a_verdict(1000)], REPOSITORY)
        warehouse.write_diagnoses([replace(read, diagnosis=replace(read.diagnosis, key_line=shown))])
        warehouse.write_logs([
            KeptLog(REPOSITORY, 100 if number == 1000 else 102, number, at(30), place=file.place,
                    size_bytes=file.size_bytes, sha256=file.sha256)
            for number, file in kept.items()
        ])  # fmt: skip
    return place


@pytest.fixture
def known(filled: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that place; GitHub is nowhere."""
    shutil.copytree(filled, folder / "place", symlinks=True)
    _settings(monkeypatch, NOWHERE, REPOSITORY)
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{folder / 'place' / 'warehouse'}")
    monkeypatch.setenv("BUILD_EYE_STORAGE__DATA_DIR", str(folder / "place" / "data"))
    return folder / "place"


def explained(*arguments: str, code: int = 0) -> Answer:
    answer = build_eye("explain", *arguments)
    assert answer.code == code, (answer.out, answer.err)
    face = not {"--json", "--context-for-agent"} & set(arguments)
    wide = [line for line in answer.out.splitlines() if face and cells(line) > 100 and "$ " not in line]
    assert wide == []
    return answer


def as_json(*arguments: str) -> dict[str, Any]:
    """What `--json` prints of one run: one line."""
    (line,) = explained(*arguments, "--json").out.splitlines()
    said: dict[str, Any] = json.loads(line)
    for job in said["jobs"]:
        if job["diagnosis"]:
            check(job["diagnosis"])
    return said


def _failed(past: Past, *, expired: bool = False) -> Job:
    """The newest failed job of a run's last attempt whose log is there, or is not any more."""
    return next(
        job
        for job in reversed(past.jobs)
        if job.conclusion == "failure"
        and past.log_expired(job) is expired
        and past.run(job.run_id).run_attempt == job.run_attempt
        and past.run(job.run_id).status == "completed"
    )


def _of_run(past: Past, run_id: int) -> list[int]:
    attempt = past.run(run_id).run_attempt
    return [j.id for j in past.jobs if j.run_id == run_id and j.run_attempt == attempt and j.conclusion == "failure"]


def _page(past: Past, job: Job) -> str:
    return f"https://github.com/{past.full_name}/actions/runs/{job.run_id}/job/{job.id}"


@pytest.mark.usefixtures("asked")
def test_a_run_nobody_brought_is_explained_from_its_logs_on_github(past: Past, folder: Path) -> None:
    job = _failed(past)
    answer = explained(str(job.run_id))
    head, said, _, rule, verdict, *_ = answer.out.splitlines()
    assert head.startswith(f"{past.full_name} run {job.run_id}: ") and head.endswith("(from GitHub, read just now).")
    assert ALONE in said and rule.startswith("── ") and "% sure" in verdict and "▶" in answer.out
    assert "there is no verdict, for there is no warehouse at " in answer.err
    assert sorted(path.name for path in (folder / ".build-eye").iterdir()) == ["cache"]


@pytest.mark.usefixtures("asked")
def test_json_lists_every_failed_job_with_its_diagnosis(past: Past) -> None:
    job = _failed(past)
    said = as_json(str(job.run_id))
    assert (said["repository"], said["run_id"], said["source"]) == (past.full_name, job.run_id, "github")
    assert [each["job_id"] for each in said["jobs"]] == _of_run(past, job.run_id)
    assert all(each["verdict"] is None and each["diagnosis"]["summary"] for each in said["jobs"])


@pytest.mark.usefixtures("asked")
def test_one_job_is_meant_by_its_address_its_number_or_its_name(past: Past) -> None:
    job = _failed(past)
    for arguments in ((_page(past, job),), (str(job.run_id), "--job", str(job.id)),
                      (str(job.run_id), "--job", job.name)):  # fmt: skip
        assert [each["job_id"] for each in as_json(*arguments)["jobs"]] == [job.id]
    answer = explained(str(job.run_id), "--job", "nothing like it", code=2)
    assert answer.err.splitlines()[-1].startswith(f'build-eye: run {job.run_id} has no job "nothing like it"')


@pytest.mark.usefixtures("asked")
def test_the_repository_of_an_address_wins_over_that_of_the_settings(
    past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILD_EYE_TARGET_REPOSITORY__REPO", "another")
    job = _failed(past)
    assert as_json(_page(past, job))["repository"] == past.full_name
    assert as_json(str(job.run_id), "--target-repo", past.full_name)["repository"] == past.full_name
    answer = explained(_page(past, job), "--target-repo", "octo/widgets", code=2)
    assert "--target-repo says octo/widgets; leave one out" in answer.err
    assert "a run of another repository needs its address, or --target-repo" in explained(str(job.run_id), code=3).err


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("status", "conclusion", "says"),
    [
        ("completed", "success", "it passed, no failed job."),
        ("completed", "skipped", "it was skipped, no failed job."),
        ("completed", "cancelled", "it was cancelled, no failed job."),
        ("in_progress", None, "it still runs, no failed job so far."),
        ("queued", None, "it has not begun (queued), no failed job so far."),
    ],
)
def test_a_run_that_did_not_fail_is_said_to_have_not(
    past: Past, status: str, conclusion: str | None, says: str
) -> None:
    run = next(
        run for run in reversed(past.attempts)
        if (run.status, run.conclusion) == (status, conclusion)
        and not _of_run(past, run.id) and past.run(run.id) == run
    )  # fmt: skip
    answer = explained(str(run.id))
    assert answer.out == f"{past.full_name} run {run.id}: {says}\n"
    said = as_json(str(run.id))
    assert (said["jobs"], said["status"], said["conclusion"]) == ([], status, conclusion or "")


@pytest.mark.usefixtures("asked")
def test_a_job_that_passed_in_a_run_that_failed_is_said_to_have_passed(past: Past) -> None:
    failed = _failed(past)
    green = next(job for job in past.jobs if job.run_id == failed.run_id and job.conclusion == "success")
    answer = explained(str(failed.run_id), "--job", str(green.id))
    assert answer.out == f'{past.full_name} run {failed.run_id}, job "{green.name}": it passed.\n'


@pytest.mark.usefixtures("asked")
def test_a_log_that_github_no_longer_has_leaves_the_step_and_a_sentence(past: Past) -> None:
    job = _failed(past, expired=True)
    answer = explained(str(job.run_id), "--job", str(job.id), code=3)
    assert "Note: GitHub no longer has its log." in answer.out
    assert f'Step "{next(step.name for step in job.steps if step.conclusion == "failure")}" failed.' in answer.out
    last = answer.err.splitlines()[-1]
    assert "no failed job could be explained: GitHub no longer has its log; a re-run makes new logs" in last


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("1",), 3, "there is no run 1, or the token may not see it"),
        (("https://github.com/octo/widgets",), 2, "give the number of a run"),
        (("1", "--job", " "), 2, "--job is empty"),
        (("1", "job.log"), 2, "job.log is no run, but others are"),
        (("job.log", "--target-repo", "octo/widgets"), 2, "--target-repo and --config are for runs"),
        (("1", "--target-repo", "octo"), 2, "write OWNER/REPO"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(arguments: tuple[str, ...], code: int, says: str) -> None:
    Path("job.log").write_text(RED)
    answer = explained(*arguments, code=code)
    told = [line for line in answer.err.splitlines() if "warning" not in line]
    assert len(told) == 1 and says in told[0] and answer.out == ""


def test_without_a_token_where_one_is_needed_it_says_which(
    past: Past, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    del folder
    with serving(create_app(past, token="t0ken")) as address:
        _settings(monkeypatch, address, past.full_name)
        answer = explained(str(_failed(past).run_id), code=3)
    assert "a token is needed; set GITHUB_TOKEN" in answer.err


def test_a_kept_log_is_read_before_github_is_asked_for_it(asked: Starlette, past: Past) -> None:
    job = _failed(past)
    assert job.completed_at
    open_log_store("", Path(".build-eye")).keep(place_of(past.full_name, job.completed_at, job.id), [RED.encode()])
    before = len(ledger(asked).paths)
    (entry,) = as_json(_page(past, job))["jobs"]
    assert entry["diagnosis"]["tests"] == ["tests/test_a.py::test_b"]
    assert not [path for path in ledger(asked).paths[before:] if path.endswith("/logs")]


@pytest.mark.usefixtures("asked")
def test_several_runs_stand_below_each_other_and_one_that_is_not_there_is_told(past: Past) -> None:
    job = _failed(past)
    answer = explained("1", str(job.run_id), code=3)
    assert f"run {job.run_id}: " in answer.out and "there is no run 1" in answer.err


@pytest.mark.usefixtures("asked")
def test_a_file_whose_name_is_a_number_is_a_log() -> None:
    Path("26690112009").write_text(RED)
    assert "code / test-failure" in explained("26690112009").out


@pytest.mark.usefixtures("asked")
def test_an_agent_gets_the_same_in_few_tokens(past: Past) -> None:
    job = _failed(past)
    text = explained(_page(past, job), "--context-for-agent", "200").out
    assert f"job {job.id} {job.name}" in text and "re-run: " in text
    (entry,) = as_json(_page(past, job), "--context-for-agent", "200")["jobs"]
    assert entry["context"].strip() in text


@pytest.mark.usefixtures("known")
def test_a_judged_run_shows_its_verdict_its_line_in_the_kept_log_and_what_was_weighed() -> None:
    answer = explained("100")
    assert answer.err == ""
    lines = answer.out.splitlines()
    for line in (
        "octo/widgets run 100 · CI",
        "code / test-failure · 90 % sure (high)",
        "test_b fails",
        "▶ 5 │ E   AssertionError: assert 3 == 2",
        "  4 │ tests/test_a.py:7: in test_b",
        "For      +1.5  a test failed: E assert (line 812, pytest.failed)",
        "Do       1  low   Run it here",
    ):
        assert line in lines, answer.out
    assert ALONE not in answer.out


def test_without_the_kept_log_the_key_line_of_the_diagnosis_is_shown(known: Path) -> None:
    shutil.rmtree(known / "data")
    answer = explained("100")
    assert "▶ 5 │ E   AssertionError: assert 3 == 2" in answer.out
    assert "tests/test_a.py:7: in" not in answer.out
    assert not (known / "data").exists()


@pytest.mark.usefixtures("known")
def test_a_persons_word_wins_in_the_answer_about_a_run() -> None:
    said = ("--cause", "infrastructure", "--category", "disk-full", "--why", "the disk was full", "--by", "octocat")
    assert build_eye("verdict", "set", "100", *said).code == 0
    assert "infrastructure / disk-full · says octocat" in explained("100").out
    (job,) = as_json("100")["jobs"]
    assert (job["verdict"]["cause"], job["ours"]["cause"]) == ("infrastructure", "code")


@pytest.mark.usefixtures("known")
def test_jobs_that_were_not_judged_are_read_from_their_kept_logs_so_many_of_them() -> None:
    answer = explained("102")
    assert answer.out.splitlines()[0] == f"octo/widgets run 102: {len(MANY)} failed jobs (from the warehouse)."
    assert "Note: not judged yet: `build-eye monitor` judges what failed lately." in answer.out
    assert "Alike: unit 2001, unit 2002, unit 2003, unit 2004" in answer.out and ALONE in answer.out
    jobs = as_json("102")["jobs"]
    assert [bool(job["diagnosis"]) for job in jobs] == [True] * MOST_READ + [False] * (len(MANY) - MOST_READ)
    assert jobs[-1]["note"].endswith(f"its log was not read: only {MOST_READ} are")


def test_without_kept_logs_and_github_nothing_can_be_said_of_jobs_that_were_not_judged(known: Path) -> None:
    shutil.rmtree(known / "data")
    answer = explained("102", "--job", "unit 2000", code=3)
    assert "127.0.0.1 cannot be reached" in answer.err and "no failed job could be explained: not judged" in answer.err


@pytest.mark.usefixtures("known")
def test_what_the_warehouse_knows_to_have_passed_is_not_asked_of_github() -> None:
    assert explained("101").out == "octo/widgets run 101: it passed, no failed job.\n"


@pytest.mark.usefixtures("known")
def test_a_number_finds_its_run_in_another_repository_and_several_are_named() -> None:
    assert explained("400").out == "octo/one run 400: it passed, no failed job.\n"
    answer = explained("300", code=2)
    assert "octo/one, octo/two each have a run 300; name one with --target-repo" in answer.err


@pytest.mark.usefixtures("known")
def test_a_passing_log_is_not_compared_with_what_was_judged() -> None:
    Path("green.log").write_text("all well\n")
    assert "--baseline was not used" in explained("100", "--baseline", "green.log").err
