"""What a job prints when it passes: kept of green jobs, so that a failed one can be compared with it."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from buildeye.logs.baseline import line_set
from buildeye.logs.source import open_logs
from buildeye.model import BuildEyeError, Job
from buildeye.warehouse import Baseline, Warehouse


def keep_baselines(warehouse: Warehouse, branch: str, green: Iterable[tuple[Job, Path]]) -> int:
    """Keep the lines of green jobs of `branch`, each with its log; of a job name the latest counts. How many were kept.

    A log that cannot be read is passed over: the next green one will do.
    """
    kept = [baseline for job, log in green if (baseline := _baseline(job, branch, log))]
    warehouse.write_baselines(kept)
    return len(kept)


def _baseline(job: Job, branch: str, path: Path) -> Baseline | None:
    if job.completed_at is None:
        return None
    lines: set[int] = set()
    try:
        for log in open_logs(str(path)):
            with log:
                lines |= line_set(log)
    except BuildEyeError:
        return None
    return Baseline(job.repository_full_name, job.name, branch, job.id, job.head_sha, job.completed_at, sorted(lines))


def stored_baselines(
    warehouse: Warehouse, repository: str, branch: str, names: Iterable[str]
) -> Mapping[str, frozenset[int]]:
    """The lines of the last green run on `branch` by job name, for those of `names` of which one is known."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    rows = warehouse.ask("green_baselines", repository=repository, branch=branch, job_names=wanted)
    return {row["job_name"]: frozenset(row["line_hashes"]) for row in rows}
