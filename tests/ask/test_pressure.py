"""The load of runner pools comes from what Prometheus holds, and its absence never fails a pass."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from buildeye.ask import Prometheus
from buildeye.config import Settings
from buildeye.model import PoolLoad
from buildeye.pipeline.pressure import STEP, loads_of_pass, pool_loads

from .day import BEGAN, ENDED, RUSH


def settings(**asked: Any) -> Settings:
    return Settings.model_validate({"prometheus": asked})


def loads(prometheus: Prometheus, **asked: Any) -> tuple[list[PoolLoad], list[str]]:
    warned: list[str] = []
    return pool_loads(prometheus, settings(**asked), BEGAN, ENDED, warned.append), warned


def test_pools_of_the_runner_controller_are_known_by_their_own_names(prometheus: Prometheus) -> None:
    found, warned = loads(prometheus)
    moments = [BEGAN + STEP * n for n in range(289)]
    assert found == [
        *(PoolLoad("linux-cpu", at, 0.0, 2.0) for at in moments),
        *(PoolLoad("linux-npu", at, *((10.0, 4.0) if RUSH[0] <= at < RUSH[1] else (0.0, 3.0))) for at in moments),
    ]
    assert warned == []


def test_two_passes_a_moment_apart_ask_for_the_same_moments(prometheus: Prometheus) -> None:
    found = [
        pool_loads(prometheus, settings(), RUSH[0] + timedelta(seconds=late), RUSH[1], pytest.fail)
        for late in (0, 7, 290)
    ]
    assert found[0] == found[1] == found[2] != []


def test_any_metrics_will_do_and_series_of_one_pool_are_added_up(prometheus: Prometheus) -> None:
    found, warned = loads(prometheus, waiting="ci_queue_length", running="ci_ratio", pool_label="queue")
    assert {(load.pool, load.waiting, load.running) for load in found} == {("gpu", 5.0, 0.0)}
    assert warned == []


def test_a_quiet_time_is_no_warning(prometheus: Prometheus) -> None:
    assert loads(prometheus, waiting="gha_assigned_jobs > 99", running="gha_running_jobs > 99") == ([], [])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"waiting": "sum by (name) (no_such_metric)"}, "(prometheus.waiting): Prometheus at 127.0.0.1:"),
        ({"running": "no_such_metric"}, "has no metric of those in no_such_metric; see docs/prometheus.md"),
        ({"waiting": "sum("}, "does not take the expression"),
        ({"pool_label": "queue"}, "no series has the label queue; group by it"),
        ({"running": "sum(gha_running_jobs)"}, "(prometheus.running): no series has the label name"),
    ],
)
def test_an_answer_that_says_nothing_of_pools_is_one_warning(
    prometheus: Prometheus, asked: dict[str, str], said: str
) -> None:
    found, (warned,) = loads(prometheus, **asked)
    assert found == []
    assert warned.startswith("the load of runner pools is not known (prometheus.") and "\n" not in warned
    assert said in warned


def test_a_prometheus_that_does_not_answer_is_one_warning() -> None:
    with Prometheus("http://127.0.0.1:1", retries=0) as absent:
        found, (warned,) = loads(absent)
    assert found == []
    assert "Prometheus at 127.0.0.1:1 cannot be reached" in warned


def test_a_pass_asks_the_prometheus_of_the_settings(address: str) -> None:
    assert len(loads_of_pass(settings(url=address), BEGAN, ENDED, pytest.fail)) == 2 * 289


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", []),
        ("http://metrics:port", ["the load of runner pools is not known: prometheus.url is no address; "
                                 "such as http://prometheus:9090"]),
    ],
)  # fmt: skip
def test_a_pass_without_a_prometheus_has_no_loads(url: str, said: list[str]) -> None:
    warned: list[str] = []
    assert loads_of_pass(settings(url=url), BEGAN, ENDED, warned.append) == []
    assert warned == said


@pytest.mark.parametrize("days", [1, 90])
def test_the_number_of_requests_does_not_grow_with_the_number_of_jobs(prometheus: Prometheus, days: int) -> None:
    asked: list[tuple[datetime, datetime]] = []

    class Counting(Prometheus):
        def query_range(self, expression: str, since: datetime, until: datetime, step: timedelta) -> Any:
            asked.append((since, until))
            return prometheus.query_range(expression, since, until, step)

    with Counting("http://127.0.0.1:1") as counting:
        assert pool_loads(counting, settings(), ENDED - timedelta(days=days), ENDED, pytest.fail)
    assert len(asked) == 2
