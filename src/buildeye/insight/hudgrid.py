"""The grid of a branch as PyTorch's HUD gives it away: commits x jobs, every run of one (commit, job) as one cell.

Cells come from the warehouse as JSON text: of a page of 100 commits x 400 jobs no Python object is made but the text.
Shards stay apart, as there; `insight.grid` says which of several runs stands for a cell.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from buildeye.warehouse import Warehouse

GITHUB: Final = "https://github.com/"
NO_CELL: Final = "{}"
_SHA: Final = re.compile(r"[0-9a-f]{7,40}")
_NUMBER: Final = re.compile(r"\(#(\d{1,9})\)\s*$")
_ALL: Final = (datetime(2200, 1, 1, tzinfo=UTC), "")
"""A moment after every commit."""


@dataclass(frozen=True, slots=True)
class HudCommit:
    """A row. `at` is aware, in UTC; `pull_request` is 0, `title` and `author` are '' when not known."""

    sha: str
    at: datetime
    pull_request: int = 0
    title: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class HudPage:
    """Commits newest first, all jobs any of them has, sorted, and for each commit a cell a job: JSON, `{}` for none.

    `web` is the repository's address on GitHub, with a slash at its end.
    """

    commits: tuple[HudCommit, ...]
    jobs: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    web: str


def hud_page(warehouse: Warehouse, repository: str, ref: str, page: int, per_page: int) -> HudPage:
    """Page `page` (from 1) of the grid of `ref` in `repository` (`owner/name`): two questions, three for a commit.

    `ref` is a branch or, when no branch has that name, a commit: then the grid begins with it. An unknown one gives an
    empty page. Raises what `Warehouse.ask` raises.
    """
    asked = {"repository": repository, "limit": per_page, "offset": (page - 1) * per_page}
    branch = ref
    rows = warehouse.ask("hud_commits", **asked, branch=branch, until=_ALL[0], until_sha=_ALL[1])
    if not rows and _SHA.fullmatch(ref):
        for found in warehouse.ask("hud_branch_of_commit", repository=repository, sha=ref):
            branch = found["branch"]
            rows = warehouse.ask("hud_commits", **asked, branch=branch, until=found["at"], until_sha=found["sha"])
    web = f"{GITHUB}{repository}/"
    if not rows:
        return HudPage((), (), (), web)
    commits = tuple(
        HudCommit(row["sha"], row["at"], row["pull_request"], row["title"], row["author"]) for row in rows
    )  # fmt: skip
    told = warehouse.ask(
        "hud_cells", repository=repository, branch=branch, commits=[each.sha for each in commits],
        since=min(each.at for each in commits),
    )  # fmt: skip
    cells = {row["sha"]: dict(zip(row["names"], row["cells"], strict=True)) for row in told}
    jobs, placed = positional([each.sha for each in commits], cells)
    return HudPage(commits, jobs, placed, max((row["web"] for row in told), default="") or web)


def positional(
    commits: Sequence[str], cells: "dict[str, dict[str, str]]"
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """All job names, sorted, and the cells of each commit in that order; `cells` are by commit and job name."""
    jobs = tuple(sorted({name for row in cells.values() for name in row}))
    nothing: dict[str, str] = {}
    return jobs, tuple(
        tuple(row.get(name, NO_CELL) for name in jobs) for row in (cells.get(sha, nothing) for sha in commits)
    )


def hud_json(page: HudPage) -> bytes:
    """The page as PyTorch's `GET /api/hud/...` answers it."""
    rows = ",".join(_row(page.web, commit, cells) for commit, cells in zip(page.commits, page.cells, strict=True))
    return f'{{"shaGrid":[{rows}],"jobNames":{json.dumps(page.jobs)}}}'.encode()


def _row(web: str, commit: HudCommit, cells: Iterable[str]) -> str:
    title = commit.title.partition("\n")[0].strip()
    named = _NUMBER.search(title)
    number = commit.pull_request or (int(named[1]) if named else None)
    known = {
        "sha": commit.sha,
        "time": f"{commit.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "prNum": number,
        "commitUrl": f"{web}commit/{commit.sha}",
        "commitTitle": title,
        "author": commit.author,
    }
    return f'{json.dumps(known)[:-1]},"jobs":[{",".join(cells)}]}}'
