"""Which jobs of a branch fail since when: failures in a row from the newest commit that has a result.

After the judgement of PyTorch's `scripts/hud/analyze_failing_jobs.py`, with commits identified by their sha, shards as
one job, cancelled as no failure, and failures told apart by the signature of our diagnosis instead of text likeness.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from buildeye.insight.grid import FAILED, FAILURES, JUDGED, Cell, Commit, JobRun, folded, grid, letter_of
from buildeye.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Streak:
    """A job that fails since `first_bad`.

    `length` counts commits at which it failed without a pass between; commits without a result are not counted.
    `clipped`: no pass is in the window, so that it may have begun before it. `last_good` is the newest commit before at
    which it passed, `between` the commits after that up to `first_bad`, oldest first, also those without a result.
    `failed` of `judged` commits of the whole window failed. `signatures` with the number of commits of the streak that
    had each, most first; `undiagnosed` commits of the streak had none.
    """

    job: str
    length: int
    clipped: bool
    first_bad: Commit
    last_bad: Commit
    last_good: Commit | None
    between: tuple[Commit, ...]
    failed: int
    judged: int
    signatures: tuple[tuple[str, int], ...] = ()
    undiagnosed: int = 0
    html_url: str = ""

    @property
    def failure_rate(self) -> float:
        """Share of the judged commits of the window at which it failed, from 0 to 1."""
        return self.failed / self.judged


def ordered(commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """Commits newest first, each once by its sha: the earliest time counts, and the highest pull request known."""
    known: dict[str, Commit] = {}
    for commit in sorted(commits, key=lambda each: (each.at, -each.pull_request, each.title)):
        first = known.setdefault(commit.sha, commit)
        if commit.pull_request > first.pull_request:
            known[commit.sha] = Commit(commit.sha, first.at, commit.pull_request, commit.title)
    return tuple(sorted(known.values(), key=lambda each: (each.at, each.sha), reverse=True))


def streaks(commits: Iterable[Commit], runs: Iterable[JobRun], least: int = 1) -> tuple[Streak, ...]:
    """All streaks of at least `least` commits, longest first; order and repetition never matter."""
    window = ordered(commits)
    found = (_streak(job, window, cells) for job, cells in grid(runs).items())
    long = [each for each in found if each is not None and each.length >= least]
    return tuple(sorted(long, key=lambda each: (-each.length, not each.clipped, each.job)))


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


def streaks_of(
    warehouse: Warehouse, repository: str, branch: str, commits: int = 100, least: int = 1
) -> tuple[Streak, ...]:
    """The streaks on the newest `commits` of a branch of `repository` (`owner/name`). Two questions, however many jobs.

    Raises what `Warehouse.ask` raises.
    """
    window = [
        Commit(row["sha"], row["at"], row["pull_request"], row["title"])
        for row in warehouse.ask("branch_commits", repository=repository, branch=branch, limit=commits)
    ]
    if not window:
        return ()
    asked = {"repository": repository, "branch": branch, "commits": [commit.sha for commit in window]}
    since = min(commit.at for commit in window)
    return streaks(window, _suspect_runs(warehouse.ask("branch_jobs", **asked, since=since)), least)


def _suspect_runs(rows: Sequence[Mapping[str, Any]]) -> list[JobRun]:
    """The runs of jobs of which any shard failed anywhere: most jobs of most branches need not be looked at."""
    names = {(row["workflow_name"], row["name"]) for row in rows}
    jobs = {name: folded(_full_name(*name)) for name in names}
    failed = {jobs[row["workflow_name"], row["name"]] for row in rows if row["conclusion"] in FAILURES}
    return [_run_of(row) for row in rows if jobs[row["workflow_name"], row["name"]] in failed]


def _full_name(workflow: str, name: str) -> str:
    return f"{workflow} / {name}" if workflow else name


def _run_of(row: Mapping[str, Any]) -> JobRun:
    name = _full_name(row["workflow_name"], row["name"])
    letter = letter_of(row["status"], row["conclusion"])
    return JobRun(row["sha"], name, row["id"], letter, row["signature"], row["html_url"])
