"""Where one can ask: what commands, pages and agents need of a source of SQL or PromQL, whichever way it is reached."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from buildeye.ask.answer import Answer
from buildeye.ask.guard import Allowed, Tables
from buildeye.ask.series import Series


@dataclass(frozen=True, slots=True)
class DataSource:
    """One entry of `datasources list`: `kind` is `clickhouse`, `prometheus`, or what Grafana calls it.

    `place` is shown to people: an address or a folder, without user, password and token.
    """

    uid: str
    name: str
    kind: str
    place: str = ""


class SqlSource(Protocol):
    """A ClickHouse, in this process, behind HTTP, or behind Grafana."""

    place: str

    def tables(self) -> Tables:
        """The tables that exist there, for the guard. OutsideError: it cannot be asked."""

    def run(self, allowed: Allowed, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Run what the guard let through, with native parameters (`{name:Type}`).

        UsageError: it is refused, or goes over a limit. OutsideError: the source cannot be reached or failed.
        """


class PromSource(Protocol):
    """A Prometheus, asked itself or through Grafana. Methods raise what `ask.prometheus.Prometheus` raises."""

    place: str

    def query(self, expression: str, at: datetime | None = None) -> tuple[Series, ...]:
        """What an expression gives at a moment (aware), or now."""

    def query_range(self, expression: str, since: datetime, until: datetime, step: timedelta) -> tuple[Series, ...]:
        """What it gives every `step` from `since` to `until`."""

    def metrics_in(
        self, expression: str, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[str, ...]:
        """Those metrics the expression names that exist there; none: it asks for what nobody has."""
