"""A probability that is said is one that was measured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.calibration import calibrated, table

SHARES = st.floats(min_value=0, max_value=1)


@given(SHARES, SHARES)
def test_the_more_a_rule_states_the_more_is_said(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert calibrated(low) <= calibrated(high)


@given(SHARES)
def test_it_stays_a_probability(stated: float) -> None:
    assert 0 <= calibrated(stated) <= 1


@pytest.mark.parametrize(("stated", "said"), list(zip(*table(), strict=True)))
def test_the_points_of_the_table_are_said_as_they_are(stated: float, said: float) -> None:
    assert calibrated(stated) == pytest.approx(said)


@given(st.floats(min_value=0, max_value=0.879))
def test_nothing_is_lifted_into_certainty(stated: float) -> None:
    assert calibrated(stated) < 0.9
