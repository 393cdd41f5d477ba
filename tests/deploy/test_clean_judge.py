"""When a window closes: time and evidence; and when a person is asked about checks that cannot be made."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped] # it ships no types

from buildeye.deploy.judges.attention import AttentionSettings, fingerprint, judge_errors
from buildeye.deploy.judges.clean import CleanSettings, Standing, enough, judge_clean, needed
from buildeye.model.deployments import Baseline, HealthSample, HealthVerdict, SignalKind, SignalStatus
from tests.deploy.moments import at

SETTINGS = CleanSettings()
HOUR = 3600.0
GOOD = Standing(24 * HOUR, 18, 20, Baseline(45, 50), canaries_passed=24, http_good=True, process_good=True)


@pytest.mark.parametrize(
    ("rate", "judged", "least"),
    [(0.9, 10, 9), (0.9, 15, 13), (0.9, 20, 17), (0.9, 5, None), (0.5, 10, 5), (0.3, 10, 1), (0.1, 10, 1), (1.0, 9, 9)],
)
def test_how_many_approved_tasks_exclude_a_drop_of_30_points(rate: float, judged: int, least: int | None) -> None:
    found = [good for good in range(judged + 1) if enough(judged, good, rate, 0.30, 0.05)]
    assert (found[0] if found else None) == least


@given(st.integers(0, 3000), st.integers(0, 3000), st.floats(0.31, 1.0))
def test_enough_is_the_upper_tail_of_a_binomial(judged: int, good: int, rate: float) -> None:
    good = min(good, judged)
    tail = float(stats.binom(judged, rate - 0.30).sf(good - 1))
    if abs(tail - 0.05) > 1e-6:
        assert enough(judged, good, rate, 0.30, 0.05) == (tail <= 0.05)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0, 1))
def test_what_is_needed_is_the_first_that_is_enough(judged: int, good: int, rate: float) -> None:
    good = min(good, judged)
    found = needed(judged, good, rate, 0.30, 0.05)
    assert found is not None
    more = found[1] - judged
    assert found[0] - good == more >= 0
    assert enough(judged + more, good + more, rate, 0.30, 0.05)
    assert more == 0 or not enough(judged + more - 1, good + more - 1, rate, 0.30, 0.05)


def test_a_drop_that_cannot_be_excluded_is_out_of_reach() -> None:
    assert needed(10, 10, 1.0, 0.0, 0.05) is None


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({}, []),
        ({"elapsed_seconds": 23 * HOUR}, ["time"]),
        ({"good": 16}, ["tasks"]),
        ({"good": 0, "judged": 0}, ["tasks"]),
        ({"canaries_passed": 2}, ["canaries"]),
        ({"http_good": False}, ["http"]),
        ({"process_good": False}, ["process"]),
        ({"rate_good": False}, ["rate"]),
        ({"baseline": None}, []),
        ({"baseline": None, "judged": 9, "good": 9}, ["tasks"]),
        ({"baseline": Baseline(5, 5), "judged": 10, "good": 2}, []),
        ({"elapsed_seconds": 60, "judged": 10, "good": 10}, ["time"]),
    ],
)
def test_a_window_closes_clean_only_with_time_and_evidence(changed: dict[str, object], missing: list[str]) -> None:
    verdict = judge_clean(replace(GOOD, **changed), SETTINGS)  # type: ignore[arg-type] # a table of any fields
    assert verdict.numbers["missing"] == missing
    assert verdict.reason == ("waits" if missing else "clean")
    assert (verdict.status is SignalStatus.OK) == (not missing)


def test_what_a_service_does_not_have_is_not_asked_for() -> None:
    bare = replace(GOOD, judged=0, good=0, canaries_passed=0, rate_good=False)
    assert judge_clean(bare, replace(SETTINGS, needs_rate=False, needs_canary=False)).says == (
        "24 h without a failure; health and process good"
    )


def test_without_verdicts_by_the_deadline_it_closes_as_insufficient() -> None:
    """Scenario 4, as far as it is a judgement."""
    silent = replace(GOOD, judged=0, good=0)
    assert judge_clean(replace(silent, elapsed_seconds=47 * HOUR), SETTINGS).reason == "waits"
    verdict = judge_clean(replace(silent, elapsed_seconds=48 * HOUR), SETTINGS)
    assert (verdict.status, verdict.reason) == (SignalStatus.INSUFFICIENT, "deadline")
    assert verdict.says == (
        "48 h are over and this is still missing: at least 6 of 6 approved tasks to exclude a drop of 30 points, "
        "0 of 0 approved so far"
    )


def test_ten_tasks_created_in_the_first_minute_keep_the_window_open() -> None:
    """Scenario 5: none of them is judged."""
    early = replace(GOOD, elapsed_seconds=60, judged=0, good=0, canaries_passed=1)
    assert judge_clean(early, SETTINGS).numbers["missing"] == ["time", "tasks", "canaries"]


def test_a_quiet_day_alone_is_not_clean() -> None:
    """Scenario 6: traffic stops."""
    assert judge_clean(replace(GOOD, judged=4, good=4), SETTINGS).reason == "waits"


def test_evidence_that_comes_by_the_deadline_still_closes_clean() -> None:
    assert judge_clean(replace(GOOD, elapsed_seconds=48 * HOUR), SETTINGS).reason == "clean"


def test_a_clean_verdict_says_what_it_stands_on() -> None:
    assert judge_clean(GOOD, SETTINGS).says == (
        "24 h without a failure; 18 of 20 approved, was 45 of 50, 24 canaries passed, health and process good"
    )
    assert "the first rate of this service" in judge_clean(replace(GOOD, baseline=None), SETTINGS).says


def samples(text: str, apart: float = 60, kind: SignalKind = SignalKind.RATE) -> list[HealthSample]:
    """Samples of a text: e is an error, anything else is ok."""
    return [
        HealthSample("d1", kind, SignalStatus.ERROR if each == "e" else SignalStatus.OK, at(apart * k),
                     detail="connection refused" if each == "e" else "", seq=k + 1)
        for k, each in enumerate(text)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", "ok", "checked"),
        ("....", "ok", "checked"),
        (".eeee", "error", "retry"),
        ("." + "e" * 10, "error", "retry"),
        ("." + "e" * 11, "error", "ask"),
        ("e" * 11 + ".", "ok", "checked"),
        ("eeeeee.eeeeee", "error", "retry"),
    ],
)
def test_a_source_that_is_down_for_ten_minutes_asks_a_person_and_never_fails_a_version(
    text: str, status: str, reason: str
) -> None:
    """Scenario 7."""
    verdict = judge_errors(samples(text), AttentionSettings(), at(5000))
    assert (str(verdict.status), verdict.reason) == (status, reason)


def test_who_is_asked_reads_what_could_not_be_checked() -> None:
    verdict = judge_errors(samples("e" * 11), AttentionSettings(), at(600))
    assert verdict.says == "validator_approval_rate could not be checked 11 times in 10 min: connection refused"


def test_what_was_answered_is_not_asked_again() -> None:
    """Scenario 24: the same evidence never asks twice; new evidence of the same kind does."""
    history = samples("e" * 30)
    assert judge_errors(history[:11], AttentionSettings(), at(0), answered_seq=11).reason == "checked"
    assert judge_errors(history[:15], AttentionSettings(), at(0), answered_seq=11).reason == "retry"
    assert judge_errors(history, AttentionSettings(), at(0), answered_seq=11).reason == "ask"


def test_the_same_evidence_has_the_same_name_at_any_time() -> None:
    """Scenario 24: by its reason and numbers, not by the clock."""
    waits = judge_clean(replace(GOOD, judged=3, good=3, elapsed_seconds=60), SETTINGS)
    later = judge_clean(replace(GOOD, judged=3, good=3, elapsed_seconds=90), SETTINGS)
    more = judge_clean(replace(GOOD, judged=4, good=4, elapsed_seconds=90), SETTINGS)
    assert fingerprint(waits) == fingerprint(later) != fingerprint(more)
    assert fingerprint(HealthVerdict(SignalStatus.OK, "a")) != fingerprint(HealthVerdict(SignalStatus.OK, "b"))
