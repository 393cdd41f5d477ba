"""By which way a question goes: the warehouse of this machine, a ClickHouse or Prometheus server, or a Grafana.

A context is a Grafana; none, or one called `local`, is this machine with its settings.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from buildeye.ask.contexts import LOCAL, Context, contexts, contexts_path
from buildeye.ask.grafana import Grafana
from buildeye.ask.grafana.metrics import GrafanaPrometheus
from buildeye.ask.grafana.tables import GrafanaClickHouse
from buildeye.ask.prometheus import prometheus_of
from buildeye.ask.server import ServerSource
from buildeye.ask.sharelink import Asked, graph_link, promql_link, sql_link
from buildeye.ask.sources import DataSource, PromSource, SqlSource
from buildeye.ask.sql import WarehouseSource
from buildeye.config import Settings
from buildeye.model import UsageError
from buildeye.warehouse import open_to_ask
from buildeye.warehouse.connection import Server, open_server, parse_dsn

WAREHOUSE: Final = "warehouse"
PROMETHEUS: Final = "prometheus"
CLICKHOUSE: Final = "clickhouse"
_SLACK: Final = 10.0
"""Seconds a Grafana may take beside the query itself."""
Warn = Callable[[str], None]


def context_named(named: str | None, environ: Mapping[str, str]) -> Context | None:
    """The context of that name, or the selected one; None is this machine. UsageError: there is none of that name."""
    return contexts(contexts_path(environ), environ).current(named)


def datasources(settings: Settings, context: Context | None) -> tuple[DataSource, ...]:
    """What can be asked. OutsideError: a Grafana cannot be reached; of this machine nothing is opened."""
    if is_local(context):
        return _of_this_machine(settings)
    with _grafana(settings, context) as grafana:
        return grafana.datasources()


@contextmanager
def sql_source(
    settings: Settings, uid: str | None, context: Context | None, warn: Warn = lambda _: None
) -> Iterator[SqlSource]:
    """The source of SQL that `uid` names, open; the only one, or that of the context, when it is None.

    UsageError: there is no such source. OutsideError: it cannot be opened.
    """
    if not is_local(context):
        with _grafana(settings, context) as grafana:
            yield grafana.sql(uid)
        return
    _chosen(uid, _of_this_machine(settings), CLICKHOUSE, warn)
    store = settings.storage
    place = parse_dsn(store.warehouse_dsn)
    if isinstance(place, Server) and not place.path:
        with open_server(place) as server:
            yield ServerSource(server)
        return
    with open_to_ask(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days) as warehouse:
        yield WarehouseSource(warehouse)


@contextmanager
def prom_source(
    settings: Settings, uid: str | None, context: Context | None, warn: Warn = lambda _: None
) -> Iterator[PromSource]:
    """The source of PromQL that `uid` names, open; see `sql_source`."""
    if not is_local(context):
        with _grafana(settings, context) as grafana:
            yield grafana.prometheus(uid)
        return
    _chosen(uid, _of_this_machine(settings), PROMETHEUS, warn)
    server = prometheus_of(settings)
    assert server is not None
    with server:
        yield server


def sql_share(source: SqlSource, context: Context | None, sql: str, asked: Asked) -> str | None:
    """A link that opens SQL where others can see it; None where there is no page for it."""
    if context is None or not isinstance(source, GrafanaClickHouse):
        return None
    return sql_link(context.server, source.uid, sql, asked)


def prom_share(source: PromSource, settings: Settings, context: Context | None, expression: str, asked: Asked) -> str:
    """A link that opens PromQL where others can see it: in Grafana, or on Prometheus's own page."""
    if context is None or not isinstance(source, GrafanaPrometheus):
        return graph_link(settings.prometheus.url, expression, asked)
    return promql_link(context.server, source.uid, expression, asked)


def is_local(context: Context | None) -> bool:
    """Whether a context is this machine."""
    return context is None or context.name == LOCAL


def _grafana(settings: Settings, context: Context | None) -> Grafana:
    """The Grafana of a context, with its token. UsageError: there is no token for it."""
    assert context is not None
    token = contexts(contexts_path(os.environ), os.environ).token(context)
    if not token:
        raise UsageError(f"there is no token for {context.server}; run build-eye login --context {context.name}")
    seconds = settings.ask.max_seconds + _SLACK
    return Grafana(context.server, token, namespace=context.namespace, timeout=seconds)


def _of_this_machine(settings: Settings) -> tuple[DataSource, ...]:
    found = [DataSource(WAREHOUSE, "Warehouse", CLICKHOUSE, parse_dsn(settings.storage.warehouse_dsn).shown)]
    if settings.prometheus.url:
        found.append(DataSource(PROMETHEUS, "Prometheus", PROMETHEUS, settings.prometheus.url))
    return tuple(found)


def _chosen(uid: str | None, known: Sequence[DataSource], kind: str, warn: Warn) -> DataSource:
    """The source of a kind that `uid` names, or the only one, which is told."""
    fit = [each for each in known if each.kind == kind]
    if not fit:
        raise UsageError(
            "there is no Prometheus here: set prometheus.url, or choose a Grafana with --context"
            if kind == PROMETHEUS
            else f"there is no data source of kind {kind} here; see build-eye datasources list"
        )
    named = [each for each in known if each.uid == uid]
    if named and named[0].kind != kind:
        raise UsageError(f"data source {uid} is a {named[0].kind}, not a {kind}; see build-eye datasources list")
    if named or uid is None:
        return (named or fit)[0]
    if len(fit) > 1:
        names = ", ".join(each.uid for each in fit)
        raise UsageError(f"there is no data source {uid} here; of kind {kind} there are {names}")
    warn(f"no data source {uid} here; asked {fit[0].uid}, the only one of its kind")
    return fit[0]
