"""Where did it begin? Whether a merge explains the failure, and which of the range."""

from collections.abc import Iterator, Sequence

from buildeye.triage.culprits import Suspect, origin_of, probabilities, suspects_of
from buildeye.triage.evidence.base import broken_since
from buildeye.triage.evidence.piece import Piece, Window, counted
from buildeye.triage.files import named_files
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject


def judge_origin(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """What was merged between the last pass of the job and the first equal failure, and how well it fits."""
    if not history.merges:
        return
    origin = origin_of(subject, history, alike)
    if origin is None:
        return
    elsewhere = subject.own.on_base or any(r.place != subject.own.place for r in alike)
    if not origin.merges:
        if elsewhere and origin.good:
            yield Piece(
                "no-merge-in-range", 1.0, origin.good[:12],
                "nothing was merged between the last pass of this job and the first equal failure",
            )  # fmt: skip
        return
    suspects = suspects_of(subject, history, origin)
    best = suspects[0]
    if best.fit > 0:
        yield Piece(
            "merge-explains" if elsewhere else "merge-suspect", best.fit, best.name,
            f"{best.name} was merged between the last pass and the first equal failure: {best.why}",
        )  # fmt: skip
    elif elsewhere and named_files(subject) and all(suspect.merge.files for suspect in suspects):
        yield Piece(
            "no-merge-fits", 1.0, f"{len(suspects)}",
            f"of {counted(len(suspects), 'merge', 'merges')} since the last pass none changes what the failure names",
        )  # fmt: skip
    if subject.own.head_sha in history.merge_of and subject.own.on_base:
        yield from _first_on_base(subject, history, suspects, alike)


def _first_on_base(
    subject: Subject, history: History, suspects: Sequence[Suspect], alike: Sequence[Result]
) -> Iterator[Piece]:
    """Of a first failure on the base branch: is the commit itself the likely one, or another of the range?"""
    own = subject.own
    if broken_since(subject, history, [r for r in alike if r.on_base]) is not None:
        return
    shares = dict(zip((s.merge.sha for s in suspects), probabilities(suspects), strict=True))
    mine = next((s for s in suspects if s.merge.sha == own.head_sha), None)
    share = shares[own.head_sha] if mine else 0.0
    if mine is not None and share > 0.05:
        why = mine.why if mine.fit or share < 0.3 else "nothing else of the range fits better"
        yield Piece("own-merge-likely", share, own.head_sha[:12], f"the commit itself is likely: {why}")
    other = next((s for s in suspects if s.merge.sha != own.head_sha), None)
    if other is not None:
        yield Piece(
            "other-merge-likely", 1 - share, other.name, f"another change of the range may have brought it: {other.why}"
        )
