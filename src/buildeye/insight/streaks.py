"""Which jobs of a branch fail since when: failures in a row from the newest commit that has a result.

After the judgement of PyTorch's `scripts/hud/analyze_failing_jobs.py`, with commits identified by their sha, shards as
one job, cancelled as no failure, and failures told apart by the signature of our diagnosis instead of text likeness.

A job is a string of letters, one a commit: ClickHouse makes it, and only what failed comes as rows of its own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from buildeye.insight.grid import FAILED, FLAKY, NONE, SUCCESS, Commit, JobRun, merged, shard_letter
from buildeye.insight.shards import folded_names
from buildeye.model import UsageError
from buildeye.warehouse import Warehouse

_PASSED: Final = (SUCCESS, FLAKY)


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


class FailedRun(NamedTuple):
    """A run that failed at the commit of that place in the window; `signature` '' when it was not diagnosed."""

    place: int
    letter: str
    id: int
    signature: str
    html_url: str


@dataclass(frozen=True, slots=True)
class JobLetters:
    """What became of a job (its full name) at each commit of a window, newest first, and all its runs that failed."""

    job: str
    letters: str
    failed: tuple[FailedRun, ...] = ()


def ordered(commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """Commits newest first, each once by its sha: the earliest time counts, and the highest pull request known.

    A commit on top of which another was pushed came no later than that, whenever it was first named.
    """
    known: dict[str, Commit] = {}
    for commit in sorted(commits, key=lambda each: (each.at, -each.pull_request, each.title, each.before)):
        first = known.setdefault(commit.sha, commit)
        if commit.pull_request > first.pull_request:
            first = replace(first, pull_request=commit.pull_request, title=commit.title)
        known[commit.sha] = replace(first, before=max(first.before, commit.before))
    for commit in sorted(known.values(), key=lambda each: (each.at, each.sha)):
        _draw_back(known, commit.sha)
    depth = {sha: _depth(known, sha) for sha in known}
    return tuple(sorted(known.values(), key=lambda each: (each.at, depth[each.sha], each.sha), reverse=True))


def _draw_back(known: dict[str, Commit], sha: str) -> None:
    """Let the commits below this one be no later than it."""
    here = known[sha]
    while (below := known.get(here.before)) is not None and below.at > here.at:
        known[below.sha] = here = replace(below, at=here.at)


def _depth(known: Mapping[str, Commit], sha: str) -> int:
    """How many commits of the same moment are below it; pushes back and forth end the count."""
    seen, here = {sha}, known[sha]
    while (below := known.get(here.before)) is not None and below.at == here.at and below.sha not in seen:
        seen.add(below.sha)
        here = below
    return len(seen)


def streaks(commits: Iterable[Commit], runs: Iterable[JobRun], least: int = 1) -> tuple[Streak, ...]:
    """All streaks of at least `least` commits, longest first; order and repetition never matter."""
    window = ordered(commits)
    return streaks_in(window, _letters(window, runs), least)


def streaks_in(window: Sequence[Commit], jobs: Iterable[JobLetters], least: int = 1) -> tuple[Streak, ...]:
    """The streaks of jobs whose letters are those of `window`, longest first; the order of jobs does not matter."""
    all_jobs = list(jobs)
    names = folded_names(each.job for each in all_jobs)
    families: dict[str, list[JobLetters]] = defaultdict(list)
    for each in all_jobs:
        families[names[each.job]].append(each)
    found = (_streak(job, window, shards) for job, shards in families.items() if any(each.failed for each in shards))
    long = [each for each in found if each is not None and each.length >= least]
    return tuple(sorted(long, key=lambda each: (-each.length, not each.clipped, each.job)))


def _letters(window: Sequence[Commit], runs: Iterable[JobRun]) -> list[JobLetters]:
    """What ClickHouse makes of the rows of a branch, from runs."""
    places = {commit.sha: place for place, commit in enumerate(window)}
    apart: dict[str, dict[int, list[JobRun]]] = defaultdict(lambda: defaultdict(list))
    for run in set(runs):
        if run.sha in places:
            apart[run.job][places[run.sha]].append(run)
    return [
        JobLetters(
            job,
            "".join(merged(at[place]).letter if place in at else NONE for place in range(len(window))),
            tuple(
                FailedRun(place, run.letter, run.id, run.signature, run.html_url)
                for place, same in at.items()
                for run in same
                if run.letter in FAILED
            ),
        )
        for job, at in apart.items()
    ]


def _streak(job: str, window: Sequence[Commit], shards: Sequence[JobLetters]) -> Streak | None:
    columns = [each.letters.ljust(len(window), NONE) for each in shards]
    letters = columns[0] if len(columns) == 1 else "".join(map(shard_letter, zip(*columns, strict=True)))
    good = min((place for passed in _PASSED if (place := letters.find(passed)) >= 0), default=None)
    bad = [place for place, letter in enumerate(letters[:good]) if letter in FAILED]
    if not bad:
        return None
    failed = sum(letters.count(letter) for letter in FAILED)
    counts, undiagnosed = _signatures(shards, set(bad))
    return Streak(
        job, len(bad), good is None, window[bad[-1]], window[bad[0]],
        None if good is None else window[good],
        () if good is None else tuple(reversed(window[bad[-1] : good])),
        failed, failed + sum(letters.count(letter) for letter in _PASSED),
        tuple(sorted(counts.items(), key=lambda each: (-each[1], each[0]))), undiagnosed,
        _page(shards, bad[0], letters[bad[0]]),
    )  # fmt: skip


def _signatures(shards: Sequence[JobLetters], bad: set[int]) -> tuple[Counter[str], int]:
    """How many bad commits had each signature, and how many had none; of shards only those that failed count."""
    at: dict[int, set[str]] = defaultdict(set)
    for shard in shards:
        for run in shard.failed:
            if run.signature and run.place in bad and shard.letters[run.place] in FAILED:
                at[run.place].add(run.signature)
    return Counter(signature for told in at.values() for signature in told), len(bad) - len(at)


def _page(shards: Sequence[JobLetters], place: int, letter: str) -> str:
    """The page of the newest run that ended with the letter of its commit."""
    newest = [
        min(same, key=lambda run: (-run.id, run.signature, run.html_url))
        for shard in shards
        if shard.letters[place : place + 1] == letter
        and (same := [run for run in shard.failed if run.place == place and run.letter == letter])
    ]
    return min(newest, key=lambda run: (-run.id, run.html_url)).html_url


def streaks_of(
    warehouse: Warehouse, repository: str, branch: str, commits: int = 100, least: int = 1, ending: str = ""
) -> tuple[Streak, ...]:
    """The streaks on the newest `commits` of a branch of `repository` (`owner/name`). Two questions, however many jobs.

    `ending`: the name of a commit, or its first characters: the window ends with it, as if nothing had come since.
    UsageError: the branch has no such commit. Raises what `Warehouse.ask` raises.
    """
    rows = warehouse.ask("branch_commits", repository=repository, branch=branch, limit=commits, ending=ending)
    if not rows:
        if ending:
            raise UsageError(f"{repository}: {branch} has no commit {ending} that is known here")
        return ()
    window = ordered(Commit(row["sha"], row["at"], row["pull_request"], row["title"], row["before"]) for row in rows)
    asked = {"repository": repository, "branch": branch, "commits": [commit.sha for commit in window]}
    told = warehouse.ask("branch_letters", **asked, since=min(commit.at for commit in window))
    return streaks_in(window, map(_job_of, told), least)


def _job_of(row: Mapping[str, Any]) -> JobLetters:
    name = f"{row['workflow_name']} / {row['name']}" if row["workflow_name"] else row["name"]
    return JobLetters(name, row["letters"], tuple(FailedRun(*each) for each in row["failed"]))
