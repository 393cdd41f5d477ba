"""The sequential Fisher test against scipy, against exact evaluation on a finer grid, and published constants."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped] # it ships no types

from buildeye.deploy.judges import fisher
from buildeye.deploy.judges.fisher import boundary, calibrate, cut, p_value, threshold
from buildeye.model import UsageError

PUBLISHED = Path(__file__).parents[3] / "shared" / "corpus" / "deploy" / "sequential_fisher_thresholds.json"


@given(st.data())
def test_a_p_value_is_that_of_the_hypergeometric_distribution(data: st.DataObject) -> None:
    n0, n = data.draw(st.integers(1, 200)), data.draw(st.integers(1, 100))
    s0, s = data.draw(st.integers(0, n0)), data.draw(st.integers(0, n))
    expected = stats.hypergeom(n0 + n, s0 + s, n).cdf(s)
    assert p_value(s, n, s0, n0) == pytest.approx(expected, rel=1e-8, abs=1e-300)


def test_a_p_value_is_that_of_fishers_exact_test_with_fewer_approved_as_the_alternative() -> None:
    expected = stats.fisher_exact([[3, 5], [45, 5]], alternative="less").pvalue
    assert p_value(3, 8, 45, 50) == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(-1, 5, 3, 5), (6, 5, 3, 5), (1, 5, 6, 5), (1, 5, -1, 5)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, int, int, int]) -> None:
    with pytest.raises(UsageError, match="no counts of approved tasks"):
        p_value(*counts)


def test_the_boundary_of_45_of_50_is_the_one_of_the_design() -> None:
    line = dict(boundary(45, 50, 0.01, 50))
    assert {n: line[n] for n in (3, 5, 8, 10, 15, 20, 30, 50)} == {
        3: 0, 5: 1, 8: 3, 10: 4, 15: 7, 20: 11, 30: 18, 50: 32,
    }  # fmt: skip
    assert min(line) == 3


def test_each_count_of_a_boundary_fails_and_one_more_does_not() -> None:
    for s0, n0 in ((45, 50), (20, 20), (6, 10), (25, 50)):
        c = threshold(0.01, n0, 50).c
        for n, most in boundary(s0, n0, 0.01, 50):
            assert p_value(most, n, s0, n0) <= c < p_value(most + 1, n, s0, n0)


def test_a_margin_leaves_out_drops_that_are_real_but_small() -> None:
    plain, with_margin = dict(boundary(196, 200, 0.05, 50)), dict(boundary(196, 200, 0.05, 50, 0.15))
    assert (plain[50], with_margin[50]) == (44, 41)
    assert all(most <= plain[n] for n, most in with_margin.items())


def test_a_drop_of_exactly_the_margin_is_as_large_as_the_margin() -> None:
    assert fisher.is_below(8, 10, 9, 10, 0.10)
    assert not fisher.is_below(81, 100, 9, 10, 0.10)


@pytest.mark.parametrize("tasks", [20, 30, 50])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("n0", [10, 15, 20, 30, 50, 75])
def test_the_shipped_table_is_what_calibration_gives(alpha: float, n0: int, tasks: int) -> None:
    shipped, made = threshold(alpha, n0, tasks), calibrate(alpha, n0, tasks)
    assert shipped.c == made.c
    assert shipped.worst == pytest.approx(made.worst, abs=1e-7)
    assert made.worst <= alpha


def exact_false_alarm(rate: float, c: float, n0: int, tasks: int) -> float:
    """The probability of an alarm by another way: for each s0 a walk over (n, s) with probabilities, not counts."""
    total = 0.0
    for s0, weight in enumerate(stats.binom(n0, rate).pmf(range(n0 + 1))):
        walk, alarm = {0: 1.0}, 0.0
        for n in range(1, tasks + 1):
            step: dict[int, float] = {}
            for s, chance in walk.items():
                step[s] = step.get(s, 0.0) + chance * (1 - rate)
                step[s + 1] = step.get(s + 1, 0.0) + chance * rate
            crossed = {s for s in step if p_value(s, n, s0, n0) <= c}
            alarm += sum(step.pop(s) for s in crossed)
            walk = step
        total += float(weight) * alarm
    return total


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.77, 0.9, 0.95])
def test_a_false_alarm_is_as_likely_as_a_walk_over_all_outcomes_says(rate: float) -> None:
    c = threshold(0.01, 20, 20).c
    assert fisher.false_alarm(rate, c, 20, 20) == pytest.approx(exact_false_alarm(rate, c, 20, 20), rel=1e-9)


@pytest.mark.parametrize(("alpha", "n0", "tasks"), [(0.01, 50, 50), (0.05, 50, 50), (0.01, 10, 20), (0.01, 200, 50)])
def test_no_rate_of_a_ten_times_finer_grid_breaks_the_bound(alpha: float, n0: int, tasks: int) -> None:
    limit = threshold(alpha, n0, tasks)
    rates = [math.sin(k / 4000 * math.pi / 2) ** 2 for k in range(1, 4000)]
    found = [fisher.false_alarm(rate, limit.c, n0, tasks) for rate in rates]
    assert max(found) <= min(alpha, limit.worst + 1e-7)
    assert max(found) == pytest.approx(limit.worst, abs=1e-5)


@pytest.mark.parametrize(("alpha", "n0", "tasks"), [(0.01, 50, 50), (0.05, 30, 20), (0.01, 10, 30)])
def test_the_next_larger_p_value_would_break_the_bound(alpha: float, n0: int, tasks: int) -> None:
    c = calibrate(alpha, n0, tasks).c
    later = min(
        p for s0 in range(n0 + 1) for n in range(1, tasks + 1) for s in range(n + 1) if (p := p_value(s, n, s0, n0)) > c
    )
    assert fisher.worst_false_alarm(later, n0, tasks) > alpha


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"the published thresholds are not at {PUBLISHED}")
def test_published_thresholds_have_the_published_false_alarm_and_ours_are_at_least_as_large() -> None:
    """Their rates are a coarser grid and their c is rounded to a millionth: hence a worst case within 1.5e-4."""
    for name, (c, worst) in json.loads(PUBLISHED.read_text()).items():
        alpha, tasks, n0 = (float(part.split("=")[1]) for part in name.split())
        if tasks * n0 > 5000:
            continue
        assert fisher.worst_false_alarm(c, int(n0), int(tasks)) == pytest.approx(worst, abs=1.5e-4), name
        assert threshold(alpha, int(n0), int(tasks)).worst >= worst - 1.5e-4, name


@pytest.mark.parametrize(
    ("good", "total", "expected"),
    [(45, 50, (45, 50)), (55, 60, (45, 50)), (163, 180, (135, 150)), (199, 199, (150, 150)), (300, 400, (150, 200)),
     (9, 14, (6, 10)), (5, 9, (0, 0))],
)  # fmt: skip
def test_a_baseline_is_cut_down_to_a_column_and_never_up(good: int, total: int, expected: tuple[int, int]) -> None:
    assert cut(good, total) == expected


@pytest.mark.parametrize("n0", [14, 19, 29, 49])
@pytest.mark.parametrize("rate", [0.3, 0.5, 0.7, 0.9, 0.97])
def test_a_baseline_that_is_cut_down_keeps_the_bound(n0: int, rate: float) -> None:
    total = 0.0
    for s0, weight in enumerate(stats.binom(n0, rate).pmf(range(n0 + 1))):
        line = dict(boundary(s0, n0, 0.05, 20))
        walk, alarm = [1.0], 0.0
        for n in range(1, 21):
            walk = [
                a * (1 - rate) + b * rate for a, b in zip([*walk, 0.0], [0.0, *walk], strict=True)
            ]  # fmt: skip
            for s in range(line.get(n, -1) + 1):
                alarm, walk[s] = alarm + walk[s], 0.0
        total += float(weight) * alarm
    assert total <= 0.05


def test_a_threshold_that_is_not_in_the_table_is_calibrated() -> None:
    assert threshold(0.02, 12, 12) == calibrate(0.02, 10, 12)


def test_a_baseline_below_the_first_column_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 10 are needed"):
        threshold(0.01, 9, 50)
    with pytest.raises(UsageError, match="cannot be calibrated"):
        calibrate(0.0, 10, 50)
