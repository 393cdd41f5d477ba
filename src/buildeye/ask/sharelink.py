"""A link to a query that another person can open: in Grafana's Explore, or in Prometheus's own page. Pure.

A link tells the query and the time it was asked about, and no token: who opens it logs in as themselves.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote, urlencode

from buildeye.model import UsageError

LONGEST: Final = 8_000
"""Characters of an address that browsers and what stands before servers commonly take."""
NO_PAGE: Final = "there is no page to link to: the warehouse of this machine is asked, and only here; send the query"
_PANE: Final = "a"
_SCHEMA: Final = "1"
_ORGANISATION: Final = "1"
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query was about: a time (aware; None: the last hour, when it is opened), and the step between points."""

    since: datetime | None = None
    until: datetime | None = None
    step: timedelta | None = None


def sql_link(server: str, uid: str, sql: str, asked: Asked | None = None) -> str:
    """The link to SQL in Grafana's Explore; macros in it follow the time that is picked there."""
    query = {
        "refId": "A",
        "datasource": {"type": "grafana-clickhouse-datasource", "uid": uid},
        "editorType": "sql",
        "queryType": "table",
        "format": 1,
        "rawSql": sql.strip(),
    }
    return _explore(server, uid, query, asked or Asked())


def promql_link(server: str, uid: str, expression: str, asked: Asked | None = None) -> str:
    """The link to PromQL in Grafana's Explore: a graph when it was asked over a time, else a table."""
    meant = asked or Asked()
    is_range = meant.step is not None
    query: dict[str, Any] = {
        "refId": "A",
        "datasource": {"type": "prometheus", "uid": uid},
        "editorMode": "code",
        "expr": expression.strip(),
        "instant": not is_range,
        "range": is_range,
    }
    if meant.step is not None:
        query["interval"] = _length(meant.step)
    return _explore(server, uid, query, meant)


def graph_link(server: str, expression: str, asked: Asked | None = None) -> str:
    """The link to PromQL on the page of a Prometheus that is asked directly."""
    meant = asked or Asked()
    pairs = {"g0.expr": expression.strip(), "g0.tab": "1" if meant.step is None else "0"}
    if meant.until is not None:
        text = f"{_aware(meant.until).astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        pairs["g0.moment_input" if meant.step is None else "g0.end_input"] = text
    if meant.since is not None and meant.until is not None:
        pairs["g0.range_input"] = _length(_aware(meant.until) - _aware(meant.since))
    if meant.step is not None:
        pairs["g0.step_input"] = f"{meant.step.total_seconds():.0f}"
    return f"{server.rstrip('/')}/graph?{urlencode(pairs, quote_via=quote)}"


def _explore(server: str, uid: str, query: Mapping[str, Any], asked: Asked) -> str:
    pane = {"datasource": uid, "queries": [query], "range": _range(asked)}
    panes = json.dumps({_PANE: pane}, separators=(",", ":"), ensure_ascii=False)
    pairs = {"schemaVersion": _SCHEMA, "panes": panes, "orgId": _ORGANISATION}
    return f"{server.rstrip('/')}/explore?{urlencode(pairs, quote_via=quote, safe='')}"


def _range(asked: Asked) -> dict[str, str]:
    if asked.until is None:
        return {"from": "now-1h", "to": "now"}
    since = asked.since if asked.since is not None else asked.until - timedelta(hours=1)
    return {"from": _milliseconds(since), "to": _milliseconds(asked.until)}


def _milliseconds(moment: datetime) -> str:
    return f"{_aware(moment).timestamp() * 1000:.0f}"


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise UsageError(f"time {moment.isoformat()} has no zone: give aware times")
    return moment


def _length(length: timedelta) -> str:
    """A length of time as both write it: `90s`, `30m`, `6h`, `7d`."""
    for unit, name in (
        (_DAY, "d"),
        (timedelta(hours=1), "h"),
        (timedelta(minutes=1), "m"),
        (timedelta(seconds=1), "s"),
    ):
        if length >= unit and not length % unit:
            return f"{length // unit}{name}"
    return f"{max(1, length // timedelta(milliseconds=1))}ms"
