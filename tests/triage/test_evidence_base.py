"""What the base branch says of a failure: before it was built, after it, and of a failure of the base branch itself."""

from collections.abc import Sequence

import pytest

from buildeye.triage.evidence.base import judge_base
from buildeye.triage.results import Merge, Result
from tests.triage.cases import (
    OTHER,
    OWN,
    in_pull,
    merge,
    on_base,
    on_main,
    passed,
    pieces,
    sha_of,
    subject,
)

PULL_REQUESTS: dict[str, tuple[Sequence[Result], set[str]]] = {
    "nothing is known": ((), set()),
    "it failed alike before": ([on_base()], {"base-broken"}),
    "it failed alike in another job": ([on_base(name="unit (3.12)")], {"base-broken"}),
    "it failed in another way": ([on_base(signature=OTHER)], set()),
    "it was mended before this was built": ([on_base(50, -3), passed(on_base(51, -1))], {"base-passes"}),
    "it was mended afterwards": ([on_base(50, -3), passed(on_base(51, 1))], {"base-broken"}),
    "a cancelled run mends nothing": ([on_base(50, -3), on_base(51, -1, conclusion="cancelled")], {"base-broken"}),
    "another failure between mends nothing": ([on_base(50, -3), on_base(51, -1, signature=OTHER)], {"base-broken"}),
    "it passed last": ([passed(on_base(50, -1))], {"base-passes"}),
    "it passed a day before": ([passed(on_base(50, -23))], {"base-passes"}),
    "it passed longer ago": ([passed(on_base(50, -25))], set()),
    "another job of it passed": ([passed(on_base(50, -1, name="lint"))], set()),
    "it began to fail alike afterwards": ([passed(on_base(50, -1)), on_base(51, 1)], {"base-passes", "base-fails-too"}),
    "it failed alike long afterwards": ([on_base(51, 4)], set()),
    "a fork's branch of that name failed": ([in_pull(7, -3, branch="main")], set()),
}


@pytest.mark.parametrize(("results", "found"), PULL_REQUESTS.values(), ids=PULL_REQUESTS.keys())
def test_what_the_base_branch_says_of_a_pull_request(results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_base, subject(), results).keys() == found


def test_a_broken_base_branch_is_told_with_its_first_failing_run_and_every_run_once() -> None:
    results = [on_base(50, -3), on_base(50, -3, job_id=59), on_base(51, -2), on_base(49, -9), passed(on_base(48, -5))]
    piece = pieces(judge_base, subject(), results)["base-broken"]
    assert piece.why.endswith("2 runs, first in run 50")
    assert piece.quote == sha_of(50)[:12]


def test_a_base_branch_that_this_very_change_broke_is_brought_by_it() -> None:
    merged = merge(OWN, 1)
    brought = pieces(judge_base, subject(), [on_base(51, 1.1), on_base(52, 2)], merges=[merged])
    assert brought.keys() == {"brought-to-base"}
    assert brought["brought-to-base"].quote == merged.sha[:12]


NOT_BROUGHT: dict[str, tuple[Sequence[Result], set[str]]] = {
    "the base branch failed alike before the merge": ([on_base(50, 0.5), on_base(51, 1.1)], {"base-fails-too"}),
    "the first run after the merge passed": ([passed(on_base(50, 1.1)), on_base(51, 1.5)], set()),
    "it failed so a day after the merge": ([on_base(51, 26)], set()),
    "it was broken already": ([on_base(50, -3), on_base(51, 1.1)], {"base-broken"}),
}


@pytest.mark.parametrize(("results", "found"), NOT_BROUGHT.values(), ids=NOT_BROUGHT.keys())
def test_a_merge_that_is_not_followed_at_once_by_the_failure_brought_nothing(
    results: Sequence[Result], found: set[str]
) -> None:
    assert pieces(judge_base, subject(), results, merges=[merge(OWN, 1)]).keys() == found


def test_before_the_merge_the_base_branch_fails_without_this_change() -> None:
    results = [on_base(51, 1)]
    assert pieces(judge_base, subject(), results, merges=[merge(OWN, 2)]).keys() == {"base-fails-too"}


GREEN, RED = passed(on_base(50, -2)), "a" * 40
TRUNK: dict[str, tuple[Sequence[Result], Sequence[Merge], set[str]]] = {
    "nothing is known": ((), (), set()),
    "it failed alike before": ([on_base()], (), {"base-broken"}),
    "the next run passed": ([passed(on_base(51, 1))], (), {"base-passes-next"}),
    "the next run was cancelled, that after it passed": (
        [on_base(51, 1, conclusion="cancelled"), passed(on_base(52, 2))], (), {"base-passes-next"},
    ),
    "the next run failed": ([on_base(51, 1, signature=OTHER), passed(on_base(52, 2))], (), set()),
    "it passed before and one change was merged since": (
        [GREEN], [merge(50, -2), merge(60, -1)], {"first-on-base"},
    ),
    "several changes were merged since": (
        [GREEN], [merge(50, -2), merge(60, -1), merge(61, -0.5)], {"first-on-base", "several-merges"},
    ),
    "nothing was merged since": ([GREEN], [merge(50, -2)], {"first-on-base", "nothing-merged"}),
    "the same commit passed": ([passed(on_base(50, -2, head_sha=RED))], (), {"first-on-base", "nothing-merged"}),
    "it failed in another way before": ([GREEN, on_base(51, -1, signature=OTHER)], (), set()),
}  # fmt: skip


@pytest.mark.parametrize(("results", "merges", "found"), TRUNK.values(), ids=TRUNK.keys())
def test_what_the_base_branch_says_of_its_own_failure(
    results: Sequence[Result], merges: Sequence[Merge], found: set[str]
) -> None:
    assert pieces(judge_base, on_main(), results, merges=merges).keys() == found


def test_all_changes_of_the_range_are_named_and_no_other() -> None:
    merges = [merge(number, -3 + number / 10) for number in (9, 12, 15)]
    found = pieces(judge_base, on_main(sha=sha_of(15)), [passed(on_base(9, -2.1))], merges=merges)
    assert found["several-merges"].quote == "#12, #15"
    assert "2 changes were merged since" in found["first-on-base"].why


BUILT = on_main(sha=sha_of(60))
TRIED = in_pull(60, -2, head_sha="head-of-60")
BEFORE_MERGE: dict[str, tuple[Sequence[Result], Sequence[Merge], set[str]]] = {
    "it had not run": ((), (), {"untested-before-merge"}),
    "it had run in another job only": ([passed(in_pull(60, -2, name="lint"))], (), {"untested-before-merge"}),
    "it had been cancelled": ([in_pull(60, -2, conclusion="cancelled")], (), {"untested-before-merge"}),
    "it had failed": ([TRIED], (), {"failed-before-merge"}),
    "it had failed and passed then": (
        [in_pull(60, -3, job_id=1), passed(TRIED)], (), {"passed-before-merge"},
    ),
    "it had passed and failed then": (
        [passed(in_pull(60, -3, job_id=1)), TRIED], (), {"failed-before-merge"},
    ),
    "it had passed before others were merged": (
        [passed(TRIED)], [merge(61, -1)], {"passed-before-merge", "merged-meanwhile"},
    ),
    "others were merged before it passed": ([passed(TRIED)], [merge(61, -2.5)], {"passed-before-merge"}),
}  # fmt: skip


@pytest.mark.parametrize(("results", "merges", "found"), BEFORE_MERGE.values(), ids=BEFORE_MERGE.keys())
def test_what_became_of_the_newest_change_before_it_was_merged(
    results: Sequence[Result], merges: Sequence[Merge], found: set[str]
) -> None:
    known = [merge(60, -0.1), merge(50, -3), *merges]
    every = pieces(judge_base, BUILT, [passed(on_base(50, -2.9)), *results], merges=known)
    assert every.keys() & {
        "untested-before-merge", "failed-before-merge", "passed-before-merge", "merged-meanwhile",
    } == found  # fmt: skip


def test_a_push_without_a_pull_request_was_never_tried() -> None:
    pushed = [merge(60, -0.1, pull_request=None), merge(50, -3)]
    found = pieces(judge_base, BUILT, [passed(on_base(50, -2.9))], merges=pushed)
    assert found.keys() == {"first-on-base", "only-merge"}
