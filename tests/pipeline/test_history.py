"""What judging asks of a real warehouse: what says something of a failure, and nothing from after `now`."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from buildeye.config import Settings
from buildeye.model import Cause, Diagnosis, Job, PersonVerdict, PullRequest, Run
from buildeye.pipeline.history import history_around, subjects_between, thresholds_of, window_of
from buildeye.triage.history import History
from buildeye.triage.judge import judge
from buildeye.triage.results import Merge, Result
from buildeye.warehouse import JobDiagnosis, JobEnvironment, Warehouse, open_warehouse
from tests.triage.cases import (
    BEGAN,
    MINUTE,
    NOW,
    OTHER,
    POOL,
    SIGNATURE,
    at,
    diagnosis,
    incident,
    job,
    pull,
    run,
    sha_of,
    thing,
)
from tests.warehouse.conftest import empty

REPOSITORY = "octo/app"
SETTINGS = Settings.model_validate({"target_repository": {"owner": "octo", "repo": "app"}})
MAIN: dict[str, Any] = {"event": "push", "head_branch": "main"}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('history')}") as warehouse:
        yield warehouse


@pytest.fixture
def warehouse(opened: Warehouse) -> Warehouse:
    empty(opened)
    return opened


Fact = tuple[Run, Job, Diagnosis | None]


def _fact(
    number: int, hours: float = 0, says: Diagnosis | None = None, of_job: dict[str, Any] | None = None, **of_run: Any
) -> Fact:
    """A run with one job that failed twenty minutes after it was created; with a diagnosis when its log was read."""
    facts = {
        "id": number, "head_sha": sha_of(number), "head_branch": f"topic-{number}", "created_at": at(hours),
        "run_started_at": at(hours), "updated_at": at(hours) + 20 * MINUTE, "repository_full_name": REPOSITORY,
    }  # fmt: skip
    built = run(**(facts | of_run))
    ran = {
        "id": number * 10, "run_id": number, "workflow_name": built.name, "head_sha": built.head_sha,
        "head_branch": built.head_branch, "created_at": at(hours), "started_at": at(hours) + MINUTE,
        "completed_at": at(hours) + 20 * MINUTE, "repository_full_name": REPOSITORY,
    }  # fmt: skip
    return built, job(**(ran | (of_job or {}))), says


def _keep(warehouse: Warehouse, *facts: Fact) -> None:
    warehouse.write_runs([built for built, _, _ in facts])
    warehouse.write_jobs([done for _, done, _ in facts])
    warehouse.write_diagnoses(
        [JobDiagnosis(REPOSITORY, built.id, done.id, says, NOW) for built, done, says in facts if says is not None]
    )


def _pull(number: int, branch: str, author: str, **given: Any) -> PullRequest:
    facts = {
        "number": number, "head_ref": branch, "author": author, "base_ref": "main", "created_at": at(-90),
        "updated_at": at(-1), "repository_full_name": REPOSITORY,
    }  # fmt: skip
    return pull(**(facts | given))


def _known(warehouse: Warehouse, hours: float = 6, since: float = 0, settings: Settings = SETTINGS) -> History:
    """What is known some hours after the run to judge was created, around what ended in the hour after `since`."""
    return history_around(warehouse, settings, at(since), at(since + 1), at(hours))


def _by_run(known: History) -> dict[int, Result]:
    return {result.run_id: result for result in known.results}


def test_an_empty_warehouse_knows_nothing(warehouse: Warehouse) -> None:
    known = _known(warehouse)
    assert not any((known.results, known.merges, known.incidents, known.loads, known.things, known.said))
    assert (known.since, known.until) == (None, None)
    assert subjects_between(warehouse, SETTINGS, at(0), at(1)) == []


def test_a_result_says_what_the_facts_and_the_diagnosis_say(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([_pull(7, "topic-1", "dev-7")])
    tests = ("tests/test_a.py::test_b",)
    _keep(warehouse, _fact(1, says=diagnosis(tests=tests), pull_requests=(7,)))
    assert _known(warehouse).results == [
        Result(
            10, 1, 1, "E2E", "unit", sha_of(1), "failure", BEGAN, BEGAN + 20 * MINUTE, False, 7, "dev-7", SIGNATURE,
            "code", "test-failure", tests, "runner-1", POOL, MINUTE, BEGAN + MINUTE, "topic-1",
        )
    ]  # fmt: skip


BASES: dict[str, tuple[dict[str, Any], bool]] = {
    "a push": (MAIN, True),
    "a schedule": (MAIN | {"event": "schedule"}, True),
    "a fork's branch of that name": (MAIN | {"event": "pull_request"}, False),
    "the same, with secrets": (MAIN | {"event": "pull_request_target"}, False),
    "another branch": ({"event": "push"}, False),
}


def test_only_what_builds_the_base_branch_is_on_it(warehouse: Warehouse) -> None:
    _keep(warehouse, *(_fact(number, **of_run) for number, (of_run, _) in enumerate(BASES.values())))
    found = _by_run(_known(warehouse))
    told = {name: found[number].on_base for number, name in enumerate(BASES)}
    assert told == {name: on_base for name, (_, on_base) in BASES.items()}


def test_the_base_branch_has_the_name_that_is_set(warehouse: Warehouse) -> None:
    _keep(warehouse, _fact(1, event="push", head_branch="trunk"))
    trunk = {"target_repository": {"owner": "octo", "repo": "app", "branch": "trunk"}}
    assert _by_run(_known(warehouse, settings=Settings.model_validate(trunk)))[1].on_base


FORKS: dict[str, tuple[dict[str, Any], int | None]] = {
    "its branch and its author": ({}, 9),
    "its branch by somebody else": ({"actor": "octocat"}, None),
    "another branch of its author": ({"head_branch": "other"}, None),
    "a push to a branch of that name": ({"event": "push"}, None),
    "what GitHub names itself": ({"pull_requests": (7,)}, 7),
}


def test_a_fork_is_known_by_its_branch_and_its_author(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests(
        [_pull(7, "topic", "dev-7"), _pull(8, "patch", "dev-fork", created_at=at(-95)), _pull(9, "patch", "dev-fork")]
    )
    fork = {"head_branch": "patch", "actor": "dev-fork"}
    _keep(warehouse, *(_fact(n, **(fork | of_run)) for n, (of_run, _) in enumerate(FORKS.values())))
    expected = dict(enumerate(number for _, number in FORKS.values()))
    subjects = subjects_between(warehouse, SETTINGS, at(0), at(1))
    assert {s.run.id: s.pull_request.number if s.pull_request else None for s in subjects} == expected
    assert {run_id: each.pull_request for run_id, each in _by_run(_known(warehouse)).items()} == expected


def test_a_subject_is_the_same_as_the_result_of_its_job(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([_pull(7, "topic-1", "dev-7"), _pull(9, "patch", "dev-fork")])
    _keep(
        warehouse,
        _fact(1, says=diagnosis(tests=("tests/test_a.py::test_b",)), pull_requests=(7,)),
        _fact(2, head_branch="patch", actor="dev-fork"),
        _fact(3, says=diagnosis(signature=OTHER), **MAIN),
        _fact(4, of_job={"conclusion": "cancelled", "runner_name": "", "started_at": None}, pull_requests=(7,)),
        _fact(5, says=diagnosis(signature="network.reset"), event="push"),
    )
    results = _by_run(_known(warehouse))
    subjects = subjects_between(warehouse, SETTINGS, at(0), at(1))
    assert [subject.run.id for subject in subjects] == [1, 2, 3, 4, 5]
    for subject in subjects:
        said = {} if subject.run.id in (1, 3, 5) else {"signature": "", "cause": "", "category": ""}
        assert replace(subject.own, **said) == results[subject.run.id]  # type: ignore[arg-type]  # a table of fields


CONCLUSIONS = {
    "success": True,
    "failure": True,
    "timed_out": True,
    "cancelled": True,
    "skipped": False,
    "neutral": False,
}


def test_jobs_that_were_stopped_count_and_those_that_tried_nothing_do_not(warehouse: Warehouse) -> None:
    _keep(warehouse, *(_fact(n, of_job={"conclusion": conclusion}) for n, conclusion in enumerate(CONCLUSIONS, 1)))
    assert {each.conclusion for each in _known(warehouse).results} == {c for c, counts in CONCLUSIONS.items() if counts}
    judged = {subject.own.conclusion for subject in subjects_between(warehouse, SETTINGS, at(0), at(1))}
    assert judged == {"failure", "timed_out", "cancelled"}


GREEN: dict[str, Any] = {"conclusion": "success"}
ELSEWHEN: dict[str, tuple[float, dict[str, Any], bool]] = {
    "any job the day before": (-23, {"of_job": GREEN | {"name": "lint"}}, True),
    "any job three days before": (-72, {"of_job": GREEN | {"name": "lint"}}, False),
    "the same job on the base branch, weeks before": (-24 * 20, MAIN | {"of_job": GREEN}, True),
    "the same job on the base branch, longer before than is asked": (-24 * 22, MAIN | {"of_job": GREEN}, False),
    "the same job of another pull request, three days before": (-72, {"of_job": GREEN}, False),
    "another job on the base branch, three days before": (-72, MAIN | {"of_job": GREEN | {"name": "lint"}}, False),
    "the same commit, three days before": (-72, {"of_job": GREEN, "head_sha": sha_of(1)}, True),
    "the same job of the same branch, three days before": (-72, {"of_job": GREEN, "head_branch": "topic-1"}, True),
    "an equal failure, weeks before": (-24 * 20, {"says": diagnosis()}, True),
    "a failure with a test in common, weeks before": (
        -24 * 20, {"says": diagnosis(signature=OTHER, tests=("t.py::a", "t.py::c"))}, True,
    ),
    "another failure, weeks before": (-24 * 20, {"says": diagnosis(signature=OTHER)}, False),
}  # fmt: skip


def test_what_says_something_of_a_failure_is_brought_and_nothing_else(warehouse: Warehouse) -> None:
    others = {name: _fact(n, hours, **given) for n, (name, (hours, given, _)) in enumerate(ELSEWHEN.items(), 2)}
    _keep(warehouse, _fact(1, says=diagnosis(tests=("t.py::a", "t.py::b"))), *others.values())
    known = _known(warehouse)
    brought = _by_run(known)
    told = {name for name, (built, _, _) in others.items() if built.id in brought}
    assert told == {name for name, (_, _, told) in ELSEWHEN.items() if told}
    assert (known.since, known.until) == (at(-24 * 20) + 20 * MINUTE, at(0) + 20 * MINUTE)


def test_a_signature_that_names_no_failure_brings_nothing(warehouse: Warehouse) -> None:
    nameless = diagnosis(signature="no-log|unit|Run tests")
    _keep(warehouse, _fact(1, says=nameless), _fact(2, -100, nameless))
    assert _by_run(_known(warehouse)).keys() == {1}


def test_what_happened_after_now_is_left_out(warehouse: Warehouse) -> None:
    _keep(warehouse, _fact(1, says=diagnosis()), _fact(2, 2, diagnosis(), **MAIN))
    warehouse.write_pull_requests([_pull(5, "a", "dev-5", merged_at=at(2), merge_commit_sha=sha_of(5))])
    warehouse.write_incidents([incident(2, None, updated=3)])
    warehouse.write_environments([JobEnvironment(REPOSITORY, 3, 30, [thing("git", "2.51.0")], at(3))])
    _keep(warehouse, _fact(3, 2, of_job=GREEN))
    warehouse.write_person_verdicts(
        [PersonVerdict(REPOSITORY, 1, 0, Cause.CODE, "", "it is", "alice", at(2) + 30 * MINUTE)]
    )
    early, late = _known(warehouse, 1), _known(warehouse, 6)
    assert _by_run(early).keys() == {1}
    assert (early.merges, early.incidents, early.things, early.said) == ([], [], {}, {})
    assert _by_run(late).keys() == {1, 2, 3}
    assert all((late.merges, late.incidents, late.things, late.said))


def test_merges_come_with_what_they_changed(warehouse: Warehouse) -> None:
    merged = {"merged_at": at(-2), "merge_commit_sha": sha_of(5), "head_sha": "h" * 40, "title": "Turn"}
    warehouse.write_pull_requests(
        [
            _pull(5, "a", "dev-5", changed_files=("src/a.py",), **merged),
            _pull(6, "b", "dev-6", **(merged | {"merge_commit_sha": None, "merged_at": None})),
            _pull(4, "c", "dev-4", base_ref="release", **merged),
            _pull(3, "d", "dev-3", **(merged | {"merged_at": at(-24 * 22)})),
        ]
    )
    assert _known(warehouse).merges == [Merge(sha_of(5), at(-2), 5, "dev-5", "Turn", "h" * 40, ("src/a.py",))]


def test_incidents_around_the_failures_are_told(warehouse: Warehouse) -> None:
    warehouse.write_incidents(
        [
            replace(incident(-1, 1), id="now"),
            replace(incident(-40, -20), id="before"),
            replace(incident(-40, 1), id="long"),
        ]
    )
    assert [each.id for each in _known(warehouse).incidents] == ["long", "now"]


def test_what_failures_and_passes_of_the_same_job_ran_in_is_told(warehouse: Warehouse) -> None:
    git, npu = thing("git", "2.51.0", "tool"), thing("npu", "sha256:aaaa", "image")
    _keep(
        warehouse,
        _fact(1, says=diagnosis()),
        _fact(2, -100, of_job=GREEN),
        _fact(3, -100, of_job=GREEN | {"name": "lint"}),
        _fact(4, -24 * 22, of_job=GREEN),
    )
    for number in (1, 2, 3, 4):
        warehouse.write_environments([JobEnvironment(REPOSITORY, number, number * 10, [git, npu], NOW)])
    assert {number: set(things) for number, things in _known(warehouse).things.items()} == {
        10: {git, npu}, 20: {git, npu},
    }  # fmt: skip


def test_what_people_said_is_told_by_the_signature_of_what_they_spoke_of(warehouse: Warehouse) -> None:
    _keep(warehouse, _fact(1, says=diagnosis()), _fact(2, -50, diagnosis()), _fact(3, -50, diagnosis(signature=OTHER)))
    said = PersonVerdict(REPOSITORY, 2, 0, Cause.INFRASTRUCTURE, "network", "the proxy", "alice", at(-40))
    warehouse.write_person_verdicts([said, replace(said, run_id=3, person="bob", withdrawn=True)])
    told = _known(warehouse).said
    assert told.keys() == {SIGNATURE}
    ((word,),) = told.values()
    assert (word.cause, word.category, word.person, word.at, word.run_id) == (
        Cause.INFRASTRUCTURE, "network", "alice", at(-40), 2,
    )  # fmt: skip


def test_subjects_come_with_their_run_diagnosis_and_pull_request(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([_pull(7, "topic-1", "dev-7", changed_files=("src/a.py",))])
    _keep(warehouse, _fact(1, says=diagnosis(), pull_requests=(7,)), _fact(2), _fact(3, 5))
    warehouse.write_jobs([job(id=40, run_id=4, completed_at=at(0.5), repository_full_name=REPOSITORY)])
    read, unread = subjects_between(warehouse, SETTINGS, at(0), at(1))
    assert read.diagnosis == diagnosis()
    assert read.pull_request is not None and read.pull_request.changed_files == ("src/a.py",)
    assert unread.pull_request is None
    assert unread.diagnosis.summary.endswith("its log was not read.")


def test_a_broken_trunk_is_seen_in_what_the_warehouse_holds(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests(
        [
            _pull(7, "topic-1", "dev-7"),
            _pull(5, "a", "dev-5", merged_at=at(-3), merge_commit_sha=sha_of(51)),
            _pull(4, "b", "dev-4", merged_at=at(-9), merge_commit_sha=sha_of(50)),
        ]
    )
    _keep(
        warehouse,
        _fact(50, -8.9, of_job=GREEN, **MAIN),
        _fact(51, -2.9, diagnosis(), **MAIN),
        _fact(52, -2, diagnosis(), **MAIN),
        _fact(1, says=diagnosis(), pull_requests=(7,)),
    )
    (subject,) = subjects_between(warehouse, SETTINGS, at(0), at(1))
    verdict = judge(subject, _known(warehouse), thresholds_of(SETTINGS), NOW, window=window_of(SETTINGS))
    assert (verdict.cause, verdict.category) == (Cause.INTERFERENCE, "broken-trunk")
    assert [culprit.pull_request for culprit in verdict.culprits] == [5]


def test_windows_and_thresholds_are_settings() -> None:
    given = {
        "related_hours_before": 5, "related_hours_after": 2, "known_flaky_window_days": 9,
        "confidence_thresholds": {"high": 0.8, "medium": 0.6, "low": 0.4},
    }  # fmt: skip
    settings = Settings.model_validate({"classification": given})
    window, thresholds = window_of(settings), thresholds_of(settings)
    assert (window.before, window.after, window.known) == (timedelta(hours=5), timedelta(hours=2), timedelta(days=9))
    assert (thresholds.high, thresholds.medium, thresholds.low) == (0.8, 0.6, 0.4)
