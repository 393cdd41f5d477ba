"""Jobs of runner pools at noon, each with what it counts as; and a server that tells of them at /metrics."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from fastapi import FastAPI

from buildeye.model import Job, Step
from buildeye.simulator.server import serving
from buildeye.warehouse import Warehouse
from buildeye.web.exposition import metrics_router
from buildeye.web.spool import Spool
from tests.warehouse.facts import NOON, REPOSITORY, a_job, a_run, at

STEP = (Step("checkout", 1, "completed", "success", at(-5), at(-4)),)


def asked_for(
    number: int,
    status: str,
    *labels: str,
    run: int = 100,
    made: float = -5,
    steps: tuple[Step, ...] = (),
    conclusion: str | None = None,
    repository: str = REPOSITORY,
) -> Job:
    """A job created so many minutes after noon; one that runs or ran began a minute later on a runner."""
    begun = status in ("in_progress", "completed")
    made_at = a_job(number, run=run, status=status, conclusion=conclusion, repository=repository, steps=steps)
    return replace(
        made_at, labels=labels, created_at=at(made), started_at=at(made + 1) if begun else None,
        completed_at=at(made + 2) if status == "completed" else None,
        runner_name=f"runner-{number}" if begun and conclusion != "skipped" else None,
    )  # fmt: skip


def fill(warehouse: Warehouse) -> None:
    """`npu` has 5 assigned and 2 running, `linux,x64` 3 and 3, `gpu` of another organization 1 and 0, `idle` none."""
    other = "acme/engine"
    warehouse.write_runs(
        [
            a_run(100, status="in_progress", conclusion=None, updated=-1),
            replace(a_run(101, status="completed", updated=-1)),
            replace(a_run(102, status="in_progress", conclusion=None, updated=-400), created_at=at(-500)),
            a_run(200, status="queued", conclusion=None, updated=-1, repository=other),
        ]
    )
    warehouse.write_jobs(
        [
            *(asked_for(n, "in_progress", "npu", made=-20) for n in (1, 2)),
            *(asked_for(n, "queued", "npu") for n in (3, 4, 5)),
            *(asked_for(n, "in_progress", "x64", "linux", made=-30) for n in (11, 12)),
            asked_for(13, "in_progress", "linux", "x64", made=-29),
            asked_for(21, "queued", "gpu", run=200, repository=other),
            asked_for(31, "completed", "idle", made=-60, conclusion="success"),
        ]
    )
    warehouse.write_jobs(
        [  # ghosts
            asked_for(41, "queued", "npu", run=101),
            asked_for(42, "in_progress", "npu", run=101),
            asked_for(43, "queued", "npu", steps=STEP),
            asked_for(44, "queued", "npu", made=-90),
            asked_for(45, "queued", "slow", run=102, made=-450),
            asked_for(46, "queued", "npu", made=-60 * 24 * 7),
            asked_for(47, "queued", "npu"),
            asked_for(48, "waiting", "npu"),
            asked_for(49, "queued"),
        ]
    )
    warehouse.write_jobs([asked_for(47, "completed", "npu", conclusion="cancelled")])


@contextmanager
def metrics_server(
    warehouse: Warehouse,
    spool: Spool,
    now: Callable[[], datetime] = lambda: NOON,
    *,
    last_pass: Callable[[], datetime | None] = lambda: None,
    token: str | None = None,
) -> Iterator[str]:
    """The address of a server with nothing but /metrics."""
    app = FastAPI()
    app.include_router(metrics_router(warehouse, spool, now, last_pass=last_pass, token=token))
    with serving(app) as base:
        yield base


def ticking(seconds: float) -> Callable[[], datetime]:
    """A clock that goes so far at each look."""
    looks = iter(range(10**6))
    return lambda: NOON + timedelta(seconds=seconds * next(looks))
