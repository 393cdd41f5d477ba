"""Which tests are flaky: they pass and fail at the same commit, so the code cannot be what differs.

Evidence is counted a commit, not a report: a test re-run ten times at one commit says one thing. How sure that is says
the lower bound of Wilson's interval, so that 2 of 4 rank below 40 of 100 (E. B. Wilson, J. Am. Stat. Assoc. 22, 1927).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from buildeye.insight.caseids import case_id
from buildeye.model.shares import wilson_low
from buildeye.warehouse import Warehouse

CLEAN: Final = "O"
MIXED: Final = "F"
FAILED: Final = "X"


class FlakyState(StrEnum):
    """What a test is. `steady`: never flaky at a commit of the window. `unseen`: it did not run."""

    FLAKY = "flaky"
    BROKEN = "broken"
    RECOVERED = "recovered"
    STEADY = "steady"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class FlakySettings:
    """How tests are judged. `branch`: the main branch.

    `broken_after`: failures in a row, at commits of one branch, from which on they are a break and not chance.
    `least_clean`: clean commits in a row after which a flaky test counts as recovered, at least; more where it failed
    seldom: as many as leave a chance of `doubt` that it was only lucky. `z`: width of Wilson's interval; 1.96 is 95 %.
    """

    branch: str = "main"
    broken_after: int = 3
    least_clean: int = 20
    doubt: float = 0.05
    z: float = 1.96


@dataclass(frozen=True, slots=True)
class CommitCounts:
    """One test at one commit: the number of jobs in which it only passed, only failed, and did both.

    `at` is when the first of these jobs reported. `mixed` counts jobs of one name in whatever run or attempt, also
    those in which it failed, was run again at once, and passed.
    """

    sha: str
    at: datetime
    branch: str
    passed: int = 0
    failed: int = 0
    mixed: int = 0

    @property
    def letter(self) -> str:
        """O clean, F flaky, X failed; '' when it did not run."""
        if self.mixed:
            return MIXED
        if self.failed:
            return FAILED
        return CLEAN if self.passed else ""


@dataclass(frozen=True, slots=True)
class Flakiness:
    """The judgement of one test.

    Of `commits` at which it could pass it was flaky at `flaky`; `rate` is their share, `score` the lower bound of that.
    It only failed at `failed` others, `broken` of them in a break. `clean` commits in a row since it was last flaky (or
    failed alone on the main branch); `needed` of them make it recovered.
    """

    state: FlakyState
    commits: int = 0
    flaky: int = 0
    failed: int = 0
    broken: int = 0
    clean: int = 0
    needed: int = 0
    rate: float = 0.0
    score: float = 0.0
    first_flaky: CommitCounts | None = None
    last_flaky: CommitCounts | None = None


UNSEEN: Final = Flakiness(FlakyState.UNSEEN)


@dataclass(frozen=True, slots=True)
class FlakyCase:
    """A test with its judgement, and what its flakiness hit: runs, pull requests, people, minutes of failed jobs."""

    file: str
    classname: str
    name: str
    flakiness: Flakiness
    runs: int = 0
    pull_requests: tuple[int, ...] = ()
    people: tuple[str, ...] = ()
    minutes: float = 0.0

    @property
    def id(self) -> str:
        """What the test is called."""
        return case_id(self.file, self.classname, self.name)


def judge_flaky(history: Iterable[CommitCounts], settings: FlakySettings = FlakySettings()) -> Flakiness:
    """The judgement of one test from what it did at commits; their order and repetition do not matter.

    Broken: at the newest commits of the main branch it only failed, `broken_after` times or more in a row. Else flaky,
    from the first commit at which it was until it has been clean long enough. A failure without a pass at the same
    commit is no evidence of flakiness: the commit may be to blame. On the main branch, outside of a break, it is none
    of recovery either.
    """
    known = sorted({each for each in history if each.letter}, key=lambda each: (each.at, each.sha, each.letter))
    if not known:
        return UNSEEN
    broken = _broken(known, settings.broken_after)
    could_pass = [each for each in known if each.letter != FAILED]
    mixed = [each for each in known if each.letter == MIXED]
    clean = _clean_since(known, broken, settings.branch)
    rate = len(mixed) / len(could_pass) if could_pass else 0.0
    needed = _needed(could_pass, mixed[-1], settings) if mixed else 0
    return Flakiness(
        _state(known, broken, bool(mixed), clean >= needed, settings.branch),
        len(could_pass), len(mixed), len(known) - len(could_pass), len(broken), clean, needed, rate,
        wilson_low(len(mixed), len(could_pass), settings.z),
        mixed[0] if mixed else None, mixed[-1] if mixed else None,
    )  # fmt: skip


def _state(
    known: Sequence[CommitCounts], broken: frozenset[CommitCounts], flaky: bool, clean_enough: bool, branch: str
) -> FlakyState:
    newest = next((each for each in reversed(known) if each.branch == branch), None)
    if newest in broken:
        return FlakyState.BROKEN
    if not flaky:
        return FlakyState.STEADY
    return FlakyState.RECOVERED if clean_enough else FlakyState.FLAKY


def _broken(known: Sequence[CommitCounts], least: int) -> frozenset[CommitCounts]:
    """The commits that are part of `least` or more failures in a row on one branch."""
    branches: dict[str, list[CommitCounts]] = defaultdict(list)
    for each in known:
        branches[each.branch].append(each)
    found: set[CommitCounts] = set()
    for row in branches.values():
        streak: list[CommitCounts] = []
        for each in row:
            streak = [*streak, each] if each.letter == FAILED else []
            if len(streak) >= least:
                found.update(streak)
    return frozenset(found)


def _clean_since(known: Sequence[CommitCounts], broken: frozenset[CommitCounts], branch: str) -> int:
    """Clean commits, from the newest back to the last that speaks against recovery."""
    clean = 0
    for each in reversed(known):
        if each.letter == CLEAN:
            clean += 1
        elif each.letter == MIXED or (each.branch == branch and each not in broken):
            break
    return clean


def _needed(could_pass: Sequence[CommitCounts], last: CommitCounts, settings: FlakySettings) -> int:
    """Clean commits after which it is recovered, from how often it was flaky up to the last time it was."""
    before = could_pass[: could_pass.index(last) + 1]
    rate = sum(each.letter == MIXED for each in before) / len(before)
    lucky = math.ceil(math.log(settings.doubt) / math.log1p(-rate)) if rate < 1 else 0
    return max(settings.least_clean, lucky)


def flaky_cases(
    warehouse: Warehouse, repository: str, since: datetime, until: datetime, limit: int | None = None,
    settings: FlakySettings | None = None,
) -> tuple[FlakyCase, ...]:  # fmt: skip
    """The tests of a repository (`owner/name`) that were flaky at a commit of a window: the surest first.

    Those that are flaky now come first, then broken, then recovered ones. `limit` cuts; None gives all.
    Raises what `Warehouse.ask` raises.
    """
    found = judged_cases(warehouse, repository, since, until, settings)
    order = list(FlakyState)
    ranked = sorted(found, key=lambda each: (order.index(each.flakiness.state), -each.flakiness.score, each.id))
    return tuple(ranked[:limit])


def judged_cases(
    warehouse: Warehouse, repository: str, since: datetime, until: datetime, settings: FlakySettings | None = None, *,
    files: Sequence[str] = (), names: Sequence[str] = (),
) -> tuple[FlakyCase, ...]:  # fmt: skip
    """The judgement of every test whose file and name are among these; without names of all that were flaky once.

    One question, however many tests. Raises what `Warehouse.ask` raises.
    """
    rows = warehouse.ask(
        "test_commits", repository=repository, since=since, until=until, files=list(files), names=list(names)
    )
    return tuple(_case_of(row, settings or FlakySettings()) for row in rows)


def _case_of(row: Mapping[str, Any], settings: FlakySettings) -> FlakyCase:
    commits = [(CommitCounts(*entry[:6]), *entry[6:]) for entry in row["commits"]]
    flakiness = judge_flaky((counts for counts, *_ in commits), settings)
    hit = [rest for counts, *rest in commits if counts.letter == MIXED]
    jobs = {number: seconds for *_, jobs in hit for number, seconds in jobs}
    return FlakyCase(
        row["file"], row["classname"], row["name"], flakiness,
        len({run for runs, *_ in hit for run in runs}),
        tuple(sorted({pull for _, pulls, *_ in hit for pull in pulls})),
        tuple(sorted({person for _, _, people, _ in hit for person in people})),
        sum(jobs.values()) / 60,
    )  # fmt: skip
