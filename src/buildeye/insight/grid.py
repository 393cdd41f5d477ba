"""Commits x jobs: what became of each job at each commit, whatever order and how often its runs are told.

Runs of one job at one commit (re-runs, several workflows' attempts) become one letter: success and failure together are
flaky, cancelled loses to anything. `shards` says which jobs are parts of one; `shard_letter` what becomes of them: any
that failed fails it.
"""

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
_OF_SHARDS: Final = (FAILURE, TIMED_OUT, QUEUED, PENDING, FLAKY, SUCCESS, NEUTRAL, SKIPPED, CANCELLED, NONE)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the branch: when it came (aware, UTC) and the pull request that brought it, 0 when not known.

    `before`: the newest commit of the branch before it, as the push that brought it says; '' when not known.
    """

    sha: str
    at: datetime
    pull_request: int = 0
    title: str = ""
    before: str = ""


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


def merged(runs: Iterable[JobRun]) -> Cell:
    """The one cell of all runs of one job at one commit."""
    known = list(runs)
    letters = {run.letter for run in known}
    best = min(known, key=lambda run: (_OF_RUNS.index(run.letter), -run.id, run.signature, run.html_url))
    flaky = SUCCESS in letters and bool(letters & FAILED)
    signatures = {run.signature for run in known if run.letter in FAILED and run.signature}
    return Cell(FLAKY if flaky else best.letter, best.id, tuple(sorted(signatures)), best.html_url)


def shard_letter(letters: Iterable[str]) -> str:
    """The one letter of all shards of a job at one commit: any that failed fails it, any not over leaves it open."""
    return min(letters, key=_OF_SHARDS.index)
