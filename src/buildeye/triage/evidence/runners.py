"""Is it the machine? What else ran on the same runner and in the same pool around the same time."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from math import log

from buildeye.triage.evidence.piece import Piece, Window, count_strength, counted
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

AROUND = timedelta(hours=8)
TOUCH = timedelta(minutes=1)
SICK = 0.6
"""The share of jobs that fail on a sick runner."""
_MACHINE = "infrastructure"


def judge_runners(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """How other people's jobs fared on this runner, and how this kind of failure is spread over its pool."""
    own = subject.own
    if not own.runner:
        return
    rows = [
        r
        for r in history.on_runner(own.runner, own.ended - AROUND, own.ended + AROUND)
        if r.job_id != own.job_id and r.run_id != own.run_id and (r.failed or r.conclusion == "success")
    ]
    if not _is_many(rows):
        yield from _runner(own, history, rows)
        yield from _only_here(own, alike)
    yield from _pool(own, history, window)


def _is_many(rows: Sequence[Result]) -> bool:
    """Do several machines go by this name? One runner does one job at a time."""
    spans = sorted((r.started, r.ended) for r in rows if r.started is not None)
    return any(later[0] + TOUCH < earlier[1] for earlier, later in pairwise(spans))


def _runner(own: Result, history: History, rows: Sequence[Result]) -> Iterator[Piece]:
    """Likelihood of these outcomes on a sick runner against the usual rate of its pool."""
    failed = [r for r in rows if r.failed]
    passed = len(rows) - len(failed)
    if not rows:
        return
    usual = min(max(history.failure_rate(own.pool), 0.02), 0.5)
    # failures that happen elsewhere as well say nothing of the machine
    local = [r for r in failed if not history.alike_elsewhere(r, AROUND)]
    odds = len(local) * log(SICK / usual) + passed * log((1 - SICK) / (1 - usual))
    if odds > 0 and len({r.place for r in local}) >= 2:
        yield Piece(
            "runner-sick", min(odds / 2, 3.0), own.runner,
            f"{counted(len(local), 'other job', 'other jobs')} of {len(rows)} failed on runner {own.runner} "
            f"within {AROUND // timedelta(hours=1)} h, and not elsewhere",
            "infrastructure",
        )  # fmt: skip
    elif passed >= 2 and odds < 0:
        yield Piece(
            "runner-well", count_strength(passed, 3.0), own.runner,
            f"{passed} of {len(rows)} other jobs passed on runner {own.runner} around the same time",
            "infrastructure",
        )  # fmt: skip


def _only_here(own: Result, alike: Sequence[Result]) -> Iterator[Piece]:
    """Do all equal failures around it happen on this one runner?"""
    near = [r for r in alike if r.runner and abs(r.ended - own.ended) <= AROUND * 3]
    places = {r.place for r in near if r.place != own.place}
    if places and all(r.runner == own.runner for r in near):
        yield Piece(
            "only-on-this-runner", count_strength(len(places), 2.0), own.runner,
            f"{counted(len(places), 'other change', 'other changes')} failed alike within "
            f"{AROUND * 3 // timedelta(hours=1)} h, all on runner {own.runner}",
            "infrastructure",
        )  # fmt: skip


def _pool(own: Result, history: History, window: Window) -> Iterator[Piece]:
    """The same kind of trouble of the machines on several runners of the pool."""
    rows = history.in_pool(own.pool, own.ended - window.after, own.ended + window.after)
    kind = [r for r in rows if r.failed and r.category == own.category and r.run_id != own.run_id]
    runners = {r.runner for r in kind if r.runner and r.runner != own.runner}
    places = {r.place for r in kind if r.place != own.place}
    if own.cause == _MACHINE and runners and places:
        yield Piece(
            "pool-sick", count_strength(len(runners), 3.0), own.pool,
            f"{counted(len(runners), 'other runner', 'other runners')} of {own.pool} had the same kind of trouble "
            f"within {window.after // timedelta(hours=1)} h",
            "infrastructure",
        )  # fmt: skip
