"""A person's word wins over our own judgement, and which of several words counts does not hang on their order."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.model import CATEGORIES, Cause, Culprit, Determinism, Level, MergeRange, PersonVerdict, Reason
from buildeye.triage.judge import speak_for_run
from buildeye.triage.people import OVERRULED, SAID, category_for, overruled, said_of, word_of
from tests.triage.cases import BEGAN, again, job, judged, on_base, passed


def said(hours: float = 1, job_id: int = 0, **fields: object) -> PersonVerdict:
    """What a person said of run 1, `hours` after it began."""
    facts: dict[str, object] = {
        "repository_full_name": "octo/widgets", "run_id": 1, "job_id": job_id, "cause": Cause.INFRASTRUCTURE,
        "category": "", "why": "the host lost its disk", "person": "octocat", "said_at": BEGAN + timedelta(hours=hours),
    }  # fmt: skip
    return PersonVerdict(**(facts | fields))  # type: ignore[arg-type]  # a table of fields


def test_a_persons_word_wins_and_is_sure_of_itself() -> None:
    ours = judged()
    verdict = overruled(ours, said(category="disk-full"))
    assert (verdict.cause, verdict.category) == (Cause.INFRASTRUCTURE, "disk-full")
    assert (verdict.confidence, verdict.level, verdict.person) == (1.0, Level.HIGH, "octocat")
    assert (verdict.run_id, verdict.job_id, verdict.signature) == (ours.run_id, ours.job_id, ours.signature)


def test_the_word_is_the_first_reason_and_ours_follow_as_what_we_thought() -> None:
    ours = judged(on_base())
    first, thought, *rest = overruled(ours, said()).reasons
    assert first == Reason("person", SAID, "octocat", "the host lost its disk", weight=0)
    assert (thought.id, thought.quote) == (OVERRULED, f"interference / broken-trunk, {ours.confidence * 100:.0f} %")
    assert tuple(rest) == ours.reasons != ()


def test_who_agrees_with_us_overrules_nothing() -> None:
    verdict = overruled(judged(), said(cause=Cause.CODE))
    assert [reason.id for reason in verdict.reasons if reason.kind == "person"] == [SAID]
    assert verdict.category == "test-failure"


def test_whether_the_same_commit_fails_again_stays_as_it_was_seen() -> None:
    flaky = judged(passed(again()))
    assert flaky.determinism is Determinism.FLAKY
    assert overruled(flaky, said()).determinism is Determinism.FLAKY


@pytest.mark.parametrize("cause", Cause)
def test_who_brought_it_stays_only_when_it_is_interference(cause: Cause) -> None:
    ours = replace(
        judged(), merge_range=MergeRange("a", "b", 2), culprits=(Culprit("b", 0.8, "it"),), related_pull_requests=(7,)
    )
    verdict = overruled(ours, said(cause=cause))
    kept = (verdict.merge_range, verdict.culprits, verdict.related_pull_requests)
    assert kept == ((ours.merge_range, ours.culprits, (7,)) if cause is Cause.INTERFERENCE else (None, (), ()))


@pytest.mark.parametrize(
    ("cause", "ours", "taken"),
    [
        (Cause.CODE, "lint", "lint"),
        (Cause.INFRASTRUCTURE, "lint", "runner-host"),
        (Cause.INFRASTRUCTURE, "disk-full", "disk-full"),
        (Cause.CONFIGURATION, "disk-full", "workflow"),
        (Cause.CODE, "a-category-of-a-pack", "test-failure"),
        (Cause.UNKNOWN, "lint", "unknown"),
        (Cause.NONE, "lint", "none"),
    ],
)
def test_a_category_nobody_named_is_ours_if_it_belongs_to_the_cause(cause: Cause, ours: str, taken: str) -> None:
    assert category_for(cause, ours) == taken


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_general_category_of_its_own(cause: Cause) -> None:
    assert category_for(cause, "") in CATEGORIES[cause]


def test_nobodys_word_is_none() -> None:
    assert word_of(judged()) is None
    assert word_of(overruled(judged(), said())) == Reason("person", SAID, "octocat", "the host lost its disk")


ABOUT_RUN, ABOUT_JOB = said(3), said(1, job_id=11, cause=Cause.CODE)


@pytest.mark.parametrize(
    ("given_words", "counts"),
    [
        ([], None),
        ([ABOUT_RUN], ABOUT_RUN),
        ([ABOUT_RUN, ABOUT_JOB], ABOUT_JOB),
        ([said(1), said(2, why="later")], said(2, why="later")),
        ([said(1), said(2, withdrawn=True)], None),
        ([said(1, withdrawn=True), said(2)], said(2)),
        ([ABOUT_RUN, ABOUT_JOB, replace(ABOUT_JOB, said_at=BEGAN + timedelta(hours=9), withdrawn=True)], ABOUT_RUN),
        ([said(1, job_id=12)], None),
        ([said(1, run_id=2), said(1, run_id=2, job_id=11)], None),
        ([said(-1)], None),
        ([said(-1, job_id=11)], said(-1, job_id=11)),
    ],
    ids=[
        "nobody spoke", "the run", "the job beats the run", "the later", "taken back", "said again",
        "of the job taken back", "another job", "another run", "the run, before the job began", "the job, early",
    ],
)  # fmt: skip
def test_which_word_counts_for_a_job(given_words: Sequence[PersonVerdict], counts: PersonVerdict | None) -> None:
    assert said_of(job(started_at=BEGAN), given_words) == counts


WORDS = st.builds(
    said,
    st.sampled_from([-1, 1, 2, 3]),
    st.sampled_from([0, 11, 12]),
    run_id=st.sampled_from([1, 2]),
    cause=st.sampled_from(list(Cause)),
    person=st.sampled_from(["alice", "bob"]),
    withdrawn=st.booleans(),
)


@given(words=st.lists(WORDS, max_size=8), data=st.data())
def test_neither_order_nor_repetition_of_words_matters(words: list[PersonVerdict], data: st.DataObject) -> None:
    again = data.draw(st.permutations([*words, *data.draw(st.lists(st.sampled_from(words)) if words else st.just([]))]))
    assert said_of(job(started_at=BEGAN), again) == said_of(job(started_at=BEGAN), words)


@given(word=WORDS)
def test_the_same_word_twice_is_the_word_once(word: PersonVerdict) -> None:
    once = overruled(judged(on_base()), word)
    assert overruled(once, word) == once


@given(word=WORDS.filter(lambda word: word.cause not in (Cause.UNKNOWN, Cause.CANCELLED, Cause.NONE)))
def test_a_job_a_person_judged_speaks_for_its_run_before_less_certain_ones(word: PersonVerdict) -> None:
    ours = replace(judged(), job_id=10)
    theirs = overruled(judged(), word)
    assert speak_for_run([ours, theirs]) == speak_for_run([theirs, ours]) == theirs
