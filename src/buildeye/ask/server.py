"""A ClickHouse server asked directly, whose tables need not be ours: PyTorch's, or one of your own."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from buildeye.ask.answer import Answer
from buildeye.ask.guard import OURS, Allowed, Tables
from buildeye.ask.limits import over_limit
from buildeye.model import UsageError
from buildeye.warehouse import Warehouse
from buildeye.warehouse.failures import OverLimitError

_TABLES: Final = (
    "SELECT database, name FROM system.tables "
    "WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA') AND NOT is_temporary"
)


class ServerSource:
    """A server, see `SqlSource`. Its owner may forbid its user to change settings; then its own limits count."""

    def __init__(self, server: Warehouse) -> None:
        self._server = server
        self.place = f"ClickHouse at {server.place}"

    def tables(self) -> Tables:
        """The tables the user may see."""
        return self._tables

    def run(self, allowed: Allowed, parameters: Mapping[str, Any] | None = None) -> Answer:
        """See `SqlSource`."""
        settings = {name: value for name, value in allowed.settings.items() if name not in self._fixed}
        try:
            result = self._server.query(replace(allowed, settings=settings).bounded, parameters)
        except OverLimitError as error:
            raise over_limit(error.code, error.reason, settings) or error from None
        return Answer(result.columns, result.types, result.rows)

    @cached_property
    def _tables(self) -> Tables:
        names: dict[str, set[str]] = {}
        for database, name in self._server.query(_TABLES).rows:
            names.setdefault(database, set()).add(name)
        known = {(database, name) for database, those in names.items() for name in those}
        return Tables(
            names={database: frozenset(those) for database, those in names.items()},
            several_repositories=OURS.several_repositories & known,
            default_database=str(self._server.query("SELECT currentDatabase()").rows[0][0]),
        )

    @cached_property
    def _fixed(self) -> frozenset[str]:
        """Settings that the user may not change, `readonly` among them where it is set already."""
        asked = "SELECT name FROM system.settings WHERE readonly != 0 OR (name = 'readonly' AND value != '0')"
        try:
            return frozenset(name for (name,) in self._server.query(asked).rows)
        except UsageError:
            return frozenset()
