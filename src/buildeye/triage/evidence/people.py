"""What people said of equal failures."""

from collections.abc import Iterator, Sequence

from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject, is_specific


def judge_people(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """The latest word of a person on another failure with the same signature, within the days that are known."""
    own = subject.own
    if not is_specific(own.signature):
        return
    said = [
        each
        for each in history.said.get(subject.diagnosis.signature, ())
        if each.run_id != own.run_id and abs(each.at - own.ended) <= window.known
    ]
    if said:
        last = max(said, key=lambda each: (each.at, each.run_id))
        yield Piece(
            f"person-said-{last.cause}", 1.0, last.person,
            f"{last.person} said of an equal failure (run {last.run_id}): {last.cause}", "person",
        )  # fmt: skip
