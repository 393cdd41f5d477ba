"""The judges: each looks at one kind of fact and says what it finds. They weigh nothing and do not know each other."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from buildeye.triage.evidence.base import judge_base
from buildeye.triage.evidence.commit import judge_commit
from buildeye.triage.evidence.flaky import judge_flaky
from buildeye.triage.evidence.ground import judge_ground
from buildeye.triage.evidence.matrix import judge_matrix
from buildeye.triage.evidence.origin import judge_origin
from buildeye.triage.evidence.others import judge_others
from buildeye.triage.evidence.own import judge_own
from buildeye.triage.evidence.people import judge_people
from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.evidence.queue import judge_queue
from buildeye.triage.evidence.runners import judge_runners
from buildeye.triage.evidence.services import judge_services
from buildeye.triage.evidence.unread import judge_unread
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

__all__ = ["JUDGES", "Piece", "Window", "gather"]

Judge = Callable[[Subject, History, Window, Sequence[Result]], Iterable[Piece]]
JUDGES: Final[tuple[Judge, ...]] = (
    judge_base, judge_origin, judge_others, judge_commit, judge_own, judge_matrix, judge_ground, judge_runners,
    judge_services, judge_queue, judge_flaky, judge_unread, judge_people,
)  # fmt: skip


def gather(
    subject: Subject, history: History, window: Window, alike: Sequence[Result] | None = None
) -> tuple[Piece, ...]:
    """All pieces of evidence on one failure, in the order of the judges; `alike` as the history gives it."""
    alike = history.alike(subject) if alike is None else alike
    return tuple(piece for judge in JUDGES for piece in judge(subject, history, window, alike))
