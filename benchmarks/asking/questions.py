"""What the questions cost on a large warehouse: the product's whole answer, and the engine's share of it.

Everything runs in one process over one open folder. Each question is asked once to warm up, then `TIMES` times; the
median counts. "Raw" is the same statement through the same engine into ClickHouse's Native bytes, without Python rows.
"""

import statistics
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from benchmarks.asking.rows import COMMITS, LARGEST_FILE, REPOSITORY, STREAKS_OF, USUAL_FILE, week

from buildeye.insight.failures import top_failures
from buildeye.insight.streaks import streaks_of
from buildeye.insight.testruns import file_week
from buildeye.warehouse import Warehouse
from buildeye.warehouse.store import saved_query

TIMES: Final = 9


def median_ms(ask: Callable[[], object], times: int = TIMES) -> float:
    """Milliseconds of the median of `times` calls, after one that is not counted."""
    ask()
    took = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1000, 1)


def measure(warehouse: Warehouse, until: datetime) -> dict[str, Any]:
    """Every question on the rows of `rows.fill`."""
    since, until = week(until)
    found: dict[str, Any] = {}
    for name, file in (("test_file_week", USUAL_FILE), ("largest_file_week", LARGEST_FILE)):
        found[f"{name}_ms"] = median_ms(partial(file_week, warehouse, REPOSITORY, file, since, until))
        found[f"{name}_raw_ms"] = median_ms(partial(_raw_week, warehouse, file, since, until))
        found[f"{name}_guide_raw_ms"] = median_ms(partial(_guides, warehouse, file, since))
    found["overhead_vs_chdb"] = round(found["test_file_week_ms"] / found["test_file_week_raw_ms"], 2)
    fortnight = until - timedelta(days=14)
    found["top_failing_ms"] = median_ms(lambda: top_failures(warehouse, REPOSITORY, "main", fortnight, until, 10))
    found["top_failing_guide_raw_ms"] = median_ms(lambda: _guides_jobs(warehouse, fortnight))
    found["streaks_ms"] = median_ms(lambda: streaks_of(warehouse, STREAKS_OF, "main", COMMITS))
    found["streaks_found"] = len(streaks_of(warehouse, STREAKS_OF, "main", COMMITS))
    return found


_GUIDES_WEEK: Final = """
SELECT file, classname, name, count() AS runs,
    countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
    countIf(failure_count > 0 OR error_count > 0) AS fails, countIf(skipped_count > 0) AS skipped
FROM tests.all_test_runs
WHERE time_inserted >= {since:DateTime64(3, 'UTC')} AND file = {file:String}
GROUP BY file, classname, name ORDER BY runs DESC
"""
_GUIDES_JOBS: Final = """
SELECT name, count(DISTINCT id) AS failures
FROM default.workflow_job
WHERE conclusion = 'failure' AND completed_at >= {since:DateTime64(3, 'UTC')}
    AND repository_full_name = {repository:String} AND head_branch = 'main'
GROUP BY name ORDER BY failures DESC LIMIT 10
"""


def _raw_week(warehouse: Warehouse, file: str, since: datetime, until: datetime) -> bytes:
    asked = {"repository": REPOSITORY, "file": file, "module": "", "since": since, "until": until}
    return _native(warehouse, saved_query("test_file_week"), asked)


def _guides(warehouse: Warehouse, file: str, since: datetime) -> bytes:
    return _native(warehouse, _GUIDES_WEEK, {"file": file, "since": since})


def _guides_jobs(warehouse: Warehouse, since: datetime) -> bytes:
    return _native(warehouse, _GUIDES_JOBS, {"repository": REPOSITORY, "since": since})


def _native(warehouse: Warehouse, sql: str, parameters: dict[str, Any]) -> bytes:
    """The engine's bytes, past everything of ours."""
    told = {name: _text(value) for name, value in parameters.items()}
    client: Any = warehouse._client._client
    return bytes(client.raw_query(sql, parameters=told, fmt="Native"))


def _text(value: object) -> object:
    return value.replace(tzinfo=None).isoformat(sep=" ") if isinstance(value, datetime) else value
