"""What CI says of a commit: runs, failed jobs, our judgement of them and what people said instead."""

import dataclasses
from typing import Any

import pytest

from buildeye.insight.commits import CommitStory, FailedJob, RunOfCommit, stories_of, story_of
from buildeye.model import Cause, PersonVerdict, Run
from buildeye.warehouse import Warehouse

from .facts import REPOSITORY, a_job, a_run, a_saying, a_verdict, at

SHA = "a" * 40
OTHER = "a" * 12 + "b" * 28


def of_workflow(name: str, number: int, **changes: Any) -> Run:
    """A run of a workflow of that name."""
    begun = changes.pop("created", 0.0)
    run = a_run(number, **{"conclusion": "success", **changes})
    return dataclasses.replace(run, name=name, workflow_id=sum(map(ord, name)), created_at=at(begun))


def test_a_commit_without_runs_is_neither_green_nor_red(embedded: Warehouse) -> None:
    story = story_of(embedded, REPOSITORY, "3d91e02c55aa9b20")
    assert (story.green, story.sentence) == (None, "no runs known of 3d91e02")


@pytest.mark.parametrize("sha", ["", "aaaaaa", "  "])
def test_a_name_too_short_to_mean_one_commit_is_not_asked_for(sha: str, embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1)])
    assert story_of(embedded, REPOSITORY, sha).runs == ()


def test_all_runs_passed(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1), of_workflow("lint", 2), of_workflow("docs", 3)])
    story = story_of(embedded, REPOSITORY, SHA)
    assert (story.green, story.sentence) == (True, "3 of 3 runs green")


def test_a_skipped_run_says_nothing_of_the_commit(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1), of_workflow("nightly", 2, conclusion="skipped")])
    story = story_of(embedded, REPOSITORY, SHA)
    assert (story.green, story.sentence) == (True, "1 of 1 run green")


def test_a_run_that_is_not_over_or_was_cancelled_leaves_it_open(embedded: Warehouse) -> None:
    runs = [
        of_workflow("ci", 1), of_workflow("lint", 2, status="in_progress", conclusion=None),
        of_workflow("docs", 3, conclusion="cancelled"),
    ]  # fmt: skip
    embedded.write_runs(runs)
    story = story_of(embedded, REPOSITORY, SHA)
    assert (story.green, story.sentence) == (None, "1 of 3 runs green, 1 still running, 1 cancelled")


def test_the_latest_attempt_and_the_newest_run_of_a_workflow_count(embedded: Warehouse) -> None:
    embedded.write_runs(
        [
            of_workflow("ci", 1, conclusion="failure"), of_workflow("ci", 1, attempt=2, updated=60),
            of_workflow("lint", 2, conclusion="failure"), of_workflow("lint", 3, created=5),
        ]
    )  # fmt: skip
    embedded.write_jobs([a_job(11, run=1), a_job(12, run=2)])
    story = story_of(embedded, REPOSITORY, SHA)
    assert (story.green, story.failed, story.sentence) == (True, (), "2 of 2 runs green")


def test_what_failed_is_told_with_our_judgement(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1, conclusion="failure"), of_workflow("lint", 2)])
    embedded.write_jobs([a_job(11, run=1), a_job(12, run=1, name="docs"), a_job(13, run=1, conclusion="success")])
    embedded.write_verdicts([a_verdict(11, run=1)], REPOSITORY)
    story = story_of(embedded, REPOSITORY, SHA)
    assert (story.green, story.excused) == (False, False)
    assert story.sentence == "1 of 2 runs failed: unit (3.12) (code); docs (unknown)"


SAID: list[tuple[str, list[PersonVerdict], dict[int, str]]] = [
    ("a word about the job", [a_saying(11, run=1, person="ops")], {11: "ops", 12: ""}),
    ("a word about the run", [a_saying(0, run=1, person="ops")], {11: "ops", 12: "ops"}),
    ("both: the job's counts", [a_saying(0, run=1, person="a"), a_saying(11, run=1, person="b")], {11: "b", 12: "a"}),
    ("a word taken back", [a_saying(11, run=1, withdrawn=True)], {11: "", 12: ""}),
    ("taken back, the run's is left", [a_saying(0, run=1, person="a"), a_saying(11, run=1, withdrawn=True)],
     {11: "a", 12: "a"}),
    ("said before the job began, as of a re-run", [a_saying(0, run=1, said=1)], {11: "", 12: ""}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "by"), [each[1:] for each in SAID], ids=[each[0] for each in SAID])
def test_the_word_that_counts_is_the_one_verdicts_say(
    words: list[PersonVerdict], by: dict[int, str], embedded: Warehouse
) -> None:
    embedded.write_runs([of_workflow("ci", 1, conclusion="failure")])
    embedded.write_jobs([a_job(11, run=1), a_job(12, run=1, name="docs")])
    embedded.write_verdicts([a_verdict(11, run=1), a_verdict(12, run=1)], REPOSITORY)
    embedded.write_person_verdicts(words)
    assert {job.job_id: job.said_by for job in story_of(embedded, REPOSITORY, SHA).failed} == by


def test_overruled_is_what_a_person_judged_otherwise_and_excused_when_nothing_is_left(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1, conclusion="failure"), of_workflow("lint", 2), of_workflow("docs", 3)])
    embedded.write_jobs([a_job(11, run=1)])
    embedded.write_verdicts([a_verdict(11, run=1)], REPOSITORY)
    embedded.write_person_verdicts([a_saying(11, run=1, person="ops")])
    story = story_of(embedded, REPOSITORY, SHA)
    assert story.sentence == "1 of 3 runs failed: unit (3.12), overruled as infrastructure by ops"
    assert (story.green, story.excused, len(story.overruled)) == (False, True, 1)


def test_a_person_who_agrees_confirms_and_excuses_nothing(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1, conclusion="failure")])
    embedded.write_jobs([a_job(11, run=1)])
    embedded.write_verdicts([a_verdict(11, run=1)], REPOSITORY)
    embedded.write_person_verdicts([a_saying(11, run=1, cause=Cause.CODE, category="", person="dev")])
    story = story_of(embedded, REPOSITORY, SHA)
    assert story.sentence == "1 of 1 run failed: unit (3.12), confirmed as code by dev"
    assert (story.overruled, story.excused) == ((), False)


def test_a_run_that_failed_without_a_failed_job_stands_for_itself(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1, conclusion="startup_failure")])
    embedded.write_person_verdicts([a_saying(0, run=1, person="ops")])
    assert story_of(embedded, REPOSITORY, SHA).sentence == "1 of 1 run failed: ci, overruled as infrastructure by ops"


def test_a_shortened_name_finds_its_commit_unless_it_fits_two(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1)])
    assert story_of(embedded, REPOSITORY, SHA[:7].upper()).sha == SHA
    embedded.write_runs([dataclasses.replace(of_workflow("ci", 2), head_sha=OTHER)])
    story = story_of(embedded, REPOSITORY, SHA[:7])
    assert (story.green, story.sentence) == (None, "aaaaaaa names 2 commits; give more of its name")


def test_many_commits_are_one_question(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1), dataclasses.replace(of_workflow("ci", 2), head_sha=OTHER)])
    stories = stories_of(embedded, REPOSITORY, [SHA, OTHER, "c" * 40, "", OTHER[:20]])
    assert {name: story.green for name, story in stories.items()} == {
        SHA: True, OTHER: True, "c" * 40: None, "": None, OTHER[:20]: True,
    }  # fmt: skip


def test_another_repositorys_runs_and_words_are_not_of_this_commit(embedded: Warehouse) -> None:
    embedded.write_runs([of_workflow("ci", 1, repository="octo/other", conclusion="failure")])
    assert story_of(embedded, REPOSITORY, SHA).runs == ()


def test_the_sentence_names_three_failures_and_counts_the_others() -> None:
    failed = tuple(FailedJob(f"leg {i}", cause="code") for i in range(5))
    runs = (RunOfCommit(1, "ci", "push", "completed", "failure", failed=failed),)
    assert CommitStory(REPOSITORY, SHA, runs).sentence == (
        "1 of 1 run failed: leg 0 (code); leg 1 (code); leg 2 (code); 2 more"
    )
