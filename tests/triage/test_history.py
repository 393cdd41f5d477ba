"""What is known of other jobs, arranged: neither order nor repetition matters; and who may have brought a failure."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import buildeye.triage
from buildeye.model import Culprit, KeyLine
from buildeye.triage.culprits import MOST, Origin, origin_of, rank
from buildeye.triage.history import History
from buildeye.triage.judge import judge
from buildeye.triage.results import Merge, Result, Subject, is_specific, merge_of, result_of, telling, telling_of
from buildeye.triage.thresholds import DEFAULTS
from tests.triage.cases import (
    BEGAN,
    MINUTE,
    NOW,
    OTHER,
    OWN,
    POOL,
    SIGNATURE,
    again,
    at,
    diagnosis,
    history,
    in_pull,
    job,
    load,
    merge,
    on_base,
    on_main,
    passed,
    pull,
    result,
    run,
    sha_of,
    subject,
)


def _any_result(number: int, kind: str, hours: float, signature: str, green: bool, where: int) -> Result:
    given = {"signature": signature, "runner": f"runner-{where}"}
    made = {
        "base": lambda: on_base(number, hours, **given),
        "pull": lambda: in_pull(90 + where, hours, job_id=number, run_id=number, **given),
        "own": lambda: in_pull(OWN, hours, job_id=number, run_id=number, author="dev-own", **given),
        "again": lambda: again(number, attempt=2 + where % 2, **given),
    }[kind]()
    return passed(made) if green else made


RESULTS = st.lists(
    st.builds(
        _any_result,
        st.integers(50, 60),
        st.sampled_from(["base", "pull", "own", "again"]),
        st.sampled_from([-100, -30, -4, -3.9, -1, 0, 0.1, 1, 4]),
        st.sampled_from([SIGNATURE, OTHER]),
        st.booleans(),
        st.integers(1, 4),
    ),
    max_size=10,
    unique_by=lambda each: each.job_id,
)
MERGES = st.lists(
    st.builds(merge, st.integers(50, 60), st.sampled_from([-40, -4, -1, 0.1]), st.sampled_from(["src/a.py", "a.md"])),
    max_size=5,
    unique_by=lambda each: each.sha,
)
SUBJECTS = st.sampled_from([subject(), on_main(), on_main(sha=sha_of(55)), subject(conclusion="cancelled")])


@settings(max_examples=150, deadline=None)
@given(SUBJECTS, RESULTS, MERGES, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_of_what_is_known_changes_a_verdict(
    of: Subject, results: list[Result], merges: list[Merge], chance: Random
) -> None:
    once = judge(of, history(results, merges=merges), DEFAULTS, NOW)
    twice, brought = [*results, *results], [*merges, *merges]
    chance.shuffle(twice)
    chance.shuffle(brought)
    assert judge(of, history(twice, merges=brought), DEFAULTS, NOW) == once


def test_of_two_rows_of_a_job_the_one_that_ended_later_counts_and_then_the_one_that_knows_more() -> None:
    early, late = in_pull(7, 0), replace(in_pull(7, 0), ended=at(2))
    unread, nameless = replace(late, signature=""), replace(late, pull_request=None, author="")
    for rows in permutations([early, late, unread, nameless]):
        assert history(rows).between(at(-1), at(3)) == [late]


ALIKE: dict[str, tuple[Result, bool]] = {
    "the same signature": (in_pull(7), True),
    "a test in common": (in_pull(7, signature=OTHER, tests=("tests/t.py::b", "tests/t.py::c")), True),
    "another signature": (in_pull(7, signature=OTHER), False),
    "the same run": (in_pull(7, run_id=1), False),
    "it was stopped": (in_pull(7, conclusion="cancelled"), False),
    "it ran out of time": (in_pull(7, conclusion="timed_out"), True),
}


@pytest.mark.parametrize(("each", "alike"), ALIKE.values(), ids=ALIKE.keys())
def test_failures_are_alike_by_signature_or_by_a_test(each: Result, alike: bool) -> None:
    of = subject(diagnosis(tests=("tests/t.py::a", "tests/t.py::b")))
    assert history([each]).alike(of) == ([each] if alike else [])


SIGNATURES = [
    (SIGNATURE, True),
    ("pytest.assertion", False),
    ("", False),
    ("no-log|unit|Run tests", False),
    ("no-job|E2E", False),
    ("unknown|# at #", False),
    ("unknown|the mesh folded over itself", True),
]


@pytest.mark.parametrize(("signature", "specific"), SIGNATURES)
def test_a_signature_names_a_failure_when_it_says_more_than_its_rule(signature: str, specific: bool) -> None:
    assert is_specific(signature) is specific
    seen = in_pull(7, signature=signature)
    assert history([seen]).with_signature(signature) == ([seen] if specific else [])


def test_the_line_is_added_to_a_signature_that_is_a_rule_alone() -> None:
    assert telling("network.reset", "reset by 10.0.0.7 after 31 ms") == "network.reset|reset by # after #"
    assert telling(SIGNATURE, "E assert 1 == 2") == SIGNATURE
    assert telling("", "E assert 1 == 2") == ""
    line = KeyLine(7, "reset by 10.0.0.7 after 31 ms")
    assert telling_of(diagnosis(signature="network.reset", key_line=line)) == "network.reset|reset by # after #"
    assert telling_of(diagnosis()) == SIGNATURE


def test_a_result_of_a_job_without_times_counts_as_of_its_run() -> None:
    bare = result_of(
        run(updated_at=NOW), job(created_at=None, started_at=None, completed_at=None), None, pull(), "main"
    )
    assert (bare.built, bare.ended, bare.waited, bare.signature) == (BEGAN, NOW, timedelta(0), "")
    nothing = result_of(
        run(created_at=None, run_started_at=None), job(created_at=None, started_at=None), None, None, ""
    )
    assert nothing.built.year == 1970


def test_a_pool_is_what_a_job_asks_for_in_whatever_order() -> None:
    assert subject().own.pool == subject(labels=("linux", "npu")).own.pool == POOL
    assert subject().own.waited == MINUTE


PLACES = [
    (on_base(50), "", sha_of(50)),
    (in_pull(7), "#7", "#7"),
    (in_pull(7, pull_request=None), "dev-7:topic-7", "dev-7:topic-7"),
    (in_pull(7, pull_request=None, branch=""), f"dev-7:{sha_of(1007)}", f"dev-7:{sha_of(1007)}"),
]


@pytest.mark.parametrize(("each", "change", "place"), PLACES)
def test_whose_failure_it_is(each: Result, change: str, place: str) -> None:
    assert (each.change, each.place) == (change, place)


BASES = {
    ("push", "main"): True, ("schedule", "main"): True, ("merge_group", "main"): True, ("push", "topic"): False,
    ("pull_request", "main"): False, ("pull_request_target", "main"): False, ("", "main"): False,
}  # fmt: skip


@pytest.mark.parametrize(("built", "base"), BASES.items())
def test_only_what_builds_the_base_branch_itself_is_on_it(built: tuple[str, str], base: bool) -> None:
    event, branch = built
    assert result_of(run(event=event, head_branch=branch), job(), None, None, "main").on_base is base


def test_a_pull_request_becomes_a_merge_when_it_is_merged() -> None:
    assert merge_of(pull()) is None
    assert merge_of(pull(merged_at=NOW)) is None
    merged = merge_of(pull(merged_at=NOW, merge_commit_sha="d" * 40, changed_files=("a.py",)))
    assert merged == Merge("d" * 40, NOW, OWN, "dev-own", files=("a.py",))


def test_where_nothing_is_known_nothing_is_usual() -> None:
    empty = History()
    assert (empty.usual_wait(POOL), empty.failure_rate(POOL), empty.load(POOL, NOW)) == (None, 0.1, None)
    assert not empty.covers(NOW, timedelta(0))
    assert not empty.tells_authors


def test_the_usual_is_the_median_and_a_rate_is_drawn_to_one_in_ten() -> None:
    rows = [result(n, n, waited=n * MINUTE) for n in (1, 2, 30)]
    known = history([*rows, passed(result(4, 4, runner="")), result(5, 5, runner="", waited=99 * MINUTE)])
    assert known.usual_wait(POOL) == 2 * MINUTE
    assert known.failure_rate(POOL) == pytest.approx(4 / 13)


def test_a_load_is_of_at_most_ten_minutes_before() -> None:
    known = history(loads=[load(1, 9), load(0, 3), load(2, 3)])
    assert known.load(POOL, at(1) + 9 * MINUTE) == (load(1, 9), 3)
    assert known.load(POOL, at(1) + 11 * MINUTE) is None
    assert known.load(POOL, at(-1)) is None


# Who brought it.

TRUNK = on_main(diagnosis(files=("src/ops/rope.py",)), sha=sha_of(60))
GREEN = passed(on_base(50, -3))
M50, M55, M60 = merge(50, -3.1), merge(55, -2, "src/norm.py"), merge(60, -0.1, "src/gelu.py")


def _origin(of: Subject, results: Sequence[Result], merges: Sequence[Merge]) -> Origin | None:
    known = history(results, merges=merges)
    return origin_of(of, known, known.alike(of))


def _ranked(of: Subject, results: Sequence[Result], merges: Sequence[Merge]) -> tuple[Culprit, ...]:
    known = history(results, merges=merges)
    origin = origin_of(of, known, known.alike(of))
    assert origin is not None
    return rank(of, known, origin)


RANGES: dict[str, tuple[Subject, Sequence[Result], Sequence[Merge], tuple[int, int, list[int]] | None]] = {
    "of a failure of the base branch, from its last pass": (
        TRUNK, [GREEN], [M50, M55, M60], (50, 60, [55, 60]),
    ),
    "of a streak, to its first failure": (
        TRUNK, [GREEN, on_base(55, -1.9)], [M50, M55, M60], (50, 55, [55]),
    ),
    "a pass in between begins anew": (
        TRUNK, [on_base(40, -9), GREEN, on_base(55, -1.9)], [merge(40, -9.1), M50, M55, M60], (50, 55, [55]),
    ),
    "of a pull request, what the base branch shows": (
        subject(), [GREEN, on_base(55, -1.9)], [M50, M55, M60], (50, 55, [55]),
    ),
    "a pull request that passes shows the base branch good": (
        TRUNK, [GREEN, passed(in_pull(9, -1.5)), on_base(57, -1)], [M50, M55, merge(57, -1.1), M60], (55, 57, [57]),
    ),
    "pull requests that fail alike show it bad": (
        subject(), [passed(on_base(50, -3)), in_pull(7, -1), in_pull(8, -0.5)], [M50, M55, M60], (50, 55, [55]),
    ),
    "nothing was merged": (TRUNK, [passed(on_base(59, -0.5))], [merge(59, -0.6)], (59, 59, [])),
    "no pass before it is known": (TRUNK, [on_base(55, -1.9)], [M50, M55, M60], None),
}  # fmt: skip


@pytest.mark.parametrize(("of", "results", "merges", "expected"), RANGES.values(), ids=RANGES.keys())
def test_the_range_in_which_it_began(
    of: Subject, results: Sequence[Result], merges: Sequence[Merge], expected: tuple[int, int, list[int]] | None
) -> None:
    origin = _origin(of, results, merges)
    if expected is None:
        assert origin is None
        return
    assert origin is not None
    good, bad, numbers = expected
    assert (origin.good, origin.bad) == (sha_of(good), sha_of(bad))
    assert [each.pull_request for each in origin.merges] == numbers


def test_a_pull_request_that_failed_before_it_was_merged_does_not_widen_the_range() -> None:
    own = in_pull(55, -2.5)
    origin = _origin(TRUNK, [GREEN, own, on_base(55, -1.9)], [M50, M55, M60])
    assert origin is not None
    assert origin.bad == sha_of(55)
    assert [each.pull_request for each in origin.merges] == [55]


FIRST: dict[str, tuple[Sequence[Result], Sequence[Merge], int, str]] = {
    "who changes a file that is named": (
        [], [merge(55, -2, "src/ops/rope.py"), M60], 55, "it changes a file that the failure names",
    ),
    "who changes what the test is about": (
        [], [merge(55, -2, "tests/ops/test_rope.py"), M60], 55, "it changes what the failing test is about",
    ),
    "who changes files beside those named, before who changes none": (
        [], [merge(55, -2, "src/ops/norm.py"), merge(57, -1, "web/a.css"), merge(60, -0.1, "a.md")], 55,
        "it changes files beside those that the failure names",
    ),
    "who failed alike before": (
        [in_pull(55, -2.5)], [merge(55, -2, "web/a.css"), M60], 55, "it failed alike before it was merged",
    ),
    "who was there when it failed first": (
        [], [merge(55, -2, "web/a.css"), M60], 60, "it is the first commit that failed",
    ),
    "who changes more than documents": (
        [], [merge(55, -2, "web/a.css"), merge(60, -0.1, "docs/a.md", "README.rst")], 55, "it was merged in the range",
    ),
    "who did not pass before": (
        [passed(in_pull(60, -2.5)), passed(in_pull(57, -2.5))],
        [merge(55, -2, "a.css"), merge(57, -1, "a.css"), merge(60, -0.1, "a.md")], 55, "it was merged in the range",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("results", "merges", "first", "why"), FIRST.values(), ids=FIRST.keys())
def test_the_likeliest_of_a_range(results: Sequence[Result], merges: Sequence[Merge], first: int, why: str) -> None:
    ranked = _ranked(TRUNK, [GREEN, *results], [M50, *merges])
    assert ranked[0].pull_request == first
    assert why in ranked[0].why


def test_a_failure_of_another_kind_before_the_merge_says_nothing() -> None:
    other = in_pull(55, -2.5, signature=OTHER)
    assert _ranked(TRUNK, [GREEN, other], [M50, M55, M60])[0].pull_request == 60


def test_of_merges_that_nothing_tells_apart_the_later_is_named_first() -> None:
    ranked = _ranked(TRUNK, [GREEN], [M50, merge(55, -2), merge(57, -1), merge(60, -0.1, "a.md")])
    assert [each.pull_request for each in ranked] == [57, 55, 60]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-2.9, -0.2),
            st.sampled_from([(), ("src/ops/rope.py",), ("a.md",), ("src/ops/x.py",)]),
            st.booleans(),
        ),
        max_size=9,
    )
)
def test_probabilities_are_among_all_of_the_range_and_sum_to_at_most_one(
    changes: list[tuple[float, tuple[str, ...], bool]],
) -> None:
    merges = [merge(100 + n, hours, *files) for n, (hours, files, _) in enumerate(changes)]
    tried = [in_pull(100 + n, -3) for n, (*_, failed) in enumerate(changes) if failed]
    ranked = _ranked(TRUNK, [GREEN, *tried], [M50, M60, *merges])
    shares = [each.probability for each in ranked]
    assert len(ranked) == min(MOST, len(merges) + 1)
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1.0 + 0.0005 * MOST


def test_every_module_of_judging_can_be_imported_first() -> None:
    folder = buildeye.triage.__path__[0]
    code = (
        "import importlib, pkgutil, sys\n"
        f"names = [m.name for m in pkgutil.walk_packages([{folder!r}], 'buildeye.triage.')]\n"
        "for name in names:\n"
        "    for known in [k for k in sys.modules if k.startswith('buildeye.triage')]: del sys.modules[known]\n"
        "    importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
