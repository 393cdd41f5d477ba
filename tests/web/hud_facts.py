"""Commits and jobs of a branch for the tests of the grid, and the grid as a reader of PyTorch's takes it apart."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx2
from fastapi import FastAPI

from buildeye.model import Job, Run
from buildeye.simulator.server import serving
from buildeye.warehouse import Warehouse
from buildeye.web.hud import hud_router
from tests.warehouse.facts import REPOSITORY, a_job, a_run, at

WEB = f"https://github.test/{REPOSITORY}"
LIMIT = 60


def sha(number: int) -> str:
    """The name of a commit."""
    return f"{number:02x}" * 20


def pushed(number: int, *, branch: str = "main", event: str = "push", repository: str = REPOSITORY) -> Run:
    """The run that a push of commit `number` began, an hour after the one before."""
    run = a_run(number, event=event, branch=branch, pulls=(), repository=repository)
    return replace(run, head_sha=sha(number), created_at=at(60 * number), display_title=f"Commit {number}\n\nWhy.")


def job(
    number: int,
    commit: int,
    name: str = "unit",
    ended: str = "success",
    *,
    status: str = "completed",
    workflow: str = "CI",
    branch: str = "main",
) -> Job:
    """Job `number` at a commit; `ended` is its conclusion when it is completed."""
    made = a_job(
        number, run=commit, name=name, status=status, conclusion=ended if status == "completed" else None,
        branch=branch, completed=20 if status == "completed" else None,
    )  # fmt: skip
    return replace(
        made, head_sha=sha(commit), workflow_name=workflow, created_at=at(60 * commit),
        html_url=f"{WEB}/actions/runs/{commit}/job/{number}",
    )  # fmt: skip


@contextmanager
def hud(warehouse: Warehouse, token: str | None = None) -> Iterator[httpx2.Client]:
    """A server that shows the grid."""
    app = FastAPI()
    app.include_router(hud_router(warehouse, token))
    with serving(app) as base, httpx2.Client(base_url=base, trust_env=False, timeout=LIMIT) as client:
        yield client


def columns(page: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The cells of each job, newest commit first, with the commit in each."""
    return {
        name: [row["jobs"][place] | {"sha": row["sha"]} for row in page["shaGrid"]]
        for place, name in enumerate(page["jobNames"])
    }


def shas(page: Mapping[str, Any]) -> Sequence[str]:
    return [row["sha"] for row in page["shaGrid"]]
