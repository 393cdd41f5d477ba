"""Links that open a query where others can see it: read back, they say what was asked."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from buildeye.ask.sharelink import NO_PAGE, Asked, graph_link, promql_link, sql_link
from buildeye.model import UsageError

NOON = datetime(2026, 5, 28, 12, tzinfo=UTC)
MORNING = NOON - timedelta(hours=6)
HALF = timedelta(minutes=30)
SQL = "SELECT name FROM t\nWHERE $__timeFilter(at) AND a = 'x&y=1 #%+' AND b = '向左'"


def read(link: str) -> tuple[str, dict[str, Any]]:
    parts = urlsplit(link)
    given = parse_qs(parts.query, strict_parsing=True)
    assert given["schemaVersion"] == ["1"] and given["orgId"] == ["1"] and parts.fragment == ""
    (pane,) = json.loads(given["panes"][0]).values()
    return f"{parts.scheme}://{parts.netloc}{parts.path}", pane


def test_a_link_to_sql_opens_it_with_its_time_and_its_macros() -> None:
    place, pane = read(sql_link("https://g.test/below/", "ch", SQL + "\n", Asked(MORNING, NOON)))
    assert place == "https://g.test/below/explore"
    assert pane["datasource"] == "ch" and pane["range"] == {"from": "1779948000000", "to": "1779969600000"}
    (query,) = pane["queries"]
    assert query["rawSql"] == SQL
    assert query["datasource"] == {"type": "grafana-clickhouse-datasource", "uid": "ch"}


@pytest.mark.parametrize(
    ("asked", "how", "within"),
    [
        (Asked(), {"instant": True, "range": False}, {"from": "now-1h", "to": "now"}),
        (Asked(until=NOON), {"instant": True, "range": False}, {"from": "1779966000000", "to": "1779969600000"}),
        (Asked(MORNING, NOON, HALF), {"instant": False, "range": True, "interval": "30m"},
         {"from": "1779948000000", "to": "1779969600000"}),
        (Asked(MORNING, NOON, timedelta(seconds=90)), {"instant": False, "range": True, "interval": "90s"},
         {"from": "1779948000000", "to": "1779969600000"}),
    ],
)  # fmt: skip
def test_a_link_to_promql_opens_it_as_it_was_asked(asked: Asked, how: dict[str, Any], within: dict[str, str]) -> None:
    expression = 'sum by (name) (gha_running_jobs{name=~"a+b"})'
    _, pane = read(promql_link("https://g.test", "prom", expression, asked))
    (query,) = pane["queries"]
    assert query["expr"] == expression and pane["range"] == within
    assert how.items() <= query.items()


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (Asked(), {"g0.tab": "1"}),
        (Asked(until=NOON.astimezone(timezone(timedelta(hours=8)))),
         {"g0.tab": "1", "g0.moment_input": "2026-05-28 12:00:00"}),
        (Asked(MORNING, NOON, HALF), {"g0.tab": "0", "g0.end_input": "2026-05-28 12:00:00", "g0.range_input": "6h",
                                      "g0.step_input": "1800"}),
    ],
)  # fmt: skip
def test_a_prometheus_has_a_page_of_its_own(asked: Asked, meant: dict[str, str]) -> None:
    link = graph_link("http://p.test:9090/", "up == 1 & 2", asked)
    assert link.startswith("http://p.test:9090/graph?")
    given = {name: value for name, (value,) in parse_qs(urlsplit(link).query).items()}
    assert given == {"g0.expr": "up == 1 & 2"} | meant


def test_times_without_a_zone_are_refused_and_no_page_is_said_to_be_none() -> None:
    with pytest.raises(UsageError, match="has no zone"):
        sql_link("https://g.test", "ch", "SELECT 1", Asked(until=datetime(2026, 5, 28)))
    assert "\n" not in NO_PAGE
