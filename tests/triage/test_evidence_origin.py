"""Where a failure began: whether a merge of the range explains it, and which."""

from collections.abc import Sequence

import pytest

from buildeye.triage.evidence.origin import judge_origin
from buildeye.triage.results import Merge, Result, Subject
from tests.triage.cases import diagnosis, in_pull, merge, on_base, on_main, passed, pieces, sha_of, subject

NAMES = diagnosis(files=("src/ops/rope.py",))
OF_PULL, OF_BASE = subject(NAMES), on_main(NAMES, sha=sha_of(60))
GREEN, BEFORE, OWN = passed(on_base(50, -2.9)), merge(50, -3), merge(60, -0.1, "docs/a.md")
FITS, NEAR, FAR = merge(61, -1, "src/ops/rope.py"), merge(61, -1, "src/ops/norm.py"), merge(61, -1, "web/a.css")
ELSEWHERE = in_pull(7, -0.5)

EXPLAINED: dict[str, tuple[Subject, Sequence[Result], Sequence[Merge], set[str]]] = {
    "no merge is known": (OF_PULL, [GREEN, ELSEWHERE], [], set()),
    "no pass before it is known": (OF_PULL, [ELSEWHERE], [BEFORE, FITS], set()),
    "one fits what fails elsewhere too": (OF_PULL, [GREEN, ELSEWHERE], [BEFORE, FITS], {"merge-explains"}),
    "one is near what fails elsewhere too": (OF_PULL, [GREEN, ELSEWHERE], [BEFORE, NEAR], {"merge-explains"}),
    "one fits what fails nowhere else": (OF_PULL, [GREEN], [BEFORE, FITS], {"merge-suspect"}),
    "none fits what fails elsewhere too": (OF_PULL, [GREEN, ELSEWHERE], [BEFORE, FAR], {"no-merge-fits"}),
    "none fits what fails nowhere else": (OF_PULL, [GREEN], [BEFORE, FAR], set()),
    "nothing was merged, and it fails elsewhere too": (
        OF_PULL, [GREEN, ELSEWHERE], [BEFORE], {"no-merge-in-range"},
    ),
    "nothing was merged, and it fails nowhere else": (OF_PULL, [GREEN], [BEFORE], set()),
    "on the base branch, one of two fits": (
        OF_BASE, [GREEN], [BEFORE, OWN, FITS], {"merge-explains", "other-merge-likely"},
    ),
    "on the base branch, neither fits": (
        OF_BASE, [GREEN], [BEFORE, OWN, FAR], {"no-merge-fits", "own-merge-likely", "other-merge-likely"},
    ),
    "on the base branch, the commit itself was merged alone": (
        OF_BASE, [GREEN], [BEFORE, OWN], {"no-merge-fits", "own-merge-likely"},
    ),
    "on the base branch, a commit nobody knows": (on_main(NAMES), [GREEN], [BEFORE, FITS], {"merge-explains"}),
    "on the base branch, nothing was merged": (OF_BASE, [passed(on_base(60, -0.05))], [OWN], {"no-merge-in-range"}),
    "on the base branch, which failed so before": (
        OF_BASE, [GREEN, on_base(61, -0.9)], [BEFORE, OWN, FITS], {"merge-explains"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("of", "results", "merges", "found"), EXPLAINED.values(), ids=EXPLAINED.keys())
def test_whether_a_merge_explains_a_failure(
    of: Subject, results: Sequence[Result], merges: Sequence[Merge], found: set[str]
) -> None:
    assert pieces(judge_origin, of, results, merges=merges).keys() == found


def test_the_better_a_merge_fits_the_more_it_explains() -> None:
    def fit(each: Merge) -> float:
        return pieces(judge_origin, OF_PULL, [GREEN, ELSEWHERE], merges=[BEFORE, each])["merge-explains"].strength

    assert 0 < fit(NEAR) < fit(merge(61, -1, "tests/ops/test_rope.py")) < fit(FITS) <= 1


def test_the_merge_that_explains_is_named_with_what_speaks_for_it() -> None:
    piece = pieces(judge_origin, OF_PULL, [GREEN, ELSEWHERE], merges=[BEFORE, FITS])["merge-explains"]
    assert piece.quote == "#61"
    assert piece.why.endswith("it changes a file that the failure names")


def test_the_newest_merge_and_the_others_of_the_range_are_told_apart() -> None:
    found = pieces(judge_origin, OF_BASE, [GREEN], merges=[BEFORE, OWN, FAR])
    assert found["other-merge-likely"].quote == "#61"
    assert found["own-merge-likely"].strength < 0.5 < found["other-merge-likely"].strength
    assert "documents only" in found["own-merge-likely"].why
