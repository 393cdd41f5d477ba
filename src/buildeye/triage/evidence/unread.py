"""A failure whose log says nothing: does the same job fail elsewhere around the same time, for whatever reason?"""

from collections.abc import Iterator, Sequence

from buildeye.model.shares import wilson_low
from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject, is_specific


def judge_unread(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """The share of other changes in which the same job failed or passed; only where the log names no failure."""
    own = subject.own
    if is_specific(own.signature) or alike:
        return
    rows = history.of_job(own.key, own.built - window.before / 2, own.ended + window.before / 2)
    others = [r for r in rows if r.place != own.place and (r.failed or r.conclusion == "success")]
    failed = {r.place for r in others if r.failed}
    passed = {r.place for r in others if r.conclusion == "success"} - failed
    total = len(failed) + len(passed)
    if failed and len(failed) >= 2:
        yield Piece(
            "job-fails-elsewhere", wilson_low(len(failed), total) * 2, f"{len(failed)} of {total}",
            f"the same job failed in {len(failed)} of {total} other places around the same time",
        )  # fmt: skip
    if passed:
        yield Piece(
            "job-passes-elsewhere", wilson_low(len(passed), total) * 2, f"{len(passed)} of {total}",
            f"the same job passed in {len(passed)} of {total} other places around the same time",
        )  # fmt: skip
