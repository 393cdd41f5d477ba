"""The verdict on canary tasks: one failure is confirmed, and the old version is the control."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.deploy.judges.canary import CanaryRun, CanarySettings, judge_canary, next_canary
from buildeye.model.deployments import HealthVerdict, SignalStatus
from tests.deploy.moments import at

SETTINGS = CanarySettings()


def runs(text: str) -> list[CanaryRun]:
    """Runs of a text, one word a run: + or - or ? for this version, then + or - for the control, then c: confirms."""
    return [
        CanaryRun(
            ok=word[0] == "+",
            at=at(60.0 * k),
            control={"+": True, "-": False}.get(word[1:2]),
            error=word[0] == "?",
            confirms=word.endswith("c"),
        )
        for k, word in enumerate(text.split())
    ]


def judged(text: str) -> HealthVerdict:
    return judge_canary(runs(text), SETTINGS, at(10_000))


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("", "insufficient", "no-runs"),
        ("+", "ok", "canary-passed"),
        ("+ -", "insufficient", "confirm"),
        ("+ - +c", "ok", "not-confirmed"),
        ("+ - +c +", "ok", "canary-passed"),
        ("- -+c", "fail", "canary-failed"),
        ("- -c", "fail", "canary-failed"),
        ("- --c", "insufficient", "environment"),
        ("- --c +", "ok", "canary-passed"),
        ("- --c -", "insufficient", "confirm"),
        ("- --c - -+c", "fail", "canary-failed"),
        ("+ -c", "insufficient", "confirm"),
        ("- + -", "insufficient", "confirm"),
        ("?", "error", "canary-unknown"),
        ("- ?c", "error", "canary-unknown"),
        ("- ?c -+c", "fail", "canary-failed"),
        ("- -+c + + +", "fail", "canary-failed"),
    ],
)
def test_runs(text: str, status: str, reason: str) -> None:
    verdict = judged(text)
    assert (str(verdict.status), verdict.reason) == (status, reason)
    assert verdict.says


def test_one_slow_canary_and_a_good_one_after_it_are_ok() -> None:
    """Scenario 8: both runs are counted, none is lost."""
    verdict = judged("- +c")
    assert verdict.status is SignalStatus.OK
    assert verdict.numbers == {"passed": 1, "failed": 1}


def test_a_canary_that_fails_on_new_and_old_holds() -> None:
    """Scenario 9."""
    verdict = judged("+ -- --c")
    assert (verdict.status, verdict.reason) == (SignalStatus.INSUFFICIENT, "environment")
    assert verdict.says == "the canary failed twice, and on the old version too: not the new version's trouble alone"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", (3600, False)), ("+", (3600, False)), ("-", (10, True)), ("- ?c", (10, True)), ("?", (10, False)),
     ("- +c", (3600, False)), ("- --c", (3600, False))],
)  # fmt: skip
def test_when_the_next_run_is_due_and_what_for(text: str, expected: tuple[float, bool]) -> None:
    assert next_canary(runs(text), 3600, SETTINGS) == expected


words = st.lists(st.sampled_from(["+", "-", "?", "-+c", "--c", "+c", "-c"]), max_size=12)


@given(words, st.integers(0, 12))
def test_how_often_it_is_asked_never_changes_whether_it_fails(history: list[str], first: int) -> None:
    every = runs(" ".join(history))
    so_far, final = judge_canary(every[:first], SETTINGS, at(0)), judge_canary(every, SETTINGS, at(0))
    if so_far.status is SignalStatus.FAIL:
        assert final == so_far


@given(words)
def test_a_single_failure_never_fails_a_version(history: list[str]) -> None:
    verdict = judged(" ".join(history))
    if verdict.status is SignalStatus.FAIL:
        assert isinstance(failed := verdict.numbers["failed"], int)
        assert failed >= 2
