"""Commits x jobs: what became of each job at each commit, whatever order and how often its runs are told.

Two steps. Runs of one job at one commit (re-runs, several workflows' attempts) become one letter: success and failure
together are flaky, cancelled loses to anything. Then the shards of a job fold into one: any that failed fails it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

SUCCESS: Final = "O"
FLAKY: Final = "F"
FAILURE: Final = "X"
TIMED_OUT: Final = "T"
QUEUED: Final = "Q"
PENDING: Final = "?"
NEUTRAL: Final = "N"
SKIPPED: Final = "S"
CANCELLED: Final = "C"
NONE: Final = "~"
"""No run of the job at the commit."""

FAILED: Final = frozenset({FAILURE, TIMED_OUT})
JUDGED: Final = FAILED | {SUCCESS, FLAKY}
"""Letters that say how it ended; all others are no data."""

_CONCLUSIONS: Final = {
    "success": SUCCESS, "failure": FAILURE, "startup_failure": FAILURE, "timed_out": TIMED_OUT, "skipped": SKIPPED,
    "cancelled": CANCELLED, "stale": CANCELLED,
}  # fmt: skip
FAILURES: Final = frozenset(word for word, letter in _CONCLUSIONS.items() if letter in FAILED)
"""The conclusions of GitHub that are failures."""
_OF_RUNS: Final = (SUCCESS, FAILURE, TIMED_OUT, QUEUED, PENDING, NEUTRAL, SKIPPED, CANCELLED)
_OF_SHARDS: Final = (FAILURE, TIMED_OUT, QUEUED, PENDING, FLAKY, SUCCESS, NEUTRAL, SKIPPED, CANCELLED)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the branch: when it came (aware, UTC) and the pull request that brought it, 0 when not known."""

    sha: str
    at: datetime
    pull_request: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job at a commit; `job` is its full name, `signature` of its diagnosis, '' when it has none."""

    sha: str
    job: str
    id: int
    letter: str
    signature: str = ""
    html_url: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """What became of a job at a commit: a letter, the newest run that shows it, the signatures of its failures."""

    letter: str
    id: int = 0
    signatures: tuple[str, ...] = ()
    html_url: str = ""


def letter_of(status: str, conclusion: str) -> str:
    """The letter of one run in GitHub's words; a conclusion that is not known is neutral."""
    if status == "completed":
        return _CONCLUSIONS.get(conclusion, NEUTRAL)
    return QUEUED if status == "queued" else PENDING


_SHARD: Final = re.compile(r"(?:shard\s*)?\d+\s*(?:/|\bof\b)\s*\d+|shard\s*\d+", re.IGNORECASE)
_VALUES: Final = re.compile(r"\s*\(([^()]*)\)")


def folded(job: str) -> str:
    """A job's name without shard numbers: `test (default, 1, 5, linux)` and `test (default, 2, 6, linux)` are one.

    A shard is `1/5`, `1 of 5`, `shard 1`, or two whole numbers k, n with 1 <= k <= n side by side. One number alone
    may be a version (`node (18)`) and stays.
    """
    return _VALUES.sub(lambda found: _kept(found[1]), job)


def _kept(inside: str) -> str:
    values = [value.strip() for value in inside.split(",")]
    kept: list[str] = []
    while values:
        here = values.pop(0)
        if here.isdecimal() and values and values[0].isdecimal() and 1 <= int(here) <= int(values[0]):
            values.pop(0)
        elif not _SHARD.fullmatch(here):
            kept.append(here)
    return f" ({', '.join(kept)})" if kept else ""


def grid(runs: Iterable[JobRun]) -> dict[str, dict[str, Cell]]:
    """Cells by folded job and commit; the order and repetition of `runs` do not matter."""
    apart: dict[tuple[str, str], list[JobRun]] = defaultdict(list)
    for run in set(runs):
        apart[run.sha, run.job].append(run)
    shards: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    names: dict[str, str] = {}
    for (sha, job), same in apart.items():
        name = names.get(job) or names.setdefault(job, folded(job))
        shards[name, sha].append(merged(same))
    cells: dict[str, dict[str, Cell]] = defaultdict(dict)
    for (name, sha), parts in shards.items():
        cells[name][sha] = parts[0] if len(parts) == 1 else _folded_cell(parts)
    return dict(cells)


def merged(runs: Iterable[JobRun]) -> Cell:
    """The one cell of all runs of one job at one commit."""
    known = list(runs)
    letters = {run.letter for run in known}
    best = min(known, key=lambda run: (_OF_RUNS.index(run.letter), -run.id, run.signature, run.html_url))
    flaky = SUCCESS in letters and bool(letters & FAILED)
    signatures = {run.signature for run in known if run.letter in FAILED and run.signature}
    return Cell(FLAKY if flaky else best.letter, best.id, tuple(sorted(signatures)), best.html_url)


def _folded_cell(parts: Iterable[Cell]) -> Cell:
    shards = list(parts)
    best = min(shards, key=lambda cell: (_OF_SHARDS.index(cell.letter), -cell.id, cell.html_url))
    alike = [cell for cell in shards if (cell.letter in FAILED) == (best.letter in FAILED)]
    signatures = {signature for cell in alike for signature in cell.signatures}
    return Cell(best.letter, best.id, tuple(sorted(signatures)), best.html_url)
