"""One leg of a matrix only: which axis, and does it fail elsewhere too?"""

from collections.abc import Iterator, Sequence

from buildeye.triage.evidence.piece import Piece, Window, count_strength, counted
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject, is_version, leg_of


def judge_matrix(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Compare the legs of the same run, and where else the same leg fails alike."""
    own = subject.own
    skeleton, values = leg_of(own.name)
    values = tuple(value for value in values if is_version(value))
    if not values:
        return
    siblings = [
        (r, set(leg_of(r.name)[1]))
        for r in history.of_run(own.run_id)
        if r.attempt == own.attempt and r.job_id != own.job_id and leg_of(r.name)[0] == skeleton
    ]
    for value in values:
        with_it = [r for r, legs in siblings if value in legs]
        without = [r for r, legs in siblings if value not in legs]
        passed = [r for r in without if r.conclusion == "success"]
        if not passed or any(r.failed for r in without) or any(r.conclusion == "success" for r in with_it):
            continue
        yield Piece(
            "leg-only", 1.0, value,
            f"only the legs with {value} failed; {counted(len(passed), 'leg', 'legs')} without it passed",
        )  # fmt: skip
        near = [r for r in alike if abs(r.built - own.built) <= window.before * 2]
        elsewhere = {r.place for r in near if value in leg_of(r.name)[1] and r.place != own.place}
        other_legs = {r.place for r in near if value not in leg_of(r.name)[1]}
        if elsewhere and not other_legs:
            yield Piece(
                "leg-fails-elsewhere", count_strength(len(elsewhere), 3.0), value,
                f"the leg {value}, and no other, fails alike in "
                f"{counted(len(elsewhere), 'other place', 'other places')}",
            )  # fmt: skip
        return
    if any(r.failed and r.signature == own.signature for r, _ in siblings):
        yield Piece("other-legs-too", 1.0, own.name, "other legs of the matrix fail alike")
