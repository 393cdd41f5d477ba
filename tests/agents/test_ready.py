"""The ready questions about a branch, its runners and its tests: the answers are those of the commands."""

import json
from typing import Any

import pytest

from tests.agents.agent import Agent
from tests.agents.conftest import FAILING, Filled
from tests.pipeline.places import Place


@pytest.fixture(scope="module", autouse=True)
def tested(filled: Filled) -> None:
    """A report of three tests is ingested, as of a run that the warehouse knows."""
    done = Place(filled.folder).run("ingest", "junit", "junit.xml", "--run", "5", "--job", "6", config=False)
    assert done.returncode == 0, done.stderr


def of_command(filled: Filled, *arguments: str) -> Any:
    done = Place(filled.folder).run(*arguments, "-o", "json", config=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_failures_are_those_of_the_command(agent: Agent, filled: Filled) -> None:
    found, text = agent.told("failures", since="2w")
    shown = of_command(filled, "failures", "--since", "2w")
    assert [each["name"] for each in found["failures"]] == [each["name"] for each in shown] and shown
    assert found["failures"] == shown and found["left_out"] == 0
    assert shown[0]["name"] in text and "whose: " in text


def test_failures_are_as_many_as_were_asked_for(agent: Agent) -> None:
    found, _ = agent.told("failures", since="2w", limit=1)
    assert len(found["failures"]) == 1


def test_a_branch_without_failures_has_none(agent: Agent) -> None:
    found, text = agent.told("failures", branch="gone")
    assert found["failures"] == [] and "no jobs failed" in text


def test_the_queue_of_this_moment_has_the_columns_of_the_command(agent: Agent, filled: Filled) -> None:
    found, _ = agent.told("queue")
    shown = of_command(filled, "queue")
    assert [(each["label"], each["depth"]) for each in found["now"]] == [(row["label"], row["depth"]) for row in shown]
    assert found["over_time"] == []


def test_the_queue_over_time_has_a_pattern(agent: Agent, filled: Filled) -> None:
    found, text = agent.told("queue", since="24h", bucket="6h", limit=500)
    shown = of_command(filled, "queue", "--since", "24h", "--bucket", "6h")
    assert found["now"] == [] and len(found["over_time"]) == len(shown) > 0
    assert set(found["over_time"][0]) == set(shown[0])
    assert found["over_time"][0]["pattern"] in ("capacity", "burst", "calm") and "deepest" in text


def test_tests_of_a_file_are_those_of_the_command(agent: Agent, filled: Filled) -> None:
    found, text = agent.told("test_file", file=FAILING)
    shown = of_command(filled, "tests", FAILING)
    kept = [{key: value for key, value in each.items() if key != "quarantine"} for each in shown]
    assert found["tests"] == kept and len(kept) == 3
    assert found["tests"][0]["name"] == "test_topk" and "1 failed" in text


def test_a_test_is_found_by_the_end_of_its_id(agent: Agent, filled: Filled) -> None:
    found, text = agent.told("test_history", id="test_topk")
    (shown,) = of_command(filled, "tests", "history", "test_topk")
    for name in ("id", "runs", "fails", "days", "jobs", "messages", "state", "last_failure", "seconds"):
        assert found[name] == shown[name], name
    assert found["left_out"] == 0 and "last failure: " in text


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("test_file", {"file": "ut/sample/test_sampler.py"}, f"the nearest are {FAILING}"),
        ("test_file", {"file": "nothing/like/this"}, "ask for an earlier since"),
        ("test_history", {"id": "test_"}, "there is no run of"),
        ("test_history", {"id": "test_topk", "since": "soon"}, "since"),
        ("failures", {"since": "2100-01-01"}, "not over yet"),
        ("queue", {"since": "30d", "bucket": "1s"}, "more than 2,000"),
        ("queue", {"since": "1d", "bucket": "long"}, "bucket"),
    ],
)
def test_a_wrong_question_is_one_sentence(agent: Agent, tool: str, arguments: Any, says: str) -> None:
    assert says in agent.refused(tool, **arguments)
