"""The verdict on exits: true sliding windows, slow loops, and who asked for the exit."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.deploy.judges.process import Exit, ProcessSettings, judge_process
from buildeye.model.deployments import SignalStatus
from tests.deploy.moments import at

SETTINGS = ProcessSettings()
TIGHT = ProcessSettings(window_seconds=10, slow_exits=99)
HOUR = 3600.0


def crashes(*seconds: float) -> list[Exit]:
    return [Exit(at(each), 1) for each in seconds]


@pytest.mark.parametrize(
    ("exits", "settings", "reason"),
    [
        ([], SETTINGS, "alive"),
        (crashes(0), SETTINGS, "crashed-once"),
        (crashes(0, 600), SETTINGS, "crashes"),
        (crashes(0, 600.5), SETTINGS, "crashed"),
        (crashes(0, 3 * HOUR), SETTINGS, "crashed"),
        (crashes(0, 3 * HOUR, 6 * HOUR), SETTINGS, "slow-crashes"),
        (crashes(0, 3 * HOUR, 6.1 * HOUR), SETTINGS, "crashed"),
        (crashes(0, 100), TIGHT, "crashed"),
        (crashes(0, 100, 101), TIGHT, "crashes"),
        (crashes(5), ProcessSettings(restarts=False), "process-ended"),
        ([Exit(at(0), 0), Exit(at(9), -9)], SETTINGS, "crashes"),
        ([Exit(at(0), None), Exit(at(9), None)], SETTINGS, "crashes"),
        ([Exit(at(0), 0, expected=True), Exit(at(9), -15, expected=True)], SETTINGS, "alive"),
        ([Exit(at(0), 1), Exit(at(5), 0, expected=True), Exit(at(9), 1)], SETTINGS, "crashes"),
    ],
)
def test_exits(exits: list[Exit], settings: ProcessSettings, reason: str) -> None:
    verdict = judge_process(exits, True, settings, at(30_000))
    assert verdict.reason == reason
    failing = reason in ("crashes", "slow-crashes", "process-ended")
    assert verdict.status is (SignalStatus.FAIL if failing else SignalStatus.OK)


def test_a_crash_loop_slower_than_the_window_is_caught() -> None:
    """Scenario 12: every 25 minutes, never two in ten."""
    exits = crashes(*(1500.0 * k for k in range(3)))
    assert judge_process(exits[:2], True, SETTINGS, at(1500)).status is SignalStatus.OK
    verdict = judge_process(exits, True, SETTINGS, at(3000))
    assert (verdict.status, verdict.reason) == (SignalStatus.FAIL, "slow-crashes")
    assert verdict.says == "the process ended 3 times within 50 min, last with code 1"


def test_two_crashes_in_the_window_fire_at_the_second_of_them() -> None:
    """Scenario 13: at 0, 100 and 101 s with two in ten seconds; two crashes three hours apart do not."""
    assert judge_process(crashes(0, 100), True, TIGHT, at(100)).status is SignalStatus.OK
    verdict = judge_process(crashes(0, 100, 101), True, TIGHT, at(101))
    assert verdict.status is SignalStatus.FAIL
    assert verdict.numbers["seconds"] == 1
    assert judge_process(crashes(0, 3 * HOUR), True, SETTINGS, at(3 * HOUR)).status is SignalStatus.OK


def test_a_process_that_is_down_is_restarted_before_it_is_judged() -> None:
    verdict = judge_process([Exit(at(0), -11)], False, SETTINGS, at(1))
    assert (verdict.status, verdict.reason) == (SignalStatus.INSUFFICIENT, "restarting")
    assert verdict.says == "the process ended by signal 11 and is down"


def test_an_unknown_code_is_told_as_unknown() -> None:
    """Scenario 15, as far as it is a judgement: never as 0."""
    verdict = judge_process([Exit(at(0), None)], True, SETTINGS, at(60))
    assert verdict.says == "runs; it ended 1 times, last with an unknown code 60 s ago"


def test_the_time_between_exits_of_two_boots_is_that_of_the_wall() -> None:
    exits = [Exit(at(0, "boot-a"), 1), Exit(at(3 * HOUR, "boot-b"), 1)]
    assert judge_process(exits, True, SETTINGS, at(3 * HOUR, "boot-b")).status is SignalStatus.OK


@given(
    st.lists(st.floats(0, 100_000), max_size=12).map(sorted),
    st.lists(st.floats(0, 100_000), max_size=6),
    st.integers(0, 12),
)
def test_only_true_crashes_count_and_asking_earlier_changes_nothing(
    times: list[float], stops: list[float], first: int
) -> None:
    exits = crashes(*times)
    mixed = sorted([*exits, *(Exit(at(each), 0, expected=True) for each in stops)], key=lambda each: each.at.ticks)
    final = judge_process(exits, True, SETTINGS, at(200_000))
    assert judge_process(mixed, True, SETTINGS, at(200_000)).status is final.status
    two = any(b - a <= 600 for a, b in pairwise(times))
    three = any(c - a <= 21_600 for a, c in zip(times, times[2:], strict=False))
    assert (final.status is SignalStatus.FAIL) == (two or three)
    if judge_process(exits[:first], True, SETTINGS, at(0)).status is SignalStatus.FAIL:
        assert final.status is SignalStatus.FAIL
