"""A long history holds every kind of story, and what its logs and times say fits the truth that it tells."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from itertools import pairwise

import httpx2
import pytest

from buildeye.model import Cause, Determinism, Job, Run
from buildeye.model.causes import CATEGORIES
from buildeye.simulator import Past, Truth
from buildeye.simulator.chance import chance
from buildeye.simulator.failures import failure_text
from buildeye.simulator.histories import build_history
from buildeye.simulator.logs import has_log, render_log
from buildeye.simulator.more_failures import MORE_FAILURES, failure_of
from buildeye.simulator.server import running
from tests.simulator.conftest import NOW

KINDS = (
    "author-bug", "broken-trunk", "cancelled", "concurrent-merge", "contention", "flaky", "full-disk", "github-outage",
    "image-update", "matrix-leg", "noise", "sick-runner", "upstream-release",
)  # fmt: skip
MARKS = {
    "contention": r"Timeout \(>|Server failed to start in time|has timed out after \d+ minutes",
    "full-disk": r"[Nn]o space left on device",
    "image-update": r"GLIBCXX|undefined symbol|cannot open shared object|not found|No such file or directory",
    "upstream-release": r"has no attribute|cannot import name|assert None|unexpected keyword|unused-ignore|pkg_re",
    "matrix-leg": r"unexpected keyword argument|cannot import name|has no attribute|Can't instantiate|No module",
    "flaky": r"FAILED tests/|\(Failed\)",
    "cancelled": r"##\[error\]The operation was canceled",
}
DIGEST = re.compile(r"Digest: (sha256:[0-9a-f]{64})")


@pytest.fixture(scope="module")
def long() -> Past:
    return build_history(7, NOW)


def _failed(past: Past, story: str = "") -> list[Job]:
    return [
        job
        for job in past.jobs
        if job.conclusion in ("failure", "cancelled") and (not story or past.truth(job.id).story == story)
    ]


def _text(past: Past, job: Job) -> str:
    return render_log(past, job, 0.05).decode("utf-8-sig")


def _at(time: datetime | None) -> datetime:
    assert time is not None
    return time


def test_equal_arguments_give_an_equal_history_and_other_seeds_another() -> None:
    first = build_history(1, NOW, days=6, runs=500)
    assert first == build_history(1, NOW, days=6, runs=500)
    assert first.jobs != build_history(2, NOW, days=6, runs=500).jobs


def test_there_are_about_as_many_runs_as_asked_for_and_most_are_green_or_skipped(long: Past) -> None:
    runs = {run.id: run for run in long.attempts}
    assert 9_300 <= len(runs) <= 10_700
    ends = Counter(run.conclusion for run in runs.values())
    assert ends["failure"] + ends["cancelled"] <= 0.3 * len(runs)
    assert ends["skipped"] >= 0.2 * len(runs)


@pytest.mark.parametrize("story", KINDS)
def test_every_kind_of_story_fails_enough_jobs(long: Past, story: str) -> None:
    assert len(_failed(long, story)) >= 20


def test_truths_are_of_the_table_of_causes_and_every_failure_has_a_story(long: Past) -> None:
    known = {category for categories in CATEGORIES.values() for category in categories}
    for job in long.jobs:
        truth = long.truth(job.id)
        assert truth.category in known
        if job.conclusion in ("failure", "cancelled"):
            assert truth.story in KINDS
            assert truth.cause is not Cause.NONE
        else:
            assert truth == Truth(Cause.NONE, "none")


def test_what_comes_and_goes_is_flaky_and_what_is_in_the_code_is_not(long: Past) -> None:
    for job in _failed(long):
        truth = long.truth(job.id)
        if truth.story in ("flaky", "sick-runner", "full-disk", "contention", "github-outage", "noise"):
            assert truth.determinism is Determinism.FLAKY
        elif truth.story != "cancelled":
            assert truth.determinism is Determinism.DETERMINISTIC


def test_times_are_in_order_and_nothing_happens_after_now(long: Past) -> None:
    runs = {(run.id, run.run_attempt): run for run in long.attempts}
    for job in long.jobs:
        run = runs[job.run_id, job.run_attempt]
        assert _at(run.run_started_at) <= _at(job.created_at) <= _at(job.started_at) <= long.now
        assert job.completed_at is None or _at(job.started_at) <= job.completed_at <= _at(run.updated_at) <= long.now
        starts = [step.started_at for step in job.steps if step.started_at]
        assert starts == sorted(starts)
    first = [run for run in long.attempts if run.run_attempt == 1]
    assert [run.id for run in first] == sorted({run.id for run in first})


def test_no_runner_does_two_jobs_at_once(long: Past) -> None:
    spans: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    for job in long.jobs:
        if job.runner_name:
            spans[job.runner_name].append((_at(job.started_at), job.completed_at or long.now))
    for busy in spans.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(busy)))


@pytest.mark.parametrize("story", sorted(MARKS))
def test_logs_of_a_story_hold_its_marks_and_no_placeholder(long: Past, story: str) -> None:
    jobs = [job for job in _failed(long, story) if has_log(job)]
    for job in chance("marks", story).sample(jobs, min(len(jobs), 25)):
        text = _text(long, job)
        assert re.search(MARKS[story], text)
        assert not re.search(r"\$\{?(test|file|func|symbol|klass|line|package)\b", text)


def test_every_text_has_only_placeholders_that_are_known(long: Past) -> None:
    seen = {long.plots[job.id].failure for job in _failed(long)}
    assert len(seen & MORE_FAILURES.keys()) >= 0.85 * len(MORE_FAILURES)
    for key in seen & MORE_FAILURES.keys():
        job = next((job for job in _failed(long) if long.plots[job.id].failure == key and has_log(job)), None)
        if job is not None:
            text = _text(long, job)
            names = set(re.findall(r"\$\{?(\w+)", failure_text(key)))
            assert not [name for name in names if f"${name}" in text or f"${{{name}}}" in text], key


def test_green_logs_tell_the_image_and_the_versions(long: Past) -> None:
    jobs = [job for job in long.jobs if job.conclusion == "success" and "unit" in job.name]
    for job in chance("green").sample(jobs, 20):
        text = _text(long, job)
        assert DIGEST.search(text)
        assert re.search(r"Successfully installed .*numpy-\d+\.\d+\.\d+ .*transformers-\d", text)
        assert re.search(r"docker pull registry\.example\.org/sim/\S+:\S+", text)


def test_a_log_at_a_small_scale_tells_the_same_end_in_fewer_lines(long: Past) -> None:
    job = next(job for job in _failed(long, "author-bug") if "own-assert" in long.plots[job.id].failure)
    small, whole = render_log(long, job, 0.05).decode(), render_log(long, job).decode()
    assert small.count("\n") < whole.count("\n") / 4
    failed = next(line for line in whole.splitlines() if " FAILED tests/" in line and " - " in line)
    assert failed.partition(" ")[2] in small


def _of_culprits(past: Past, story: str) -> dict[tuple[int, ...], list[Job]]:
    found: dict[tuple[int, ...], list[Job]] = defaultdict(list)
    for job in _failed(past, story):
        found[past.truth(job.id).culprits].append(job)
    return found


@pytest.mark.parametrize(("story", "people"), [("broken-trunk", 1), ("concurrent-merge", 2)])
def test_main_breaks_with_the_merge_of_the_culprits_and_not_before(long: Past, story: str, people: int) -> None:
    pulls = {pull.number: pull for pull in long.pulls}
    runs = {run.id: run for run in long.attempts if run.run_attempt == 1}
    for culprits, jobs in _of_culprits(long, story).items():
        assert len(culprits) == people
        broken = max(_at(pulls[number].merged_at) for number in culprits)
        assert all(_at(runs[job.run_id].created_at) >= broken for job in jobs)


def test_the_first_run_of_main_with_a_broken_trunk_is_the_culprits_own_where_it_ran(long: Past) -> None:
    pulls = {pull.number: pull for pull in long.pulls}
    own = [job for job in _failed(long, "broken-trunk") if long.truth(job.id).cause is Cause.CODE]
    assert own
    for job in own:
        (culprit,) = long.truth(job.id).culprits
        assert job.head_sha == pulls[culprit].merge_commit_sha


def test_main_passes_again_after_the_fix(long: Past) -> None:
    for jobs in _of_culprits(long, "broken-trunk").values():
        last = max(_at(job.created_at) for job in jobs if job.run_attempt == 1)
        names = {(job.workflow_name, job.name) for job in jobs}
        later = [
            job
            for job in long.jobs
            if (job.workflow_name, job.name) in names and _at(job.created_at) > last and job.conclusion == "success"
        ]
        assert later or last > long.now - timedelta(days=2)


def test_an_image_update_shows_in_the_digest_of_failed_jobs_and_not_in_green_ones_before(long: Past) -> None:
    jobs = [job for job in _failed(long, "image-update") if has_log(job)]
    digests = Counter(match.group(1) for job in jobs[:60] if (match := DIGEST.search(_text(long, job))))
    assert digests
    for digest in digests:
        first = min(_at(job.started_at) for job in jobs if digest in _text(long, job))
        names = {(job.workflow_name, job.name) for job in jobs if digest in _text(long, job)}
        before = [
            job
            for job in long.jobs
            if (job.workflow_name, job.name) in names
            and job.conclusion == "success"
            and timedelta(hours=24) < first - _at(job.started_at) < timedelta(hours=72)
        ]
        assert all(digest not in _text(long, job) for job in before[:5])


def test_every_job_that_an_upstream_release_fails_resolved_it_and_no_green_one_of_its_name_did(long: Past) -> None:
    names: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for job in _failed(long, "upstream-release"):
        plot = long.plots[job.id]
        release = f"{plot.words['package']}-{plot.words['version']}"
        assert release in plot.around["versions"].split()
        names[release].add((job.workflow_name, job.name))
    assert len(names) >= 3
    for job in long.jobs:
        if job.conclusion == "success":
            resolved = set(long.plots[job.id].around["versions"].split())
            assert not [one for one in names.keys() & resolved if (job.workflow_name, job.name) in names[one]]


def test_only_the_legs_of_one_value_fail_and_others_pass_on_the_same_commit(long: Past) -> None:
    runs: dict[tuple[int, int], list[Job]] = defaultdict(list)
    for job in long.jobs:
        runs[job.run_id, job.run_attempt].append(job)
    failed = _failed(long, "matrix-leg")
    assert all("main" in job.name or "py3.12" in job.name for job in failed)
    passing = sum(
        any(other.conclusion == "success" and "v0.20.2" in other.name for other in runs[job.run_id, job.run_attempt])
        for job in failed
    )
    assert passing >= 0.8 * len(failed)


def test_a_sick_runner_fails_while_others_pass_the_same_job(long: Past) -> None:
    by_runner = Counter(job.runner_name for job in _failed(long, "sick-runner"))
    assert max(by_runner.values()) >= 5
    ways = defaultdict(set)
    for job in _failed(long, "sick-runner"):
        ways[job.runner_name].add(long.plots[job.id].failure)
    assert max(map(len, ways.values())) >= 3


def test_a_flaky_test_fails_seldom_and_passes_when_run_again(long: Past) -> None:
    again = {(job.run_id, job.name, job.run_attempt): job.conclusion for job in long.jobs}
    seconds = [
        again[job.run_id, job.name, job.run_attempt + 1]
        for job in _failed(long, "flaky")
        if (job.run_id, job.name, job.run_attempt + 1) in again
    ]
    assert len(seconds) >= 10
    assert seconds.count("success") >= 0.7 * len(seconds)


def test_jobs_of_a_crowded_pool_waited_long(long: Past) -> None:
    for job in _failed(long, "contention"):
        if job.runner_name:
            assert _at(job.started_at) - _at(job.created_at) >= timedelta(minutes=5)


def test_an_outage_meets_more_than_one_workflow_and_most_are_declared_late(long: Past) -> None:
    failed = _failed(long, "github-outage")
    assert len({job.workflow_name for job in failed}) >= 3
    assert any(not job.steps for job in failed)
    assert long.incidents
    starts = [_at(job.started_at) for job in failed]
    declared = [
        incident
        for incident in long.incidents
        if any(timedelta() <= incident.started_at - start <= timedelta(hours=1) for start in starts)
    ]
    assert declared


def test_authors_mend_their_bugs_or_give_up(long: Past) -> None:
    ends: dict[int, list[tuple[str, str | None]]] = defaultdict(list)
    bugs = {(job.head_sha, job.name) for job in _failed(long, "author-bug")}
    commits = {commit.sha: commit for commit in long.commits}
    for job in long.jobs:
        commit = commits[job.head_sha]
        if commit.pull is not None and commit.branch != "main":
            ends[commit.pull].append((job.head_sha, job.conclusion))
    pulls = {commits[sha].pull for sha, _ in bugs}
    merged = {pull.number for pull in long.pulls if pull.merged_at}
    assert 0.5 <= len(pulls & merged) / len(pulls) <= 0.98


def test_coincidences_happen(long: Past) -> None:
    stories: dict[int, set[str]] = defaultdict(set)
    for job in _failed(long):
        stories[job.run_id].add(long.truth(job.id).story)
    assert any({"author-bug"} < found for found in stories.values())
    commits = {commit.sha: commit for commit in long.commits}
    hit = [job for job in _failed(long, "broken-trunk") if long.truth(job.id).cause is Cause.INTERFERENCE]
    assert any(long.plots[job.id].words["file"] in commits[job.head_sha].files for job in hit)
    own = _failed(long, "author-bug")
    assert any(
        long.plots[job.id].words["file"] not in commits[job.head_sha].files
        and long.plots[job.id].words["test_file"] not in commits[job.head_sha].files
        for job in own
    )


def test_some_logs_are_lost_and_forks_name_no_pull_request(long: Past) -> None:
    assert 0.01 <= len(long.lost_logs) / len(long.jobs) <= 0.03
    assert any(long.log_expired(job) for job in long.jobs)
    authors = {pull.number: pull.author for pull in long.pulls}
    named: list[Run] = [run for run in long.attempts if run.pull_requests]
    assert named
    assert not {authors[run.pull_requests[0]] for run in named} & long.forks
    assert all(run.pull_requests == () for run in long.attempts if run.actor in long.forks)


def test_each_failure_of_the_long_table_has_a_text_or_no_step() -> None:
    for key, failure in MORE_FAILURES.items():
        assert failure_of(key) is failure
        if failure.at:
            assert failure_text(key)


def test_the_load_of_a_crowded_pool_is_high_and_usually_nobody_waits_long(long: Past) -> None:
    waits: dict[str, list[float]] = defaultdict(list)
    for load in long.loads:
        assert load.waiting >= 0
        assert load.running >= 0
        waits[load.pool].append(load.waiting)
    crowded = {job.labels[0] for job in _failed(long, "contention")}
    assert crowded
    for pool in crowded:
        assert max(waits[pool]) >= 5
        assert sorted(waits[pool])[len(waits[pool]) // 2] <= 1


def test_nobody_merges_with_a_bug_of_their_own(long: Past) -> None:
    commits = {commit.sha: commit for commit in long.commits}
    last = {commit.pull: commit.sha for commit in long.commits if commit.branch != "main"}
    merged = {pull.number for pull in long.pulls if pull.merged_at}
    for job in _failed(long, "author-bug"):
        pull = commits[job.head_sha].pull
        assert pull not in merged or last[pull] != job.head_sha


def test_the_simulated_github_serves_a_history() -> None:
    past = build_history(3, NOW, days=4, runs=250)
    with running(past, limit=1_000_000) as base, httpx2.Client(base_url=base, trust_env=False) as client:
        where = f"/repos/{past.full_name}"
        runs = client.get(f"{where}/actions/runs").json()
        assert runs["total_count"] == len({run.id for run in past.attempts})
        job = next(job for job in _failed(past) if has_log(job) and not past.log_expired(job))
        assert client.get(f"{where}/actions/jobs/{job.id}/logs", follow_redirects=True).content == render_log(past, job)
        lost = next(iter(past.lost_logs))
        assert client.get(f"{where}/actions/jobs/{lost}/logs", follow_redirects=True).status_code in (404, 410)
        assert client.get(f"{where}/actions/artifacts").json()["total_count"] > 10
        for failed in _failed(past)[:40]:
            assert client.get(f"{where}/check-runs/{failed.id}/annotations").status_code == 200


def test_a_history_is_the_same_in_another_process() -> None:
    program = (
        "from datetime import UTC, datetime\n"
        "from buildeye.simulator.histories import build_history\n"
        "past = build_history(5, datetime(2026, 5, 28, tzinfo=UTC), days=6, runs=300)\n"
        "print(past.jobs[-1].id, [(job.name, job.conclusion, str(job.started_at)) for job in past.jobs])\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
