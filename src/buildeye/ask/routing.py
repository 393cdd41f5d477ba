"""By which way a question goes: the warehouse of this machine, a ClickHouse or Prometheus server, or a Grafana.

A context is a Grafana; none, or one called `local`, is this machine with its settings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Protocol

from buildeye.ask.prometheus import prometheus_of
from buildeye.ask.server import ServerSource
from buildeye.ask.sources import DataSource, PromSource, SqlSource
from buildeye.ask.sql import WarehouseSource
from buildeye.config import Settings
from buildeye.model import UsageError
from buildeye.warehouse import open_to_ask
from buildeye.warehouse.connection import Server, open_server, parse_dsn

LOCAL: Final = "local"
WAREHOUSE: Final = "warehouse"
PROMETHEUS: Final = "prometheus"
CLICKHOUSE: Final = "clickhouse"
Warn = Callable[[str], None]


class Context(Protocol):
    """A Grafana that can be asked, by the name a person gave it."""

    @property
    def name(self) -> str:
        """Its name."""


class Grafana(Protocol):
    """What is asked of a Grafana."""

    def datasources(self) -> tuple[DataSource, ...]:
        """What it holds."""

    def sql(self, uid: str | None) -> SqlSource:
        """One of its ClickHouse sources."""

    def prometheus(self, uid: str | None) -> PromSource:
        """One of its Prometheus sources."""


def context_named(named: str | None, environ: Mapping[str, str]) -> Context | None:
    """The context of that name, or the current one; None is this machine. UsageError: there is none of that name."""
    if named in (None, "", LOCAL):
        return None
    raise UsageError(f"there is no context {named}; this version asks this machine alone: leave --context out")


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


def is_local(context: Context | None) -> bool:
    """Whether a context is this machine."""
    return context is None or context.name == LOCAL


def _grafana(settings: Settings, context: Context | None) -> AbstractContextManager[Grafana]:
    """The Grafana of a context, with its token."""
    raise UsageError("this version asks no Grafana yet; leave --context out")


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
