"""Were the runners contended? How long this job waited and how many waited with it."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from math import log2

from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

LONG = timedelta(minutes=10)
MANY_TIMES = 3.0
FEW_TIMES = 1.5
A_SECOND = timedelta(seconds=1)


def judge_queue(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Its own wait against the usual one of its pool, that of others around it, and the depth of the queue."""
    own = subject.own
    usual = history.usual_wait(own.pool) if own.pool else None
    if usual is None:
        return
    usual = max(usual, timedelta(seconds=30))
    around = [own.waited, *(r.waited for r in history.in_pool(own.pool, own.ended - LONG * 6, own.ended + LONG * 6))]
    middle = sorted(around)[len(around) // 2]
    longest = max(own.waited, middle)
    times = longest / usual
    if longest >= LONG and times >= MANY_TIMES:
        yield Piece(
            "queue-deep", min(log2(times / MANY_TIMES) + 1, 3.0), own.pool,
            f"jobs waited {_minutes(longest)} for a runner of {own.pool}; usual are {_minutes(usual)}",
            "infrastructure",
        )  # fmt: skip
    elif len(around) >= 4 and times <= FEW_TIMES:
        yield Piece(
            "queue-short", 1.0, own.pool, f"runners of {own.pool} were free: the wait was {_minutes(middle)}",
            "infrastructure",
        )  # fmt: skip
    began = own.ended if not own.runner else own.built + own.waited
    load = history.load(own.pool, began)
    if load is not None and load[0].waiting >= max(MANY_TIMES, load[1] * MANY_TIMES):
        yield Piece(
            "pool-loaded", min(log2(load[0].waiting / max(load[1], 1)), 3.0), own.pool,
            f"{load[0].waiting:.0f} jobs waited for {own.pool} at that time while {load[0].running:.0f} ran; "
            f"usually {load[1]:.0f} wait",
            "infrastructure",
        )  # fmt: skip


def _minutes(span: timedelta) -> str:
    minutes = span / timedelta(minutes=1)
    if minutes < 2:
        return f"{span // A_SECOND} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
