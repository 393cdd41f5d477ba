"""What asking costs on a large warehouse, and what the query guard refuses and lets through.

    python benchmarks/ask.py [--test-runs N] [--jobs N] [--folder DIR] [--out FILE]

The warehouse (some gigabytes) and DuckDB's copy are made once, in .cache/ask-bench-N, and stay there. Prints the
numbers beside the goals and writes them into benchmarks/ask.json; a smaller run writes only where --out names a file.
See docs/benchmarks.md.
"""

import argparse
import json
import platform
import shutil
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from benchmarks import processes  # noqa: E402 - found by the path set above
from benchmarks.asking import beside, questions, rows  # noqa: E402
from benchmarks.kept import keep  # noqa: E402
from tests.ask.hostile import CARELESS, HOSTILE  # noqa: E402
from tests.ask.legitimate import LEGITIMATE  # noqa: E402

from buildeye.ask.guard import Refused, check  # noqa: E402
from buildeye.warehouse import open_warehouse  # noqa: E402

GOALS: Final[Mapping[str, float]] = {
    "test_file_week_ms": 100,
    "overhead_vs_chdb": 1.2,
    "top_failing_ms": 150,
    "streaks_ms": 300,
}


def main() -> None:
    """Make the rows where they are missing, ask, print, and write the numbers."""
    given = _parsed()
    folder = given.folder or HERE.parent / ".cache" / f"ask-bench-{given.test_runs}-{given.jobs}"
    until = _made(folder, given.test_runs, given.jobs)
    numbers: dict[str, Any] = {"rows": given.test_runs, "jobs": given.jobs}
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as warehouse:
        beside.copy(warehouse, folder / "parquet", folder / "test_runs.duckdb", _tell)
        numbers |= questions.measure(warehouse, until)
    numbers |= beside.measure(folder / "test_runs.duckdb", until) | _guarded()
    _report(numbers)
    facts = {
        "machine": f"{platform.machine()}, {processes.machine()}, Python {platform.python_version()}",
        "when": datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ"),
    }
    is_whole = given.test_runs == rows.TEST_ROWS and given.jobs == rows.CI_JOBS
    if out := given.out or (HERE / "ask.json" if is_whole else None):
        keep(out, numbers | facts)
        print(f"written: {out.name}")


def _made(folder: Path, test_runs: int, jobs: int) -> datetime:
    """Until when the rows of `folder` go; they are made when they are not there."""
    mark = folder / "made.json"
    if mark.exists():
        return datetime.fromisoformat(json.loads(mark.read_text("utf-8"))["until"])
    until = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    with open_warehouse(f"chdb://{folder / 'warehouse'}") as warehouse:
        rows.fill(warehouse, until, test_runs, jobs, _tell)
    mark.write_text(json.dumps({"until": until.isoformat()}), "utf-8")
    _tell(f"made in {time.monotonic() - began:.0f} s")
    return until


def _guarded() -> dict[str, Any]:
    """How many statements of the tests' tables the guard refuses for the right reason, and how many it lets through."""
    hostile = HOSTILE + CARELESS
    return {
        "guard_hostile_total": len(hostile),
        "guard_hostile_refused": sum(_reason(sql) == reason for reason, sql in hostile),
        "guard_legitimate_total": len(LEGITIMATE),
        "guard_legitimate_passed": sum(_reason(sql) is None for sql in LEGITIMATE),
    }


def _reason(sql: str) -> str | None:
    try:
        check(sql)
    except Refused as refused:
        return refused.reason
    return None


def _report(numbers: Mapping[str, Any]) -> None:
    """Print every number, with its goal where it has one; a goal that is missed stands out."""
    for name, value in numbers.items():
        goal = GOALS.get(name)
        missed = "" if goal is None or value <= goal else "   MISSED"
        print(f"{name:32} {value:>14,}" + (f"   goal <= {goal:g}{missed}" if goal is not None else ""))


def _tell(what: str) -> None:
    print(what, flush=True)


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test-runs", type=int, default=rows.TEST_ROWS)
    parser.add_argument("--jobs", type=int, default=rows.CI_JOBS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
