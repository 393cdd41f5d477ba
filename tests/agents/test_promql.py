"""PromQL through the tool, answered by a real Prometheus that holds one day."""

from collections.abc import Iterator

import pytest

from tests.agents.agent import Agent, over_stdio
from tests.ask.day import BEGAN, DAY, RUSH
from tests.ask.server import running

DEPTH = "topk(10, clamp_min(sum by (name) (gha_assigned_jobs) - sum by (name) (gha_running_jobs), 0))"


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with running(tmp_path_factory.mktemp("prometheus"), DAY) as address:
        folder = tmp_path_factory.mktemp("place")
        with over_stdio(folder, BUILD_EYE_PROMETHEUS__URL=address) as session:
            yield session


def test_the_guides_queue_depth_at_a_moment(asking: Agent) -> None:
    found, text = asking.told("promql", expression=DEPTH, time=RUSH[0].isoformat())
    depth = {each["labels"]["name"]: each["points"][0]["value"] for each in found["series"]}
    assert depth == {"linux-npu": 10.0, "linux-cpu": 0.0}
    assert found["warnings"] == [] and "name=linux-npu" in text


def test_a_range_has_a_point_each_step(asking: Agent) -> None:
    found, text = asking.told(
        "promql", expression="sum by (name) (gha_running_jobs)", since=BEGAN.isoformat(), until="2026-05-28T06:00:00Z",
        step="30m",
    )  # fmt: skip
    assert {len(each["points"]) for each in found["series"]} == {13}
    assert "13 points, least" in text


def test_series_are_cut_at_the_limit_and_counted(asking: Agent) -> None:
    found, _ = asking.told("promql", expression="ci_queue_length", time=RUSH[0].isoformat(), limit=1)
    assert len(found["series"]) == 1 and found["left_out"] == 1


def test_a_number_that_is_none_is_text(asking: Agent) -> None:
    found, _ = asking.told("promql", expression="ci_ratio", time=RUSH[0].isoformat())
    assert found["series"][0]["points"][0]["value"] == "NaN"


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("no_such_metric", "there is no metric no_such_metric"),
        ('gha_running_jobs{name="x"}', "no series fits"),
    ],
)
def test_an_empty_answer_says_why(asking: Agent, expression: str, says: str) -> None:
    found, text = asking.told("promql", expression=expression, time=RUSH[0].isoformat())
    assert found["series"] == [] and says in found["warnings"][0] and says in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"expression": "sum by ("}, "does not take the expression"),
        ({"expression": "up", "since": "30d", "step": "1s"}, "take a step of at least"),
        ({"expression": "up", "since": "now", "until": "5h"}, "before it begins"),
        ({"expression": "up", "since": "yesterday"}, "since"),
        ({"expression": "up", "since": "6h", "step": "often"}, "step"),
    ],
)
def test_a_wrong_question_is_one_sentence(asking: Agent, arguments: dict[str, str], says: str) -> None:
    assert says in asking.refused("promql", **arguments)
