"""Streaks the long way: a row a run, an object a cell. Slow and plain; what the product answers must equal it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from buildeye.insight.grid import FAILED, JUDGED, Cell, Commit, JobRun, letter_of, merged
from buildeye.insight.shards import folded_names
from buildeye.insight.streaks import Streak, ordered
from buildeye.warehouse import Warehouse

_OF_SHARDS: Final = "XTQ?FONSC"
ROWS: Final = """
SELECT job.head_sha AS sha, job.workflow_name AS workflow, job.name AS name, job.id AS id, job.status AS status,
    job.conclusion AS conclusion, told.signature AS signature,
    if(conclusion IN ('failure', 'timed_out', 'startup_failure'), job.html_url, '') AS page
FROM (SELECT * FROM default.workflow_job_latest) AS job
LEFT JOIN (SELECT job_id, signature FROM buildeye.diagnosis_latest) AS told ON told.job_id = job.id
WHERE job.repository_full_name = {repository:String} AND job.head_branch = {branch:String}
"""


def grid(runs: Iterable[JobRun], shas: Iterable[str]) -> dict[str, dict[str, Cell]]:
    """Cells by folded job and commit."""
    known = set(shas)
    apart: dict[tuple[str, str], list[JobRun]] = defaultdict(list)
    for run in set(runs):
        if run.sha in known:
            apart[run.sha, run.job].append(run)
    names = folded_names(job for _, job in apart)
    shards: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for (sha, job), same in apart.items():
        shards[names[job], sha].append(merged(same))
    cells: dict[str, dict[str, Cell]] = defaultdict(dict)
    for (name, sha), parts in shards.items():
        cells[name][sha] = parts[0] if len(parts) == 1 else _folded_cell(parts)
    return dict(cells)


def _folded_cell(shards: Sequence[Cell]) -> Cell:
    best = min(shards, key=lambda cell: (_OF_SHARDS.index(cell.letter), -cell.id, cell.html_url))
    alike = [cell for cell in shards if (cell.letter in FAILED) == (best.letter in FAILED)]
    signatures = {signature for cell in alike for signature in cell.signatures}
    return Cell(best.letter, best.id, tuple(sorted(signatures)), best.html_url)


def streaks_the_long_way(commits: Iterable[Commit], runs: Iterable[JobRun]) -> tuple[Streak, ...]:
    """All streaks, longest first."""
    window = ordered(commits)
    cells = grid(runs, [commit.sha for commit in window])
    found = [each for job, of_job in cells.items() if (each := _streak(job, window, of_job)) is not None]
    return tuple(sorted(found, key=lambda each: (-each.length, not each.clipped, each.job)))


def _streak(job: str, window: Sequence[Commit], cells: Mapping[str, Cell]) -> Streak | None:
    judged = [
        (place, cells[commit.sha])
        for place, commit in enumerate(window)
        if commit.sha in cells and cells[commit.sha].letter in JUDGED
    ]
    length = next((n for n, (_, cell) in enumerate(judged) if cell.letter not in FAILED), len(judged))
    if not length:
        return None
    bad = judged[:length]
    first, last = bad[-1][0], bad[0][0]
    good = judged[length][0] if length < len(judged) else None
    counts = Counter(signature for _, cell in bad for signature in cell.signatures)
    return Streak(
        job, length, good is None, window[first], window[last],
        None if good is None else window[good],
        () if good is None else tuple(reversed(window[first:good])),
        sum(cell.letter in FAILED for _, cell in judged), len(judged),
        tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))),
        sum(not cell.signatures for _, cell in bad), bad[0][1].html_url,
    )  # fmt: skip


def runs_in(warehouse: Warehouse, repository: str, branch: str) -> list[JobRun]:
    """All runs of a branch, read row by row."""
    answer = warehouse.query(ROWS, {"repository": repository, "branch": branch})
    rows: list[dict[str, Any]] = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    return [
        JobRun(
            row["sha"], f"{row['workflow']} / {row['name']}", row["id"], letter_of(row["status"], row["conclusion"]),
            row["signature"], row["page"],
        )
        for row in rows
    ]  # fmt: skip
