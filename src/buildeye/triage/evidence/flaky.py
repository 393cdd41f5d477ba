"""Does it come and go without a change? What became of equal failures when the same commit was tried again."""

from collections.abc import Iterator, Sequence

from buildeye.model.shares import wilson_low
from buildeye.triage.evidence.piece import Piece, Window, counted
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

STREAK = 3
"""From so many failures in a row on, a job is broken, not flaky."""


def judge_flaky(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Equal failures that passed when tried again, and failures on the base branch that did not stay."""
    own = subject.own
    known = [r for r in alike if own.built - window.known <= r.ended <= own.ended + window.known]
    passed, tried = retried(known, history)
    low = wilson_low(passed, tried)
    if low > 0:
        yield Piece(
            "known-flaky", low * 2, f"{passed} of {tried}",
            f"of {counted(tried, 'commit', 'commits')} that failed so and were tried again, {passed} passed: "
            f"at least {low:.0%} do, by Wilson's bound",
        )  # fmt: skip
    if tried and passed < tried:
        high = wilson_low(tried - passed, tried)
        if high > 0:
            yield Piece(
                "fails-when-retried", high * 2, f"{tried - passed} of {tried}",
                f"of {counted(tried, 'commit', 'commits')} that failed so and were tried again, "
                f"{tried - passed} failed again",
            )  # fmt: skip
    flips = sum(
        flip_score(history.on_base(key), {r.job_id for r in known}) for key in {r.key for r in known if r.on_base}
    )
    if flips > 1:  # one may be a breakage that was mended at once
        yield Piece(
            "comes-and-goes", min(flips - 1.0, 3.0), f"{flips}",
            f"on the base branch it came and went {flips} times, each time for fewer than {STREAK} runs",
        )  # fmt: skip


def retried(alike: Sequence[Result], history: History) -> tuple[int, int]:
    """Of the runs that failed alike and were run again on the same code: how many passed then, of how many."""
    passed = tried = 0
    for run_id, key in {(r.run_id, r.key) for r in alike}:
        rows = [r for r in history.of_run(run_id) if r.key == key]
        if len({r.attempt for r in rows}) > 1:
            last = max(rows, key=lambda r: r.attempt)
            tried += 1
            passed += last.conclusion == "success"
    return passed, tried


def flip_score(rows: Sequence[Result], alike: set[int]) -> int:
    """How often a job went from passing to this failure and back, in streaks of fewer than three.

    The sequence is that of one job on one branch; longer streaks are breakage and mending, and count nothing.
    """
    flips, streak, before = 0, 0, False
    for row in rows:
        if row.conclusion == "success":
            flips += before and 0 < streak < STREAK
            streak, before = 0, True
        elif row.failed:
            streak += 1 if row.job_id in alike else STREAK
    return flips
