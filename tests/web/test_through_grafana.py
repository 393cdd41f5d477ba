"""The guide's four queries the long way: our own doors, a Grafana before them, and what we make of its frames."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from buildeye.ask.guard import check
from buildeye.ask.sql import ask_sql
from buildeye.model import UsageError
from buildeye.warehouse import Warehouse
from buildeye.web.clickhousedoor import PATH
from tests.ask.grafana_place import FILL, Place, place
from tests.ask.test_grafana import A_FILE, FAILING, QUEUED, RUNNING
from tests.warehouse.conftest import empty
from tests.web.answering import TOKEN, answering

from .scrapers import PROGRAMS, scraped_pools


@pytest.fixture(scope="module")
def before_our_door(warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A Grafana whose ClickHouse is the door of a server of ours, with the guide's facts behind it."""
    empty(warehouse)
    for statement in FILL:
        warehouse.query(statement)
    with (
        answering(warehouse, tmp_path_factory.mktemp("spool")) as port,
        place(f"http://127.0.0.1:{port}{PATH}", password=TOKEN) as found,
    ):
        yield found


@pytest.fixture(scope="module", params=PROGRAMS)
def before_a_scraper(
    request: pytest.FixtureRequest, warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """A Grafana whose Prometheus has scraped a server of ours."""
    with (
        scraped_pools(request.param, warehouse, tmp_path_factory.mktemp(request.param)) as client,
        place(prometheus=f"http://{client.place.rpartition(' ')[2]}") as found,
    ):
        yield found


def test_the_guides_sql_answers_through_grafana_and_our_door(before_our_door: Place) -> None:
    with before_our_door.client() as client:
        source = client.sql()
        assert ask_sql(source, FAILING).rows == (("linux / test", 7), ("lint", 3))
        assert [row[2:] for row in ask_sql(source, A_FILE).rows] == [("test_add", 6, 4, 1, 1), ("test_mul", 3, 2, 0, 1)]


def test_values_and_errors_come_through_our_door(before_our_door: Place) -> None:
    sql = "SELECT {text:String} AS text, 1 / 0 AS more, -1 / 0 AS less, 0 / 0 AS none, toDate('2026-05-28') AS day"
    with before_our_door.client() as client:
        source = client.sql()
        answer = source.run(check(sql), {"text": "it's $__fromTime"})
        assert repr(answer.rows[0][:4]) == repr(("it's $__fromTime", float("inf"), float("-inf"), float("nan")))
        assert answer.rows[0][4] == datetime(2026, 5, 28, tzinfo=UTC)
        with pytest.raises(UsageError, match=r"refused by the ClickHouse behind Grafana .*nobody"):
            source.run(check("SELECT nobody FROM default.push WHERE repository_full_name = 'a/b'"))


def test_the_guides_promql_answers_through_grafana_and_a_scraper(before_a_scraper: Place) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=20)  # at a whole step after the first scrape, whenever that was
    with before_a_scraper.client() as client:
        source = client.prometheus("grafanacloud-prom")
        queued = {series.labels["name"]: series.points[0].value for series in source.query(QUEUED)}
        assert queued == {"npu": 3.0, "gpu": 1.0, "idle": 0.0, "linux,x64": 0.0, "slow": 0.0}
        (running,) = source.query_range(RUNNING, soon - timedelta(hours=6), soon, timedelta(seconds=10))
        assert (dict(running.labels), {point.value for point in running.points}) == ({"cluster": "here"}, {5.0})
        assert source.query("gha_asigned_jobs") == () == source.metrics_in("gha_asigned_jobs")
        assert source.metrics_in("sum(gha_assigned_jobs)") == ("gha_assigned_jobs",)
