"""A Grafana server and the data sources behind it, asked over its HTTP interface with one token."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

import httpx2

from buildeye.ask.grafana.failures import is_unknown_source, no_answer, refusal
from buildeye.ask.grafana.frames import has_result
from buildeye.ask.grafana.metrics import GrafanaPrometheus
from buildeye.ask.grafana.tables import GrafanaClickHouse
from buildeye.ask.grafana.wire import Wire
from buildeye.ask.sources import DataSource, PromSource, SqlSource
from buildeye.model import UsageError

TIMEOUT: Final = 60.0  # seconds
RETRIES: Final = 2
PAUSE: Final = 0.5  # seconds before the first other try
KINDS: Final = {"grafana-clickhouse-datasource": "clickhouse", "prometheus": "prometheus"}
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NOT_FOUND: Final = 404


class Grafana:
    """One server; a context manager. Safe to use from several threads.

    `token` is a bearer token of a service account; `namespace` what newer Grafana calls the organisation: `default`, or
    `stacks-NUMBER` in Grafana Cloud; `timeout` the seconds one answer may take. Every method raises OutsideError when
    the server cannot be reached, refuses or fails.
    """

    def __init__(
        self,
        server: str,
        token: str,
        *,
        namespace: str = "default",
        transport: httpx2.BaseTransport | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        pause: float = PAUSE,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if not _NAMESPACE.fullmatch(namespace):
            raise UsageError("the namespace of a Grafana is default, or stacks- and a number")
        self._wire = Wire(server, token, timeout=timeout, retries=retries, pause=pause, transport=transport)
        newer = f"/apis/query.grafana.app/v0alpha1/namespaces/{namespace}/query"
        self._paths: tuple[str, ...] = (newer, "/api/ds/query")
        self._clock = clock
        self.place = self._wire.place

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._wire.close()

    def healthy(self) -> bool:
        """Whether the server says it is well and takes the token.

        `/api/health` alone does not tell: a server may answer it to anybody. OutsideError: there is no such server.
        """
        health = self._wire.get("/api/health")
        if not health.is_success:
            return False
        if not isinstance(health.data, dict):
            raise no_answer(self.place)
        return self._wire.get("/api/datasources").status != 401

    def datasources(self) -> tuple[DataSource, ...]:
        """The data sources the token may see, by kind and name."""
        reply = self._wire.get("/api/datasources")
        if not reply.is_success or not isinstance(reply.data, list):
            raise refusal(reply.status, reply.data, self.place, self._wire.told)
        try:
            found = [_source(entry, self.place) for entry in reply.data]
        except (KeyError, TypeError):
            raise no_answer(self.place) from None
        return tuple(sorted(found, key=lambda source: (source.kind, source.name)))

    def sql(self, uid: str | None = None) -> SqlSource:
        """A ClickHouse behind it; without `uid` the only one there is. UsageError: there is none, or several."""
        return GrafanaClickHouse(self._query, uid or self._only("clickhouse"), self.place, self._wire.told, self._clock)

    def prometheus(self, uid: str | None = None) -> PromSource:
        """A Prometheus behind it; without `uid` the only one there is. UsageError: there is none, or several."""
        return GrafanaPrometheus(self._query, self._wire, uid or self._only("prometheus"))

    def namespace(self) -> str:
        """What the server calls the organisation that the token belongs to; `default` when it does not tell."""
        data = self._wire.get("/bootdata").data
        settings = data.get("settings") if isinstance(data, dict) else None
        named = settings.get("namespace") if isinstance(settings, dict) else None
        return named if isinstance(named, str) and _NAMESPACE.fullmatch(named) else "default"

    def _only(self, kind: str) -> str:
        found = [source for source in self.datasources() if source.kind == kind]
        if len(found) != 1:
            named = ", ".join(source.uid for source in found) or "none"
            raise UsageError(
                f"{self.place} has {len(found)} data sources of kind {kind} ({named}); name one with -d UID"
            )
        return found[0].uid

    def _query(self, body: dict[str, Any]) -> Any:
        """The JSON that answers a query, good or bad; the older path where the newer one is not."""
        reply = self._wire.post(self._paths[0], body)
        if reply.status == _NOT_FOUND and len(self._paths) > 1 and not is_unknown_source(reply.status, reply.data):
            self._paths = self._paths[1:]
            reply = self._wire.post(self._paths[0], body)
        if not has_result(reply.data):
            raise refusal(reply.status, reply.data, self.place, self._wire.told)
        return reply.data


def _source(entry: dict[str, Any], place: str) -> DataSource:
    kind = str(entry["type"])
    return DataSource(str(entry["uid"]), str(entry["name"]), KINDS.get(kind, kind), place)
