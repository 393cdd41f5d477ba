"""The verdict on approved tasks: what fails, what only warns, what is not enough, and that polling changes nothing."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.deploy.judges.fisher import boundary
from buildeye.deploy.judges.rate import RateReading, RateSettings, judge_rate
from buildeye.model.deployments import Baseline, HealthVerdict, SignalStatus

SETTINGS = RateSettings()
BASELINE = Baseline(45, 50)


def looks(outcomes: str) -> tuple[tuple[int, int], ...]:
    """Cumulative looks of a text of outcomes: + is approved, - is rejected."""
    return tuple((outcomes[: n + 1].count("+"), n + 1) for n in range(len(outcomes)))


def status_of(outcomes: str, baseline: Baseline | None = BASELINE, unjudged: int = 0) -> tuple[str, str]:
    verdict = judge_rate(RateReading(looks(outcomes), unjudged), baseline, SETTINGS)
    return str(verdict.status), verdict.reason


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ("-", ("ok", "rate-holds")),
        ("+", ("ok", "rate-holds")),
        ("--", ("ok", "rate-warns")),
        ("---", ("fail", "rate-fell")),
        ("+-+-+--", ("ok", "rate-warns")),
        ("+-+-+---", ("fail", "rate-fell")),
        ("++++++++-", ("ok", "rate-holds")),
        ("---" + "+" * 40, ("fail", "rate-fell")),
        ("+" * 50 + "-" * 30, ("ok", "rate-holds")),
    ],
)
def test_outcomes_against_45_of_50(outcomes: str, expected: tuple[str, str]) -> None:
    assert status_of(outcomes) == expected


def test_a_first_task_that_is_rejected_rolls_nothing_back() -> None:
    """Scenario 1: baseline .9, the first task is rejected."""
    verdict = judge_rate(RateReading(looks("-")), BASELINE, SETTINGS)
    assert verdict.status is SignalStatus.OK
    assert verdict.says == "0 of 1 approved, was 45 of 50; fails at 0 of 3"


def test_a_rate_that_improves_is_at_most_worth_a_warning() -> None:
    """Scenario 3: from half to all approved."""
    verdict = judge_rate(RateReading(looks("+" * 40)), Baseline(25, 50), SETTINGS)
    assert (verdict.status, verdict.reason) == (SignalStatus.OK, "rate-rose")
    assert "suspiciously high" in verdict.says


def test_ten_tasks_without_a_verdict_are_no_ten_approvals() -> None:
    """Scenario 5: ten tasks in the first minute, none judged."""
    verdict = judge_rate(RateReading((), unjudged=10), BASELINE, SETTINGS)
    assert (verdict.status, verdict.reason) == (SignalStatus.INSUFFICIENT, "unjudged")
    assert verdict.says == "no task has been judged yet; 10 of 10 tasks have no verdict, more than 20 %"


def test_no_traffic_is_insufficient() -> None:
    """Scenario 6: no task comes."""
    assert status_of("") == ("insufficient", "no-tasks")


@pytest.mark.parametrize(
    ("unjudged", "expected"),
    [(2, ("fail", "rate-fell")), (3, ("insufficient", "unjudged"))],
)
def test_more_than_a_fifth_without_a_verdict_is_insufficient_whatever_the_others_say(
    unjudged: int, expected: tuple[str, str]
) -> None:
    assert status_of("+-+-+---", unjudged=unjudged) == expected


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [(None, "no-baseline"), (Baseline(0, 0), "no-baseline"), (Baseline(9, 9), "small-baseline")],
)
def test_without_ten_tasks_before_nothing_is_judged(baseline: Baseline | None, reason: str) -> None:
    assert status_of("----------", baseline) == ("insufficient", reason)


def test_a_significant_drop_below_the_margin_does_not_fail() -> None:
    """43 of 50 after 196 of 200 is significant at .05; at 12 points it is beyond the margin of 10, not of 15."""
    reading = RateReading(((43, 50),))
    narrow, wide = RateSettings(fail=0.05, margin=0.10), RateSettings(fail=0.05, margin=0.15)
    assert judge_rate(reading, Baseline(196, 200), narrow).status is SignalStatus.FAIL
    assert judge_rate(reading, Baseline(196, 200), wide).reason == "rate-warns"


def test_a_failure_says_where_and_from_what() -> None:
    verdict = judge_rate(RateReading(looks("+-+-+---++")), BASELINE, SETTINGS)
    assert verdict.says == "3 of 8 approved, was 45 of 50; fails at 3 of 8, at least 10 points lower"
    assert verdict.numbers["at"] == [3, 8]
    assert verdict.numbers["approved"] == 5
    p, c = verdict.numbers["p_value"], verdict.numbers["c"]
    assert isinstance(p, float)
    assert isinstance(c, float)
    assert p <= c


def test_a_verdict_that_holds_says_what_would_fail() -> None:
    verdict = judge_rate(RateReading(looks("++++++++-")), BASELINE, SETTINGS)
    assert verdict.says == "8 of 9 approved, was 45 of 50; fails at 8 of 16"
    assert verdict.numbers["fails_at"] == [8, 16]
    far = judge_rate(RateReading(looks("+" * 45)), BASELINE, SETTINGS)
    assert far.says == "45 of 45 approved, was 45 of 50; cannot fail within 50 tasks any more"


outcomes_text = st.text(alphabet="+++-", max_size=70)
baselines = st.integers(10, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(outcomes_text, baselines, st.lists(st.integers(1, 9), min_size=1))
def test_how_often_it_is_asked_never_changes_what_it_says(
    outcomes: str, baseline: tuple[int, int], batches: list[int]
) -> None:
    """Asked after each batch of new looks: once failed, failed in the end, and failed at the same look."""
    every, before = looks(outcomes), Baseline(*baseline)
    final = judge_rate(RateReading(every), before, SETTINGS)
    seen, k = 0, 0
    while seen < len(every):
        seen, k = seen + batches[k % len(batches)], k + 1
        so_far = judge_rate(RateReading(every[:seen]), before, SETTINGS)
        if so_far.status is SignalStatus.FAIL:
            assert final.status is SignalStatus.FAIL
            assert so_far.numbers["at"] == final.numbers["at"]
            return
    assert final.status is not SignalStatus.FAIL


@given(outcomes_text, baselines)
def test_it_fails_exactly_where_a_look_is_within_the_boundary(outcomes: str, baseline: tuple[int, int]) -> None:
    line = dict(boundary(*baseline, SETTINGS.fail, SETTINGS.tasks, SETTINGS.margin))
    crossed = any(approved <= line.get(judged, -1) for approved, judged in looks(outcomes))
    verdict = judge_rate(RateReading(looks(outcomes)), Baseline(*baseline), SETTINGS)
    assert (verdict.status is SignalStatus.FAIL) == crossed


@given(outcomes_text, baselines, st.integers(0, 20))
def test_every_verdict_is_one_sentence_with_its_numbers(
    outcomes: str, baseline: tuple[int, int], unjudged: int
) -> None:
    verdict = judge_rate(RateReading(looks(outcomes), unjudged), Baseline(*baseline), SETTINGS)
    assert verdict.says
    assert "\n" not in verdict.says
    assert verdict.numbers["judged"] == len(outcomes)


def test_a_bad_release_that_was_rolled_back_leaves_the_baseline_of_the_next_as_it_was() -> None:
    """Scenario 27, as far as it is a judgement: the baseline is an argument that only clean deployments fed."""
    rng = random.Random(5)
    bad = "".join("+" if rng.random() < 0.5 else "-" for _ in range(50))
    assert status_of(bad)[0] == "fail"
    assert status_of("+++++++++-" * 5) == ("ok", "rate-holds")


def _late(first: str, *groups: tuple[int, int]) -> HealthVerdict:
    """The verdict after the first tasks and then groups of (approved, rejected) tasks, each in an even mixture."""
    story = first
    for good, bad in groups:
        story += "".join("-" if (place + 1) * bad // 50 > place * bad // 50 else "+" for place in range(good + bad))
    return judge_rate(RateReading(looks(story)), BASELINE, SETTINGS)


HEALTHY = ("+" * 9 + "-") * 5


def test_a_version_that_falls_after_the_first_tasks_is_found_too() -> None:
    verdict = _late(HEALTHY, (25, 25))
    assert (verdict.status, verdict.reason, verdict.numbers["at"]) == (SignalStatus.FAIL, "rate-fell", [25, 50])
    assert verdict.says == "25 of 50 approved of a later group of tasks, was 45 of 50; 70 of 100 approved in all"


def test_a_later_group_is_judged_once_it_is_whole() -> None:
    assert _late(HEALTHY, (25, 24)).status is SignalStatus.OK


def test_later_groups_that_are_a_little_lower_are_no_fall() -> None:
    assert _late(HEALTHY, (38, 12), (40, 10), (39, 11)).status is SignalStatus.OK


def test_the_further_out_a_group_is_the_clearer_its_fall_must_be() -> None:
    weak = (30, 20)  # p = .00048
    assert _late(HEALTHY, weak).status is SignalStatus.FAIL
    assert _late(HEALTHY, (45, 5), weak).status is SignalStatus.OK
