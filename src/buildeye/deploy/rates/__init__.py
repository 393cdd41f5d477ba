"""Where the share of approved tasks is read: tables by SQL, a query of the warehouse, PromQL, an HTTP endpoint.

Each is a plug with one protocol, `RateSource`. What cannot be read, or is read and makes no sense, is a `SourceError`:
an error of the check, which never rolls back, and nothing of a half broken answer is counted.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from buildeye.deploy.rates.source import RateSource, Serving, SourceError
from buildeye.deploy.rates.tables import READ_MOST, open_tables
from buildeye.deploy.rates.tablesql import Words
from buildeye.deploy.rates.times import parse_time
from buildeye.model import UsageError

if TYPE_CHECKING:
    from buildeye.warehouse import Warehouse

__all__ = ["RateSettings", "RateSource", "Serving", "SourceError", "Words", "parse_time", "rate_source"]


class RateSettings(Protocol):
    """What is needed of the section `rate` of a deploy.yaml; addresses with their ${NAME} filled in."""

    @property
    def source(self) -> str:
        """none, tables, query, prometheus or endpoint."""

    @property
    def interval_seconds(self) -> float:
        """Between two looks."""

    @property
    def dsn(self) -> str:
        """The database of tables and query."""

    @property
    def project(self) -> str:
        """The project_id of the tables."""

    @property
    def query(self) -> str:
        """The query of the warehouse."""

    @property
    def url(self) -> str:
        """The Prometheus, or the endpoint."""

    @property
    def good(self) -> str:
        """PromQL for approved tasks."""

    @property
    def total(self) -> str:
        """PromQL for judged tasks."""

    @property
    def tasks(self) -> int:
        """Judged tasks that the test looks at."""

    @property
    def baseline_tasks(self) -> int:
        """Newest tasks that are the baseline."""


def rate_source(
    settings: RateSettings, *, words: Words | None = None, warehouse: "Warehouse | None" = None, token: str = ""
) -> RateSource | None:
    """The source that the section `rate` names, not read yet; None for `none`.

    `warehouse` is one that is open already, as one process opens an embedded one only once. `token` is for Prometheus,
    and goes before a user and password in `url`. UsageError: an address is none.
    """
    read_most = max(READ_MOST, 3 * settings.tasks)
    match settings.source:
        case "none":
            return None
        case "tables":
            return open_tables(
                settings.dsn,
                settings.project,
                words=words,
                read_most=read_most,
                baseline_most=settings.baseline_tasks,
            )
        case "query":
            from buildeye.deploy.rates.query import QuerySource

            return QuerySource(
                settings.query, settings.dsn, warehouse, read_most=read_most, baseline_most=settings.baseline_tasks
            )
        case "prometheus":
            return _promql(settings, token)
        case "endpoint":
            from buildeye.deploy.rates.endpoint import EndpointSource

            return EndpointSource(settings.url, read_most=read_most, baseline_most=settings.baseline_tasks)
        case other:
            raise UsageError(f"rate.source is {other!r}: none, tables, query, prometheus and endpoint are known")


def _promql(settings: RateSettings, token: str) -> RateSource:
    from urllib.parse import unquote, urlsplit

    from buildeye.ask import Prometheus
    from buildeye.deploy.rates.promql import PromqlSource

    parts = urlsplit(settings.url)
    user, at, host = parts.netloc.rpartition("@")
    url = parts._replace(netloc=host).geturl() if at else settings.url
    return PromqlSource(
        Prometheus(url, token or unquote(user), timeout=min(20.0, max(1.0, settings.interval_seconds)), retries=0),
        settings.good,
        settings.total,
        step=timedelta(seconds=settings.interval_seconds),
        baseline_most=settings.baseline_tasks,
    )
