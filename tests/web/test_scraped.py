"""A real Prometheus and a real VictoriaMetrics scrape /metrics, and the guide's two expressions answer right."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from buildeye.ask import Prometheus
from buildeye.warehouse import Warehouse

from .scrapers import PROGRAMS, scraped_pools

DEEPEST = "topk(10, clamp_min(sum by (name) (gha_assigned_jobs) - sum by (name) (gha_running_jobs), 0))"
RUNNING = "sum by (cluster) (gha_running_jobs)"


@pytest.fixture(scope="module", params=PROGRAMS)
def server(
    request: pytest.FixtureRequest, warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A server that has scraped the pools, behind a token."""
    with scraped_pools(request.param, warehouse, tmp_path_factory.mktemp(request.param)) as client:
        yield client


def test_the_deepest_queues_are_told_deepest_first_with_empty_ones_as_0(server: Prometheus) -> None:
    found = [(series.labels["name"], series.points[0].value) for series in server.query(DEEPEST)]
    assert sorted(found, key=lambda each: (-each[1], each[0])) == [
        ("npu", 3.0), ("gpu", 1.0), ("idle", 0.0), ("linux,x64", 0.0), ("slow", 0.0),
    ]  # fmt: skip


def test_running_jobs_are_told_by_cluster(server: Prometheus) -> None:
    (found,) = server.query(RUNNING)
    assert (dict(found.labels), [point.value for point in found.points]) == ({"cluster": "here"}, [5.0])


def test_running_jobs_are_told_over_time(server: Prometheus) -> None:
    now = datetime.now(UTC)
    (found,) = server.query_range(RUNNING, now - timedelta(hours=6), now, timedelta(minutes=30))
    assert dict(found.labels) == {"cluster": "here"}
    assert {point.value for point in found.points} == {5.0}


def test_a_queue_by_repository_and_organization(server: Prometheus) -> None:
    found = server.query("sum by (organization, repository) (gha_assigned_jobs)")
    assert {(each.labels["organization"], each.labels["repository"]): each.points[0].value for each in found} == {
        ("octo", "widgets"): 8.0, ("acme", "engine"): 1.0,
    }  # fmt: skip


def test_what_the_settings_ask_by_default_fits(server: Prometheus) -> None:
    found = server.query("sum by (name) (clamp_min(gha_assigned_jobs - gha_running_jobs, 0))")
    assert {each.labels["name"]: each.points[0].value for each in found} == {
        "npu": 3.0, "gpu": 1.0, "idle": 0.0, "linux,x64": 0.0, "slow": 0.0,
    }  # fmt: skip
