"""Simulated deployments: what the default profile and the original rule do with services whose truth is known."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped] # it ships no types

from buildeye.deploy.judges import HttpSettings, Probe, judge_http, next_probe
from buildeye.deploy.simulation import Outcome, Rules, Scenario, simulate
from buildeye.deploy.simulation.probing import judged_patterns, moment, probe_until
from buildeye.model import UsageError
from buildeye.model.deployments import SignalKind, SignalStatus

HOUR = 3600.0


def healthy(rate: float) -> Scenario:
    """A new version as good as the old one, with the flakes of any network."""
    return Scenario(f"healthy {rate}", rate, rate, canary_flake=0.005, http_flake=0.01)


def test_the_same_seed_gives_the_same_tally_and_another_one_another() -> None:
    scenario = healthy(0.7)
    first = simulate(scenario, 50, 1)
    assert first == simulate(scenario, 50, 1)
    assert first.endings != simulate(scenario, 50, 2).endings


def test_a_profile_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="one of default, classic"):
        simulate(Scenario(), 1, 1, "lenient")
    with pytest.raises(UsageError, match="at least 1"):
        simulate(Scenario(), 0, 1)


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_a_healthy_deployment_is_rarely_rolled_back_and_closes_clean(rate: float) -> None:
    tally = simulate(healthy(rate), 400, 11)
    assert tally.share(Outcome.ROLLED_BACK) <= 0.025
    assert tally.share(Outcome.CLEAN) >= 0.97


def seeds_false_rollback(rate: float, baseline: int = 50, tasks: int = 10) -> float:
    """Exactly: 30 points of difference after any of the first tasks, in either direction, nothing having changed."""
    total = 0.0
    for s0, weight in enumerate(stats.binom(baseline, rate).pmf(range(baseline + 1))):
        quiet = {0: 1.0}
        for n in range(1, tasks + 1):
            step: dict[int, float] = {}
            for s, chance in quiet.items():
                step[s] = step.get(s, 0.0) + chance * (1 - rate)
                step[s + 1] = step.get(s + 1, 0.0) + chance * rate
            quiet = {s: c for s, c in step.items() if 10 * abs(s * baseline - s0 * n) <= 3 * baseline * n}
        total += float(weight) * (1 - sum(quiet.values()))
    return total


@pytest.mark.parametrize(("rate", "expected"), [(0.5, 0.998), (0.7, 0.67), (0.8, 0.34), (0.9, 0.21), (0.95, 0.12)])
def test_the_original_rule_costs_what_the_design_says(rate: float, expected: float) -> None:
    """Exactly by enumeration, and about so in simulated deployments, whose samples now and then skip a task."""
    exact = seeds_false_rollback(rate)
    assert exact == pytest.approx(expected, abs=0.006)
    tally = simulate(Scenario(f"original {rate}", rate, rate, tasks_per_hour=1), 1500, 3, "classic")
    assert tally.share(Outcome.ROLLED_BACK) == pytest.approx(exact, abs=0.05)


def test_a_drop_from_nine_in_ten_to_one_in_two_is_found_within_a_dozen_tasks() -> None:
    tally = simulate(Scenario("drop", 0.9, 0.5), 400, 5)
    median = tally.median_tasks(SignalKind.RATE)
    assert median is not None
    assert median <= 13
    assert tally.found(SignalKind.RATE, tasks=50) >= 0.94


def test_an_improvement_is_never_rolled_back_but_the_original_rule_does_that() -> None:
    """Scenario 3."""
    better = Scenario("better", 0.5, 0.95)
    assert simulate(better, 200, 5).share(Outcome.ROLLED_BACK) <= 0.005
    assert simulate(better, 200, 5, "classic").share(Outcome.ROLLED_BACK) >= 0.9


@pytest.mark.parametrize("profile_share", [("default", Outcome.INSUFFICIENT), ("classic", Outcome.CLEAN)])
def test_without_tasks_it_closes_as_insufficient_where_the_original_rule_says_clean(
    profile_share: tuple[str, Outcome],
) -> None:
    """Scenario 6."""
    profile, outcome = profile_share
    tally = simulate(Scenario("silent", tasks_per_hour=0), 20, 5, profile)
    assert tally.share(outcome) == 1
    assert {each.seconds >= 24 * HOUR for each in tally.endings} == {True}


def test_verdicts_that_take_days_leave_it_open_to_the_deadline() -> None:
    """Scenarios 4 and 5: tasks enter validation at once and have no verdict within two days."""
    tally = simulate(Scenario("slow", tasks_per_hour=20, verdict_seconds=72 * HOUR), 5, 5)
    assert {(each.outcome, each.tasks) for each in tally.endings} == {(Outcome.INSUFFICIENT, 0)}


def test_an_outage_is_seen_within_a_minute() -> None:
    tally = simulate(Scenario("outage", outage_at=2 * HOUR, http_flake=0.01), 300, 5)
    assert tally.found(SignalKind.HTTP) >= 0.98
    assert tally.seconds(SignalKind.HTTP, since=2 * HOUR)[-1] <= 60


@pytest.mark.parametrize("period", [20, 40, 60, 150, 300])
def test_a_service_that_flaps_is_rolled_back_within_ten_minutes(period: float) -> None:
    """Scenario 10."""
    tally = simulate(Scenario(f"flaps {period}", flap_at=HOUR, flap_seconds=period, http_flake=0.01), 100, 5)
    assert tally.found(SignalKind.HTTP) >= 0.98
    assert tally.seconds(SignalKind.HTTP, since=HOUR)[-1] <= 600


def test_an_outage_of_both_versions_is_held_and_then_closes_clean() -> None:
    """Scenario 11."""
    scenario = Scenario("shared", outage_at=HOUR, outage_seconds=900, shared=True, http_flake=0.01)
    tally = simulate(scenario, 20, 5)
    assert tally.held == 20
    assert tally.found(SignalKind.HTTP) == 0
    assert tally.share(Outcome.CLEAN) >= 0.95


def test_a_rate_that_cannot_be_read_asks_a_person_after_ten_minutes() -> None:
    """Scenario 7."""
    tally = simulate(Scenario("no source", source_down_at=5 * HOUR), 20, 5)
    assert {(e.outcome, e.seconds) for e in tally.endings if e.outcome is not Outcome.ROLLED_BACK} == {
        (Outcome.ATTENTION, 5 * HOUR + 600)
    }


@pytest.mark.parametrize(
    ("crashes", "seen"),
    [((HOUR,), None), ((HOUR, HOUR + 300), HOUR + 300), ((HOUR, 2 * HOUR, 3 * HOUR), 3 * HOUR), ((0, 3 * HOUR), None)],
)
def test_crashes_are_seen_the_moment_they_are_too_many(crashes: tuple[float, ...], seen: float | None) -> None:
    """Scenarios 12 and 14: none of them is down at a sample, so the original rule sees nothing."""
    scenario = Scenario(f"crashes {len(crashes)}", 1.0, 1.0, crashes=crashes)
    ends = {e.seconds for e in simulate(scenario, 5, 5).endings if e.signal is SignalKind.PROCESS}
    assert ends == ({seen} if seen is not None else set())
    assert not simulate(scenario, 5, 5, "classic").signals


def test_a_broken_task_is_found_by_the_canary_within_an_hour() -> None:
    """Scenario 9, both ways: alone it is rolled back, on both versions it is held."""
    alone = simulate(Scenario("broken", canary_down_at=2.5 * HOUR, tasks_per_hour=0), 20, 5)
    assert {(e.signal, e.seconds) for e in alone.endings} == {(SignalKind.CANARY, 3 * HOUR + 10)}
    both = simulate(Scenario("both broken", canary_down_at=2.5 * HOUR, tasks_per_hour=0, shared=True), 20, 5)
    assert (both.held, both.share(Outcome.ROLLED_BACK)) == (20, 0)


def test_a_median_counts_what_was_not_found_as_endless() -> None:
    tally = simulate(Scenario("small drop", 0.9, 0.85), 40, 5)
    assert tally.found(SignalKind.RATE) < 0.5
    assert tally.median_tasks(SignalKind.RATE) is None


def one_by_one(flake: float, until: float, rules: Rules, rng: Random) -> bool:
    """The same walk without any shortcut: each probe is made, and the judge is asked after each failure."""
    probes: list[Probe] = []
    control: list[Probe] = []
    at = rng.random() * rules.http_interval
    while at < until or not probes[-1].ok:
        probes.append(Probe(rng.random() >= flake, moment(at)))
        if not probes[-1].ok:
            control.append(Probe(rng.random() >= flake, moment(at + 0.5)))
            if judge_http(probes[-76:], control[-76:], rules.http, moment(at)).status is SignalStatus.FAIL:
                return True
        at += next_probe(probes, rules.http_interval, rules.http)
    return False


def test_skipping_good_probes_changes_no_probability() -> None:
    """At a flake of 15 % about a quarter fail within an hour, with every shortcut and without any."""
    scenario, rules, many = Scenario(http_flake=0.15), Rules(), 200
    quick = sum(probe_until(scenario, HOUR, rules, rng).failed is not None for rng in map(Random, range(many)))
    slow = sum(one_by_one(0.15, HOUR, rules, rng) for rng in map(Random, range(many, 2 * many)))
    assert stats.fisher_exact([[quick, many - quick], [slow, many - slow]]).pvalue > 0.001
    assert 10 < slow < many - 10


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=8), st.integers(0, 20),
)  # fmt: skip
def test_a_pattern_is_judged_as_its_probes_are(failures: list[tuple[int, bool]], before: int) -> None:
    rules = Rules(http=HttpSettings(failures=3))
    probes = [Probe(True, moment(-30.0 * k)) for k in range(before, 0, -1)]
    control: list[Probe] = []
    at = 0.0
    for place, (good, old_answers) in enumerate(failures):
        for ok in [True] * (good if place else 0) + [False]:
            probes.append(Probe(ok, moment(at)))
            if not ok:
                control.append(Probe(old_answers, moment(at + 0.5)))
            at += next_probe(probes, rules.http_interval, rules.http)
    verdict = judge_http(probes, control, rules.http, moment(at))
    assert judged_patterns(rules).verdict(before, tuple(failures)) == (verdict.status, verdict.reason)
