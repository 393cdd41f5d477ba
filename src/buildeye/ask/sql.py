"""Asking SQL: the guard first, then the source, then what the person should know."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from buildeye.ask.answer import Answer
from buildeye.ask.guard import OURS, Allowed, Limits, Tables, check
from buildeye.ask.limits import OverLimit, over_limit
from buildeye.ask.sources import SqlSource
from buildeye.config import Settings
from buildeye.model import BuildEyeError
from buildeye.warehouse import Warehouse
from buildeye.warehouse.failures import OverLimitError


def ask_sql(
    source: SqlSource, sql: str, parameters: Mapping[str, Any] | None = None, limits: Limits | None = None
) -> Answer:
    """What `source` answers to SQL of a stranger, with the guard's warnings.

    Refused: the guard does not let it through. UsageError, OutsideError: see `SqlSource.run`.
    """
    allowed = check(sql, tables=source.tables(), limits=limits)
    try:
        answer = source.run(allowed, parameters)
    except OverLimit as error:
        if allowed.settings.get(error.setting) != (limits or Limits()).settings().get(error.setting):
            raise error.of_the_query() from None
        raise
    spare = (f"FORMAT {allowed.format} is left out: rows have no format; choose one with -o",) if allowed.format else ()
    return replace(answer, warnings=(*allowed.warnings, *spare, *answer.warnings))


def limits_of(settings: Settings) -> Limits:
    """The limits of the settings, section `ask`."""
    asked = settings.ask
    mib = 1024**2
    return Limits(asked.max_seconds, asked.max_memory_mib * mib, asked.max_rows, asked.max_result_mib * mib)


class WarehouseSource:
    """The warehouse itself, open in this process."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self.place = warehouse.place

    def tables(self) -> Tables:
        """The tables of the schema; a folder holds no others."""
        return OURS

    def run(self, allowed: Allowed, parameters: Mapping[str, Any] | None = None) -> Answer:
        """See `SqlSource`; nothing of a query that failed gets into the next answer."""
        try:
            result = self._warehouse.query(allowed.bounded, parameters)
        except BuildEyeError as error:
            with suppress(BuildEyeError):
                self._drain()
            if isinstance(error, OverLimitError):
                raise over_limit(error.code, error.reason, allowed.settings) or error from None
            raise
        return Answer(result.columns, result.types, result.rows)

    def _drain(self) -> None:
        """chDB may put rows of a failed query into the next answer of its session."""
        self._warehouse.query("SELECT 1")
