"""Which names are shards of one job: told by themselves, or by the names beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.insight.shards import folded_names


@pytest.mark.parametrize(
    ("name", "one"),
    [
        ("unit (2/3)", "unit"),
        ("unit (py3.12, shard 2 of 3)", "unit (py3.12)"),
        ("unit (shard 2)", "unit"),
        ("unit (1, 1)", "unit"),
        ("node (18)", "node (18)"),
        ("node (18, 20)", "node (18, 20)"),
        ("node (20, 18)", "node (20, 18)"),
        ("e2e (v0.20.2)", "e2e (v0.20.2)"),
        ("plain 1/2", "plain 1/2"),
        ("plain 1, 2", "plain 1, 2"),
        ("odd (00000000001, 3)", "odd (00000000001, 3)"),
    ],
)
def test_one_name_alone(name: str, one: str) -> None:
    assert folded_names([name]) == {name: one}


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["t (d, 1, 3, linux)", "t (d, 3, 3, linux)"], {"t (d, linux)"}),
        (["t (d, 2, 5, linux)", "t (d, 3, 5, linux)", "t (d, 4, 5, linux)"], {"t (d, linux)"}),
        (["t (d, 1, 5, linux)", "t (d, 2, 5, linux)"], {"t (d, 1, 5, linux)", "t (d, 2, 5, linux)"}),
        (["node (18, 20)", "node (20, 22)", "node (18, 22)"], {"node (18, 20)", "node (20, 22)", "node (18, 22)"}),
        (["py (3, 11)", "py (3, 12)", "py (3, 13)"], {"py (3, 11)", "py (3, 12)", "py (3, 13)"}),
        (["t (20, 1, 2)", "t (20, 2, 2)", "t (22, 1, 2)", "t (22, 2, 2)"], {"t (20)", "t (22)"}),
        (["t (18, 20, 1, 2)", "t (18, 20, 2, 2)"], {"t (18, 20)"}),
        (["a (1, 2)", "a (2, 2)", "b (18, 20)"], {"a", "b (18, 20)"}),
    ],
    ids=["both ends", "most of five", "two of five", "two versions", "minor versions", "version and shard",
         "two versions and shard", "each job for itself"],
)  # fmt: skip
def test_numbers_side_by_side_are_shards_when_half_of_them_are_there(names: list[str], folded: set[str]) -> None:
    assert set(folded_names(names).values()) == folded


def test_shards_that_were_counted_anew_stay_one_job() -> None:
    names = [f"t (d, {k}, {n})" for n in (3, 5) for k in range(1, n + 1)] + ["t (d, 1, 9)"]
    assert set(folded_names(names).values()) == {"t (d)"}


@given(st.lists(st.text(alphabet="t(12, )/#"), max_size=8), st.data())
def test_the_order_of_names_does_not_matter_and_none_is_lost(names: list[str], data: st.DataObject) -> None:
    folded = folded_names(names)
    assert set(folded) == set(names)
    assert folded_names(data.draw(st.permutations(names + names[:2]))) == folded
