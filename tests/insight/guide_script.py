"""What the guide's `analyze_failing_jobs.py` makes of the HUD's pages, told anew: its rules, its errors.

It asks for pages 0, 1, ... of `per_page` commits, walks each job from the newest commit, passes over cells that are
neutral, skipped or empty, takes everything else but success and pending for a failure, and compares failures as text.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from math import ceil
from typing import Any, Final

ALIKE: Final = 0.75
"""Failures whose texts are more alike than this are one failure to the script."""

Page = Mapping[str, Any]
Cell = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What it prints of a job: failures in a row of so many runs, since when, whether maybe longer, how often each."""

    streak: int
    runs: int
    since: str
    clipped: bool
    failures: tuple[tuple[str, int], ...]


def told_by_the_script(fetch: Callable[[int, int], Page], commits: int, per_page: int) -> dict[str, Told]:
    """What it says of each job on a streak; `fetch` gives a page by number and size."""
    rows = list(_rows(fetch, commits, per_page))
    if not rows:
        return {}
    newest, oldest = rows[0][0], rows[-1][0]
    columns: dict[str, list[tuple[str, Cell]]] = {}
    for sha, cells in rows:
        for name, cell in cells.items():
            columns.setdefault(name, []).append((sha, cell))
    found = {name: _told(column, oldest) for name, column in columns.items() if column[0][0] == newest}
    return {name: told for name, told in found.items() if told.streak}


def _rows(fetch: Callable[[int, int], Page], commits: int, per_page: int) -> Iterator[tuple[str, dict[str, Cell]]]:
    left = commits
    for number in range(ceil(commits / per_page)):
        page = fetch(number, per_page)
        for row in page["shaGrid"][:left]:
            assert len(row["jobs"]) == len(page["jobNames"])
            yield row["sha"], dict(zip(page["jobNames"], row["jobs"], strict=True))
        left -= len(page["shaGrid"][:left])
        if left <= 0:
            return


def _told(column: Sequence[tuple[str, Cell]], oldest: str) -> Told:
    runs = [(sha, cell) for sha, cell in column if cell.get("conclusion") not in (None, "neutral", "skipped")]
    streak = list(takewhile(lambda each: each[1]["conclusion"] not in ("success", "pending"), runs))
    return Told(
        len(streak),
        len(runs),
        streak[-1][0] if streak else "",
        bool(streak) and len(streak) == len(runs) and column[-1][0] == oldest,
        _grouped([" ".join(cell["failureCaptures"]) or "unclassified" for _, cell in streak]),
    )


def _grouped(failures: Sequence[str]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for failure in failures:
        alike = next((known for known in counts if SequenceMatcher(None, failure, known).ratio() > ALIKE), failure)
        counts[alike] = counts.get(alike, 0) + 1
    return tuple(counts.items())
