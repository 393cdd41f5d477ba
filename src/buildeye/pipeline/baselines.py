"""What a job prints when it passes: kept of green jobs, so that a failed one can be compared with it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from buildeye.logs.baseline import line_set
from buildeye.logs.environment import read_environment
from buildeye.logs.source import open_logs
from buildeye.logstore import LogStore
from buildeye.model import BuildEyeError, Thing
from buildeye.warehouse import Baseline, JobEnvironment, Warehouse


def keep_baselines(warehouse: Warehouse, logs: LogStore, repository: str, since: datetime) -> int:
    """Keep the lines of the newest green log of each job name and branch that ended since `since`; how many were new.

    What these jobs ran in and with is kept too, and first: a job that has a baseline is not read again. A log that
    cannot be read is passed over: the next green one will do.
    """
    rows = warehouse.ask("green_logs_kept", repository=repository, since=since)
    kept = [both for row in rows if (both := _read(repository, row, logs))]
    warehouse.write_environments([environment for _, environment in kept if environment.things])
    warehouse.write_baselines([baseline for baseline, _ in kept])
    return len(kept)


def _read(repository: str, row: Mapping[str, Any], logs: LogStore) -> tuple[Baseline, JobEnvironment] | None:
    lines: set[int] = set()
    things: set[Thing] = set()
    try:
        for log in open_logs(str(logs.local(row["place"]))):
            with log:
                lines |= line_set(log)
                things.update(read_environment(log))
    except (BuildEyeError, FileNotFoundError):
        return None
    ended = row["completed_at"]
    return (
        Baseline(repository, row["name"], row["branch"], row["job_id"], row["head_sha"], ended, sorted(lines)),
        JobEnvironment(repository, row["run_id"], row["job_id"], tuple(sorted(things)), ended),
    )


def stored_baselines(
    warehouse: Warehouse, repository: str, branch: str, names: Iterable[str]
) -> Mapping[str, frozenset[int]]:
    """The lines of the last green run on `branch` by job name, for those of `names` of which one is known."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    rows = warehouse.ask("green_baselines", repository=repository, branch=branch, job_names=wanted)
    return {row["job_name"]: frozenset(row["line_hashes"]) for row in rows}
