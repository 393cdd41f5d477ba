"""DuckDB on the same rows: the columns that the week of a file needs, sorted as ClickHouse sorts them.

The rows go through Parquet, file by file, so that neither engine has them in memory at once.
"""

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.asking.questions import median_ms
from benchmarks.asking.rows import LARGEST_FILE, USUAL_FILE, week

from buildeye.warehouse import Warehouse

_COLUMNS: Final = (
    "file, classname, name, job_id, failure_count, error_count, skipped_count, "
    "toUnixTimestamp64Milli(time_inserted) AS ms"
)
_PARTS: Final = 25
_WEEK: Final = """
SELECT file, classname, name, count(*) AS runs,
    count(*) FILTER (WHERE failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
    count(*) FILTER (WHERE failure_count > 0 OR error_count > 0) AS fails,
    count(*) FILTER (WHERE skipped_count > 0) AS skipped
FROM all_test_runs WHERE ms >= ? AND file = ? GROUP BY file, classname, name ORDER BY runs DESC
"""


def copy(warehouse: Warehouse, folder: Path, database: Path, tell: Callable[[str], None]) -> None:
    """Make the DuckDB file from the warehouse's rows, if it is not there yet."""
    import duckdb

    if database.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    making = database.with_suffix(".making")
    making.unlink(missing_ok=True)
    with duckdb.connect(str(making)) as duck:
        for part in range(_PARTS):
            parquet = folder / f"{part:02}.parquet"
            warehouse.query(
                f"INSERT INTO FUNCTION file('{parquet}', 'Parquet') SELECT {_COLUMNS} FROM tests.all_test_runs "
                f"WHERE startsWith(file, 'group_{part}/') ORDER BY file, classname, name"
            )
            verb = "INSERT INTO all_test_runs" if part else "CREATE TABLE all_test_runs AS"
            duck.execute(f"{verb} SELECT * FROM read_parquet('{parquet}')")
            parquet.unlink()
            tell(f"DuckDB: group {part + 1} of {_PARTS}")
    making.rename(database)


def measure(database: Path, until: datetime) -> dict[str, Any]:
    """The same question, answered by DuckDB with as many threads as the machine has."""
    import duckdb

    since = int(week(until)[0].timestamp() * 1000)
    with duckdb.connect(str(database), read_only=True) as duck:
        return {
            "duckdb_ms": median_ms(lambda: duck.execute(_WEEK, [since, USUAL_FILE]).fetchall()),
            "duckdb_largest_file_ms": median_ms(lambda: duck.execute(_WEEK, [since, LARGEST_FILE]).fetchall()),
        }
