"""A whole pass against the simulated GitHub: what it tells is true, and doing it again changes nothing."""

import re

from buildeye.model import Cause, Run
from buildeye.simulator import Past
from tests.pipeline.conftest import Twice
from tests.pipeline.places import by_job

ENOUGH = 0.85
SURE = 0.9


def _watched(past: Past, hours: int) -> dict[int, Run]:
    """The last attempt of each run of the time that the pass looked at."""
    latest = {run.id: run for run in past.attempts}
    return {
        run.id: run
        for run in latest.values()
        if run.created_at is not None and (past.now - run.created_at).total_seconds() <= hours * 3600
    }


def _failed_jobs(past: Past, hours: int) -> set[int]:
    runs = _watched(past, hours)
    return {
        job.id
        for job in past.jobs
        if job.run_id in runs and job.conclusion == "failure" and job.run_attempt == runs[job.run_id].run_attempt
    }


def test_a_pass_ends_well_and_says_what_it_found(twice: Twice, past: Past) -> None:
    assert twice.first.code == 0, twice.first.err
    first_line = twice.first.out.splitlines()[0]
    assert first_line.startswith(past.full_name)
    assert "Traceback" not in twice.first.err


def test_every_failed_job_of_the_day_has_a_verdict_and_nothing_else_has(twice: Twice, past: Past, hours: int) -> None:
    assert by_job(twice.place.findings()).keys() == _failed_jobs(past, hours)


def test_nearly_all_causes_are_right(twice: Twice, past: Past) -> None:
    verdicts = by_job(twice.place.findings())
    wrong = {
        job: (v["cause"], past.expected(job)) for job, v in verdicts.items() if v["cause"] != past.expected(job)[0]
    }
    assert len(wrong) <= (1 - ENOUGH) * len(verdicts), wrong


def test_no_verdict_that_is_sure_of_itself_is_wrong(twice: Twice, past: Past) -> None:
    for job, verdict in by_job(twice.place.findings()).items():
        if verdict["confidence"] >= SURE:
            assert verdict["cause"] == past.expected(job)[0], (job, verdict["category"])


def test_pull_requests_that_meet_a_broken_trunk_are_told_it_is_not_theirs(twice: Twice, past: Past) -> None:
    hit = [f for f in twice.place.findings() if _truly(past, f, Cause.INTERFERENCE) and f["pull_request"]]
    assert len(hit) >= 3
    for finding in hit:
        assert finding["verdict"]["cause"] == "interference"
        assert finding["related_pull_requests"]
        number = finding["pull_request"]["number"]
        (name,) = [path for path in twice.first.reports if path.endswith(f"-pr-{number}.md")]
        assert re.fullmatch(r"\d{4}/\d\d/\d\d/interference-pr-\d+\.md", name)


def _truly(past: Past, finding: "dict[str, object]", cause: Cause) -> bool:
    jobs = finding["jobs"]
    assert isinstance(jobs, list)
    return all(past.expected(job["job"]["id"])[0] is cause for job in jobs)


def test_a_runner_that_goes_away_is_infrastructure(twice: Twice, past: Past) -> None:
    verdicts = by_job(twice.place.findings())
    lost = [job for job in verdicts if past.expected(job)[1] == "runner-lost"]
    assert len(lost) >= 3
    assert {(verdicts[job]["cause"], verdicts[job]["category"]) for job in lost} == {("infrastructure", "runner-lost")}


def test_runs_that_did_not_fail_are_counted_and_not_reported(twice: Twice, past: Past, hours: int) -> None:
    runs = _watched(past, hours).values()
    ended = [run.conclusion for run in runs]
    told = {finding["run"]["id"] for finding in twice.place.findings()}
    assert told == {run.id for run in runs if run.conclusion == "failure"}
    said = twice.first.out.splitlines()[0]
    assert f"{len(ended)} runs: {ended.count('success')} passed, {ended.count('skipped')} skipped" in said
    assert f"{ended.count('failure')} failed, 2 not finished" in said


def test_superseded_runs_are_counted_and_not_reported(twice: Twice, past: Past, hours: int) -> None:
    stopped = [run for run in _watched(past, hours).values() if run.conclusion == "cancelled"]
    counted = re.search(r"(\d+) superseded", twice.first.out.splitlines()[0])
    assert counted is not None
    assert int(counted[1]) == len(stopped) >= 6


def test_there_is_one_report_a_pull_request_and_day(twice: Twice) -> None:
    reports = [name for name in twice.first.reports if name.endswith(".md")]
    subjects = [re.sub(r"/[a-z]+-(pr|run)-", "/", name) for name in reports]
    assert len(subjects) == len(set(subjects))
    assert all(re.fullmatch(r"\d{4}/\d\d/\d\d/[a-z]+-(pr|run)-\d+\.md", name) for name in reports)


def test_the_archive_holds_what_the_reports_folder_holds(twice: Twice) -> None:
    assert twice.first.archived == twice.first.reports
    assert len(twice.first.commits) == 1


def test_the_warehouse_holds_every_run_with_what_is_judged_of_its_failed_and_its_stopped_jobs(
    twice: Twice, past: Past, hours: int
) -> None:
    rows = twice.first.rows
    assert len(rows["default.workflow_run_latest"]) == len(_watched(past, hours))
    failed = len(_failed_jobs(past, hours))
    assert len(rows["buildeye.diagnosis_latest"]) == failed
    kept = rows["buildeye.verdict_latest"]
    stopped = [row for row in kept if "'cancelled'" in row]
    assert len(kept) == failed + len(stopped)
    assert stopped


def test_a_second_pass_changes_no_row(twice: Twice) -> None:
    assert twice.second.code == 0, twice.second.err
    assert twice.second.rows == twice.first.rows


def test_a_second_pass_changes_no_report(twice: Twice) -> None:
    assert twice.second.reports == twice.first.reports
    written = len([name for name in twice.first.reports if name.endswith(".md")])
    assert re.search(rf"\b0 written, 0 updated, {written} unchanged", twice.second.out)


def test_a_second_pass_archives_nothing(twice: Twice) -> None:
    assert twice.second.commits == twice.first.commits
    assert "archive has them already" in twice.second.out
