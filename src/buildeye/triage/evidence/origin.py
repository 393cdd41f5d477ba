"""Of a first failure on the base branch: is the newest merge the likely one, or another of the range?"""

from collections.abc import Iterator, Sequence

from buildeye.triage.culprits import origin_of, rank
from buildeye.triage.evidence.base import broken_since
from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject


def judge_origin(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """How probable it is that the commit that was built brought the failure, among all of the range."""
    own = subject.own
    if not own.on_base or own.head_sha not in history.merge_of:
        return
    if broken_since(subject, history, [r for r in alike if r.on_base]) is not None:
        return
    origin = origin_of(subject, history, alike)
    if origin is None:
        return
    ranked = rank(subject, history, origin, alike)
    mine = next((each for each in ranked if each.sha == own.head_sha), None)
    if mine is not None and mine.probability > 0.05:
        yield Piece("own-merge-likely", mine.probability, own.head_sha[:12], f"the commit itself is likely: {mine.why}")
    best = next((each for each in ranked if each.sha != own.head_sha), None)
    if best is not None:
        yield Piece(
            "other-merge-likely", 1 - (mine.probability if mine else 0.0),
            f"#{best.pull_request}" if best.pull_request else best.sha[:12],
            f"another change of the range may have brought it: {best.why}",
        )  # fmt: skip
