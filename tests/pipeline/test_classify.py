"""Failures of one pass are judged together with each other and with what is known from before."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.logs.ruleset import load_ruleset
from buildeye.model import Cause, Determinism, Finding, Level, Run
from buildeye.pipeline.classify import Read, cancelled, classify
from buildeye.pipeline.metadata import Build, FailedJob, read_builds, write_builds
from buildeye.pipeline.recommend import recommend
from buildeye.triage.history import History
from buildeye.triage.results import Result
from buildeye.triage.thresholds import Thresholds
from tests.triage.cases import BEGAN, MINUTE, NOW, job, on_base, pull, run

LOG = """\
##[group]Run pytest tests
=================================== FAILURES ===================================
tests/test_layout.py:41: in test_layout_splits
E   AssertionError: assert 3 == 2
FAILED tests/test_layout.py::test_layout_splits - AssertionError: assert 3 == 2
========================= 1 failed, 20 passed in 3.21s =========================
##[error]Process completed with exit code 1.
"""
RULES = load_ruleset()


def _build(number: int, pr: int | None, *, log: str = LOG, hours: float = 0, **given: object) -> Build:
    """A failed run with one failed job; of the base branch without a pull request."""
    began = BEGAN + timedelta(hours=hours)
    event, branch = ("pull_request", f"topic-{pr}") if pr else ("push", "main")
    facts = {"id": number, "event": event, "head_branch": branch, "head_sha": f"{number:040}"} | given
    of = run(**facts, run_started_at=began, created_at=began)
    failed = job(
        id=number * 10, run_id=number, head_sha=of.head_sha, runner_name=f"runner-{number}", created_at=began,
        started_at=began + MINUTE, completed_at=began + 9 * MINUTE,
    )  # fmt: skip
    change = pull(number=pr, author=f"dev-{pr}") if pr else None
    return Build(of, "pr", (failed,), (FailedJob(failed, log_excerpt=log),), change)


def _told(builds: Sequence[Build], *known: Result) -> list[Finding]:
    return classify(builds, RULES, Thresholds(), NOW, around=lambda _: History(known))


def _cause(build: Build, *others: Build) -> Cause:
    found = _told([build, *others])
    return next(f.verdict.cause for f in found if f.run.id == build.run.id)


def test_a_failure_alone_is_the_changes_own() -> None:
    (finding,) = _told([_build(1, 101)])
    assert (finding.verdict.cause, finding.verdict.category) == (Cause.CODE, "test-failure")
    assert finding.related_pull_requests == ()


def test_a_pull_request_that_fails_as_the_base_branch_does_is_not_to_blame() -> None:
    assert _cause(_build(1, 101), _build(2, None, hours=-3)) is Cause.INTERFERENCE


@pytest.mark.parametrize(
    "given",
    [
        {"head_branch": "release"},
        {"event": "pull_request"},
        {"event": "pull_request_target"},
        {"event": ""},
    ],
    ids=["a push to another branch", "a fork's branch of that name", "the same, with secrets", "nobody knows what"],
)
def test_what_is_not_the_base_branch_excuses_nobody(given: dict[str, str]) -> None:
    assert _cause(_build(1, 101), _build(2, None, hours=-3, **given)) is not Cause.INTERFERENCE


def test_the_base_branch_has_the_name_that_is_set() -> None:
    builds = [_build(1, 101), _build(2, None, hours=-3, head_branch="trunk")]
    found = classify(builds, RULES, Thresholds(), NOW, base_branch="trunk")
    assert found[0].verdict.cause is Cause.INTERFERENCE


def test_a_pull_request_that_passes_this_pass_speaks_too() -> None:
    green = replace(_build(2, None, hours=-1), failed=())
    passed = Build(replace(green.run, conclusion="success"), "pr", (replace(green.jobs[0], conclusion="success"),))
    (finding,) = _told([_build(1, 101), passed])
    assert "base-passes" in [reason.id for reason in finding.verdict.reasons]


def test_pull_requests_that_fail_alike_name_each_other() -> None:
    found = _told([_build(9, None, hours=-3), *(_build(n, 100 + n) for n in (1, 2, 3))])[1:]
    assert [f.verdict.cause for f in found] == [Cause.INTERFERENCE] * 3
    assert [f.related_pull_requests for f in found] == [(102, 103), (101, 103), (101, 102)]


def test_merges_of_the_builds_are_those_of_their_pull_requests() -> None:
    broken = _build(3, 103, hours=-6)
    assert broken.pull_request is not None
    merged = replace(
        broken.pull_request,
        merged_at=BEGAN - timedelta(hours=4),
        merge_commit_sha="d" * 40,
        changed_files=("src/a.py",),
    )
    base = _build(2, None, hours=-3, head_sha="d" * 40)
    before = _build(4, None, hours=-5)
    green = replace(before.jobs[0], conclusion="success")
    passed = Build(replace(before.run, conclusion="success"), "pr", (green,))
    found = _told([_build(1, 101), base, passed, replace(broken, pull_request=merged)])
    verdict = next(f.verdict for f in found if f.run.id == 1)
    assert [(culprit.sha, culprit.pull_request) for culprit in verdict.culprits] == [("d" * 40, 103)]


def _known(of: Finding) -> Result:
    """The failure of the base branch as the warehouse has it."""
    base = _build(2, None, hours=-3)
    return on_base(
        2, -3, job_id=20, head_sha=base.run.head_sha, signature=of.verdict.signature, ended=base.jobs[0].completed_at,
        tests=of.jobs[0].diagnosis.tests,
    )  # fmt: skip


def test_what_is_known_besides_counts_and_no_run_counts_twice() -> None:
    first, base = _build(1, 101), _build(2, None, hours=-3)
    (alone,) = _told([first])
    (older,) = _told([first], _known(alone))
    assert older.verdict.cause is Cause.INTERFERENCE
    assert _told([first, base], _known(alone), _known(alone))[0].verdict == _told([first, base])[0].verdict


def test_what_is_known_besides_is_asked_once_for_all_failures() -> None:
    asked: list[Sequence[Read]] = []

    def around(reads: Sequence[Read]) -> History:
        asked.append(reads)
        return History()

    classify([_build(n, 100 + n) for n in (1, 2, 3)], RULES, Thresholds(), NOW, around=around)
    (reads,) = asked
    assert [read.job.id for read in reads] == [10, 20, 30]
    assert len({read.diagnosis.signature for read in reads}) == 1


def test_where_nothing_failed_nothing_is_asked() -> None:
    def around(_: Sequence[Read]) -> History:
        raise AssertionError

    assert classify([_build(1, 101, conclusion="success")], RULES, Thresholds(), NOW, around=around) == []


def test_a_job_that_passed_in_another_attempt_is_flaky() -> None:
    failed = _build(1, 101)
    green = replace(failed.jobs[0], id=99, conclusion="success", run_attempt=2)
    (finding,) = _told([replace(failed, jobs=(*failed.jobs, green))])
    assert finding.verdict.determinism is Determinism.FLAKY


def test_another_run_of_the_same_commit_speaks_too() -> None:
    failed = _build(1, 101)
    green = replace(failed.jobs[0], id=99, run_id=3, conclusion="success")
    passed = Build(replace(failed.run, id=3, conclusion="success"), "pr", (green,))
    (finding,) = _told([failed, passed])
    assert "same-commit-passed" in [reason.id for reason in finding.verdict.reasons]


@pytest.mark.parametrize("conclusion", ["success", "skipped", "neutral", "action_required", "stale", None])
def test_a_run_that_did_not_fail_yields_nothing_even_with_a_failed_job(conclusion: str | None) -> None:
    assert _told([_build(1, 101, conclusion=conclusion)]) == []


def test_a_cancelled_run_yields_nothing_unless_a_job_had_failed() -> None:
    failed = _build(1, 101, conclusion="cancelled")
    stopped = Build(failed.run, "pr", (replace(failed.jobs[0], conclusion="cancelled"),))
    assert _told([stopped]) == []
    assert [kind for _, kind in cancelled([stopped])] == ["by-user"]
    (finding,) = _told([failed])
    assert finding.verdict.cause is Cause.CODE
    assert cancelled([failed]) == []


def test_a_superseded_run_is_counted_as_such() -> None:
    def stopped(number: int, conclusion: str, hours: float) -> Build:
        build = _build(number, 101, conclusion=conclusion, hours=hours)
        return Build(build.run, "pr")

    builds = [stopped(1, "cancelled", 0), stopped(2, "success", 1), stopped(3, "cancelled", 2)]
    assert [(b.run.id, kind) for b, kind in cancelled(builds)] == [(1, "superseded"), (3, "by-user")]


def test_a_failed_run_without_a_known_job_is_unknown() -> None:
    (finding,) = _told([Build(run(), "pr")])
    assert (finding.verdict.cause, finding.verdict.level) == (Cause.UNKNOWN, Level.NONE)
    (advised,) = recommend([finding])
    assert advised.suggestions[0].title.startswith("A person has to look")


def test_only_the_last_attempt_is_judged() -> None:
    failed = _build(1, 101)
    first, second = failed.jobs[0], replace(failed.jobs[0], id=12, name="lint", run_attempt=2)
    (finding,) = _told([Build(replace(failed.run, run_attempt=2), "pr", (first, second))])
    assert [told.job.id for told in finding.jobs] == [12]


LOST = {
    "gone": (None, "GitHub no longer has its log"),
    "not where it was": (Path("nowhere/1.log.zst"), "no such file"),
}


@pytest.mark.parametrize(("log_file", "said"), LOST.values(), ids=LOST.keys())
def test_a_log_that_is_not_there_leaves_an_unknown_that_says_so(log_file: Path | None, said: str) -> None:
    build = _build(1, 101)
    lost = FailedJob(build.jobs[0], log_file=log_file, log_state="GitHub no longer has its log")
    (finding,) = _told([replace(build, failed=(lost,))])
    assert finding.verdict.cause is Cause.UNKNOWN
    assert said in finding.jobs[0].diagnosis.summary


def test_a_diagnosis_does_not_tell_where_this_machine_keeps_the_log(tmp_path: Path) -> None:
    build = _build(1, 101)
    kept = tmp_path / "10.log"
    kept.write_text(LOG)
    (finding,) = _told([replace(build, failed=(FailedJob(build.jobs[0], log_file=kept),))])
    assert finding.jobs[0].diagnosis.log == "job 10"
    assert str(tmp_path) not in repr(finding)


def test_metadata_is_read_as_it_was_written(tmp_path: Path) -> None:
    builds = [_build(1, 101), _build(2, None)]
    write_builds(tmp_path / "a.json", builds)
    once = read_builds(tmp_path / "a.json")
    write_builds(tmp_path / "b.json", once)
    assert read_builds(tmp_path / "b.json") == once
    assert [f.verdict for f in _told(once)] == [f.verdict for f in _told(builds)]


@pytest.mark.parametrize("written", ["2026-05-28T06:00:00", "2026-05-28T06:00:00Z", "2026-05-28T08:00:00+02:00"])
def test_times_are_in_utc_however_they_are_written(written: str, tmp_path: Path) -> None:
    workflow_run = {"id": 1, "name": "E2E", "created_at": written}
    (tmp_path / "a.json").write_text(json.dumps([{"run_id": 1, "workflow_run": workflow_run}]))
    (build,) = read_builds(tmp_path / "a.json")
    assert build.run.created_at == BEGAN
    assert build.run.created_at.tzinfo is UTC


RUNS: list[Build] = [
    _build(1, 101), _build(2, 102, hours=1), _build(3, 103, hours=-2), _build(4, None, hours=-4), _build(5, None),
    _build(6, 104, log="nothing known\n##[error]Process completed with exit code 3.\n"),
    _build(7, 105, conclusion="cancelled"), _build(8, 106, conclusion="success"),
]  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(st.permutations(RUNS))
def test_the_order_in_which_runs_come_does_not_matter(shuffled: list[Build]) -> None:
    def by_id(findings: list[Finding]) -> list[Finding]:
        return sorted(findings, key=lambda finding: finding.run.id)

    assert by_id(_told(shuffled)) == by_id(_told(RUNS))


def test_findings_come_in_the_order_of_their_runs() -> None:
    runs: list[Run] = [finding.run for finding in _told(RUNS)]
    assert [r.id for r in runs] == [1, 2, 3, 4, 5, 6, 7]
