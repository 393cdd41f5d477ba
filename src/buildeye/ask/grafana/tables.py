"""A ClickHouse behind a Grafana: SQL goes there as text, rows come back in frames."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from buildeye.ask.answer import Answer
from buildeye.ask.grafana.failures import Told
from buildeye.ask.grafana.frames import REF, answer_of
from buildeye.ask.grafana.literals import inlined, literal
from buildeye.ask.guard import OURS, Allowed, Limits, Tables
from buildeye.model import UsageError

PLUGIN: Final = "grafana-clickhouse-datasource"
_TABLE: Final = 1  # the plugin's number for rows as they are, not series made of them
_HOUR: Final = timedelta(hours=1)
_INTERVAL: Final = 60_000  # milliseconds
_LIST: Final = (
    "SELECT database, name FROM system.tables "
    "WHERE lower(database) NOT IN ('system', 'information_schema') ORDER BY database, name"
)
_OWN: Final = frozenset(Limits(threads=1).settings())


class GrafanaClickHouse:
    """See `ask.sources.SqlSource`.

    Grafana binds no parameters, so they are written into the statement as literals. Limits of time and memory are those
    of Grafana's own user: that one may not change settings. The limit on rows is looked after here.
    """

    def __init__(
        self, query: Callable[[dict[str, Any]], Any], uid: str, place: str, told: Told, clock: Callable[[], datetime]
    ) -> None:
        self._query, self.uid, self._told, self._clock = query, uid, told, clock
        self.place = place
        self._tables: Tables | None = None

    def tables(self) -> Tables:
        """The tables that ClickHouse names; asked once."""
        if self._tables is None:
            self._tables = _tables_of(self._ask(_LIST))
        return self._tables

    def run(self, allowed: Allowed, parameters: Mapping[str, Any] | None = None) -> Answer:
        """See `SqlSource`; the statement that was checked is sent, not the text it came from."""
        answer = self._ask(inlined(allowed.statement, parameters) + _settings(allowed))
        most = allowed.settings.get("max_result_rows")
        if isinstance(most, int) and len(answer.rows) > most:
            raise UsageError(
                f"the answer has {len(answer.rows):,} rows, more than {most:,}; add a LIMIT or ask for less"
            )
        return answer

    def _ask(self, sql: str) -> Answer:
        now = self._clock()
        query = {
            "refId": REF,
            "datasource": {"type": PLUGIN, "uid": self.uid},
            "rawSql": sql,
            "format": _TABLE,
            "intervalMs": _INTERVAL,
        }
        body = {"queries": [query], "from": _milliseconds(now - _HOUR), "to": _milliseconds(now)}
        return answer_of(self._query(body), self.place, self._told)


def _settings(allowed: Allowed) -> str:
    """The harmless settings that the query asked for itself; they change what it means."""
    asked = {name: value for name, value in allowed.settings.items() if name not in _OWN}
    if not asked:
        return ""
    return "\nSETTINGS " + ", ".join(
        f"{name} = {value if isinstance(value, int) else literal(value)}" for name, value in asked.items()
    )


def _tables_of(answer: Answer) -> Tables:
    names: dict[str, set[str]] = {}
    for database, name in answer.rows:
        names.setdefault(str(database), set()).add(str(name))
    there = {database: frozenset(tables) for database, tables in names.items()}
    several = frozenset(
        (database, name) for database, name in OURS.several_repositories if name in names.get(database, ())
    )
    return replace(OURS, names=there, several_repositories=several)


def _milliseconds(moment: datetime) -> str:
    return f"{moment.timestamp() * 1000:.0f}"
