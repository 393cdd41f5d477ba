"""The verdict on health probes: outages, flapping, shared trouble, and checks that could not be made."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.deploy.judges.http import HttpSettings, Probe, judge_http, next_probe, wants_control
from buildeye.model.deployments import HealthVerdict, SignalStatus
from tests.deploy.moments import at

SETTINGS = HttpSettings()
INTERVAL = 30.0


def scheduled(outcomes: str, settings: HttpSettings = SETTINGS) -> list[Probe]:
    """Probes in the rhythm of a supervisor: + answers, - fails, ? could not be made."""
    probes: list[Probe] = []
    seconds = 0.0
    for outcome in outcomes:
        probes.append(Probe(outcome == "+", at(seconds), error=outcome == "?", detail="" if outcome == "+" else "503"))
        seconds += next_probe(probes, INTERVAL, settings)
    return probes


def beside(probes: list[Probe], outcomes: str) -> list[Probe]:
    """Control probes a second after each probe: a space makes none."""
    return [
        Probe(outcome == "+", at(probe.at.ticks - 1000 + 1))
        for probe, outcome in zip(probes, outcomes, strict=True)
        if outcome != " "
    ]


def judged(outcomes: str, control: str = "") -> HealthVerdict:
    probes = scheduled(outcomes)
    return judge_http(probes, beside(probes, control.ljust(len(outcomes))), SETTINGS, at(10_000))


@pytest.mark.parametrize(
    ("outcomes", "status", "reason"),
    [
        ("", "insufficient", "no-probes"),
        ("+", "ok", "http-answers"),
        ("+-", "insufficient", "failing"),
        ("+---", "insufficient", "failing"),
        ("+----", "fail", "http-down"),
        ("----", "fail", "http-down"),
        ("---+-", "insufficient", "failing"),
        ("---+---+", "ok", "http-answers"),
        ("---+---+---+---", "fail", "http-flaps"),
        ("+-+-+-+-+-+-+-+", "fail", "http-flaps"),
        ("+-+-+-+-+-+-+-", "insufficient", "failing"),
        ("+++-+++-+++-", "insufficient", "failing"),
        ("?", "error", "http-unknown"),
        ("+?", "error", "http-unknown"),
        ("--??--", "fail", "http-down"),
        ("---?", "error", "http-unknown"),
        ("????????????", "error", "http-unknown"),
        ("----++++++++", "fail", "http-down"),
    ],
)
def test_probes_in_a_row(outcomes: str, status: str, reason: str) -> None:
    verdict = judged(outcomes)
    assert (str(verdict.status), verdict.reason) == (status, reason)


def test_probes_that_fail_on_both_versions_hold() -> None:
    """Scenario 11: 503 on both, their database is down; it holds for as long as that lasts and then is good again."""
    for length in range(4, 60):
        verdict = judged("+" + "-" * length, " " + "-" * length)
        assert (verdict.status, verdict.reason) == (SignalStatus.INSUFFICIENT, "both-fail")
        assert "the old version fails as well" in verdict.says
    assert judged("-" * 12 + "+" * 25, "-" * 12).status is SignalStatus.OK


def test_the_new_version_fails_when_only_the_old_one_comes_back_from_a_shared_outage() -> None:
    outage = "-" * 20
    assert judged(outage + "--", outage + "++").reason == "both-fail"
    assert judged(outage + "---", outage + "+++").reason == "http-down"


def test_one_lost_control_probe_does_not_hide_an_outage() -> None:
    assert judged("+----", " +-++").reason == "http-down"
    assert judged("+----", " --++").reason == "both-fail"
    assert judged("+-----", " --+++").reason == "http-down"


def test_failures_of_a_shared_outage_do_not_count_as_flapping_of_the_new_version() -> None:
    probes = scheduled("-" * 20 + "+" * 5 + "-" + "+")
    control = beside(probes, "-" * 20 + " " * 5 + "+" + " ")
    assert judge_http(probes, control, SETTINGS, at(10_000)).reason == "both-fail"


def test_a_control_probe_of_another_time_is_no_excuse() -> None:
    probes = scheduled("++++----")
    early = [Probe(False, at(0)), Probe(False, at(31))]
    assert judge_http(probes, early, SETTINGS, at(10_000)).reason == "http-down"
    errors = [replace(probe, error=True) for probe in beside(probes, "    ----")]
    assert judge_http(probes, errors, SETTINGS, at(10_000)).reason == "http-down"


def failing_until_seen(down: "list[tuple[float, float]]", start: float) -> float:
    """Seconds from the beginning of trouble at `start` until FAIL, probing by the real rhythm; `down` are stretches."""
    probes: list[Probe] = []
    seconds = 0.0
    while seconds < start + 3600:
        probes.append(Probe(not any(a <= seconds < b for a, b in down), at(seconds)))
        if judge_http(probes, [], SETTINGS, at(seconds)).status is SignalStatus.FAIL:
            return seconds - start
        seconds += next_probe(probes, INTERVAL, SETTINGS)
    return float("inf")


def test_an_outage_is_seen_within_a_minute_whenever_it_begins() -> None:
    assert max(failing_until_seen([(600 + k, 1e9)], 600 + k) for k in range(30)) <= 60


def test_a_service_that_flaps_is_caught_within_ten_minutes() -> None:
    """Scenario 10: up and down in turns, down at least half of the time, in periods from 20 s to 5 min."""
    for period in (20, 40, 60, 100, 300):
        for phase in range(0, 60, 7):
            start = 1200.0 + phase
            down = [(start + k * period, start + k * period + period / 2) for k in range(400)]
            assert failing_until_seen(down, start) <= 600, (period, phase)


def test_a_service_whose_every_second_answer_fails_is_caught_within_ten_minutes() -> None:
    """Scenario 10, by chance instead of by the clock: at least 99 of 100 such services."""
    rng = random.Random(10)
    late = 0
    for _ in range(200):
        probes: list[Probe] = [Probe(True, at(-30.0 * k)) for k in range(20, 0, -1)]
        seconds = 0.0
        while judge_http(probes, [], SETTINGS, at(seconds)).status is not SignalStatus.FAIL:
            probes.append(Probe(rng.random() < 0.5, at(seconds)))
            seconds += next_probe(probes, INTERVAL, SETTINGS)
        late += probes[-1].at.since(at(0)) > 600
    assert late <= 2


def test_failures_with_a_long_pause_between_are_not_in_a_row() -> None:
    probes = [Probe(False, at(s)) for s in (0, 8, 16, 3600)]
    assert judge_http(probes, [], SETTINGS, at(3600)).reason == "failing"


def test_the_window_is_one_of_time_not_of_samples() -> None:
    few = [Probe(k % 2 == 0, at(200.0 * k)) for k in range(40)]
    assert judge_http(few, [], SETTINGS, at(8000)).status is not SignalStatus.FAIL
    many = [Probe(k % 2 == 0, at(30.0 * k)) for k in range(40)]
    assert judge_http(many, [], SETTINGS, at(1200)).reason == "http-flaps"


@pytest.mark.parametrize(
    ("outcomes", "seconds"), [("", 30), ("+", 30), ("+-", 8), ("+?", 8), ("-++", 8), ("-+++", 30)],
)  # fmt: skip
def test_after_a_failure_it_is_asked_more_often_until_three_in_a_row_answer(outcomes: str, seconds: float) -> None:
    assert next_probe(scheduled(outcomes), INTERVAL, SETTINGS) == seconds
    assert next_probe(scheduled(outcomes), 5, SETTINGS) <= 5


def test_the_old_version_is_asked_beside_a_failure_only() -> None:
    assert wants_control(scheduled("+-"))
    assert not any(wants_control(scheduled(outcomes)) for outcomes in ("", "+", "-?", "-+"))


probe_text = st.text(alphabet="+++--?", max_size=60)


@given(probe_text, st.text(alphabet="+- ", max_size=60), st.integers(1, 60))
def test_how_often_it_is_asked_never_changes_whether_it_fails(outcomes: str, controls: str, first: int) -> None:
    probes = scheduled(outcomes)
    control = beside(probes, controls[: len(outcomes)].ljust(len(outcomes)))
    early = [probe for probe in control if not probes[first:] or probe.at.ticks < probes[first].at.ticks]
    so_far = judge_http(probes[:first], early, SETTINGS, at(0))
    final = judge_http(probes, control, SETTINGS, at(0))
    if so_far.status is SignalStatus.FAIL:
        assert final == so_far
    if final.status is SignalStatus.FAIL:
        assert any(
            judge_http(
                probes[: k + 1],
                [c for c in control if k + 1 >= len(probes) or c.at.ticks < probes[k + 1].at.ticks],
                SETTINGS,
                at(0),
            )
            == final
            for k in range(len(probes))
        )


@given(probe_text)
def test_checks_that_could_not_be_made_never_fail_a_version(outcomes: str) -> None:
    """Without them the same probes, at the same times, fail or do not fail alike."""
    probes = scheduled(outcomes)
    made = [probe for probe in probes if not probe.error]
    with_errors = judge_http(probes, [], SETTINGS, at(0)).status is SignalStatus.FAIL
    assert with_errors == (judge_http(made, [], SETTINGS, at(0)).status is SignalStatus.FAIL)
