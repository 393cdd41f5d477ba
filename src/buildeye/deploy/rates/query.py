"""Verdicts by a query of the warehouse that `rate.query` holds: one row a task.

Its columns are task_id, entered_at, approved (1, 0 or NULL for pending) and, if the application says it, deployment. It
may use the parameters {since:DateTime64(6)} and {until:DateTime64(6)}; without them it is read whole each time.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from buildeye.deploy.rates.source import Serving, source_failures
from buildeye.deploy.rates.tables import READ_MOST, served_by_any, served_by_none
from buildeye.deploy.rates.tasks import TaskVerdict, baseline_of, reading_of, task_verdict
from buildeye.model.deployments import Baseline
from buildeye.warehouse import Warehouse, open_warehouse

if TYPE_CHECKING:
    from buildeye.deploy.judges.rate import RateReading

LOOKBACK: Final = timedelta(days=30)
"""How far before a cutover a baseline is looked for where no clean deployment says it."""
_NEEDED: Final = ("task_id", "entered_at", "approved")
_PARAMETER: Final = re.compile(r"\{\s*(\w+)\s*:")


class QuerySource:
    """A query of the warehouse at `dsn`; it is opened when it is read, unless one that is open is given."""

    def __init__(
        self,
        query: str,
        dsn: str,
        warehouse: Warehouse | None = None,
        *,
        read_most: int = READ_MOST,
        baseline_most: int = 200,
    ) -> None:
        self._query, self._dsn, self._warehouse = query, dsn, warehouse
        self._ours = warehouse is None
        self._read_most, self._baseline_most = read_most, baseline_most
        self._place = f"query of the warehouse {warehouse.place}" if warehouse else "query of the warehouse"

    def read(self, serving: Serving, now: datetime) -> "RateReading":
        """As the protocol says."""
        with source_failures(self._place):
            return reading_of(self._tasks(serving.since, now), serving.served, self._read_most)

    def baseline(self, clean: Sequence[Serving], known: Sequence[Serving], before: datetime) -> Baseline | None:
        """As the protocol says; without a clean deployment of the last 30 days."""
        served = served_by_any(clean) if clean else served_by_none(known)
        since = min((serving.since for serving in clean), default=before - LOOKBACK)
        with source_failures(self._place):
            return baseline_of(self._tasks(since, before), served, before, self._baseline_most)

    def close(self) -> None:
        """Close the warehouse if it was opened here."""
        if self._ours and self._warehouse is not None:
            self._warehouse.close()
            self._warehouse = None

    def _tasks(self, since: datetime, until: datetime) -> list[TaskVerdict]:
        if self._warehouse is None:
            self._warehouse = open_warehouse(self._dsn)
            self._place = f"query of the warehouse {self._warehouse.place}"
        named = set(_PARAMETER.findall(self._query))
        given = {"since": since.astimezone(UTC), "until": until.astimezone(UTC)}
        if unknown := sorted(named - given.keys()):
            raise ValueError(f"rate.query has the unknown parameter {unknown[0]}: since and until are known")
        found = self._warehouse.query(self._query, {name: given[name] for name in named})
        lacking = [name for name in _NEEDED if name not in found.columns]
        if lacking:
            raise ValueError(f"rate.query has no column {lacking[0]}: task_id, entered_at and approved are needed")
        rows = (dict(zip(found.columns, row, strict=True)) for row in found.rows)
        return [task_verdict(row["task_id"], row["entered_at"], row["approved"], row.get("deployment")) for row in rows]
