"""Which runs there were: ask GitHub for the runs of a time window."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from pydantic import TypeAdapter

from buildeye.config import Settings
from buildeye.github.client import GitHub
from buildeye.model import Run
from buildeye.pipeline.stagefiles import parse, read_items, write_json

_ADAPTER = TypeAdapter(Run)
STAGE = "fetch-runs"


def fetch_runs(github: GitHub, settings: Settings, now: datetime) -> list[Run]:
    """Runs of the watched workflows created within `monitoring.lookback_hours` before `now`, newest first."""
    target = settings.target_repository
    since = now - timedelta(hours=settings.monitoring.lookback_hours)
    found = github.runs(target.owner, target.repo, since=since, until=now, workflows=settings.workflows)
    return list(islice(found, settings.monitoring.max_runs))


def write_runs(path: Path, runs: Sequence[Run], repository: str) -> None:
    """Write `workflow_runs.json`."""
    write_json(path, {"repository": repository, "runs": [_ADAPTER.dump_python(run, mode="json") for run in runs]})


def repository_of(runs: Sequence[Run]) -> str | None:
    """The repository that all these runs are of, `owner/repo`; None when there is not exactly one."""
    named = {run.repository_full_name for run in runs if run.repository_full_name}
    return named.pop() if len(named) == 1 else None


def read_runs(path: Path) -> list[Run]:
    """Read `workflow_runs.json`; raises UsageError that names the run and the field that is missing."""
    return [parse(_ADAPTER, item, path, i, STAGE) for i, item in enumerate(read_items(path, "runs", STAGE))]
