"""Does it hit others? The same failure, and the same job passing, in pull requests of other people."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from buildeye.model.shares import wilson_low
from buildeye.triage.evidence.piece import Piece, Window, count_strength, counted
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject, is_specific

ENOUGH = 3
LEAD = timedelta(hours=1)
"""Two changes that are built within this time may meet the same thing in any order."""


def judge_others(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Who else failed alike or passed around the same time, and whether it was ever seen before."""
    own = subject.own
    foreign = [r for r in alike if _is_foreign(r, own, history)]
    since, until = own.built - window.before, own.ended + window.after
    near = [r for r in foreign if since <= r.built <= until]
    changes = sorted({r.change for r in near if r.change})
    if changes:
        yield Piece(
            "others-fail-alike", count_strength(len(changes)), ", ".join(changes[:6]),
            f"{counted(len(changes), 'other pull request fails', 'other pull requests fail')} alike around the same "
            "time",
        )  # fmt: skip
    yield from _first(own, near, alike)
    yield from _passing(subject, history, window, near)
    yield from _before(subject, history, window, foreign)


def _is_foreign(result: Result, own: Result, history: History) -> bool:
    """Is it somebody else's? Where all results carry one name, as those of a bot do, names tell nothing."""
    if result.place == own.place:
        return False
    return result.on_base or not own.author or result.author != own.author or not history.tells_authors


def _first(own: Result, near: Sequence[Result], alike: Sequence[Result]) -> Iterator[Piece]:
    """Who failed so first, this change or somebody else? What a change brings to others it has before them."""
    if not near or own.on_base:
        return
    mine = min([own.built, *(r.built for r in alike if r.change == own.change)])
    theirs = min(near, key=lambda r: r.built)
    if mine + LEAD <= theirs.built:
        yield Piece("failed-first", 1.0, own.change, "this change failed so well before anybody else did")
    elif theirs.built <= mine:
        yield Piece(
            "others-failed-first", 1.0, theirs.place[:12],
            f"somebody else failed so before this change did (run {theirs.run_id})",
        )  # fmt: skip


def _passing(subject: Subject, history: History, window: Window, near: Sequence[Result]) -> Iterator[Piece]:
    """Others that passed, built between the first and the last equal failure nearby; of a lone one, afterwards."""
    own = subject.own
    onset = min([own.built, *(r.built for r in near)])
    last = max([own.built, *(r.built for r in near)]) if near else own.ended + window.after
    rows = [
        r
        for r in history.of_job(own.key, onset, own.ended + window.after)
        if onset <= r.built <= last and r.conclusion == "success" and _is_foreign(r, own, history)
    ]
    places = {r.place for r in rows}
    if not places:
        return
    share = len(places) / (len(places) + len({r.place for r in near}))
    yield Piece(
        "others-pass", count_strength(len(places)) * share, f"{len(places)}",
        f"the same job passed in {counted(len(places), 'other place', 'other places')} around the same time",
    )  # fmt: skip


def _before(subject: Subject, history: History, window: Window, foreign: Sequence[Result]) -> Iterator[Piece]:
    own = subject.own
    old = [r for r in foreign if own.built - window.known <= r.ended < own.built - window.before]
    places = {r.place for r in old}
    if places:
        days = {r.ended.date() for r in old}
        yield Piece(
            "seen-before", count_strength(len(places)), f"{len(places)}",
            f"seen before in {counted(len(places), 'other place', 'other places')} on "
            f"{counted(len(days), 'day', 'days')} of the last {window.known.days}",
        )  # fmt: skip
    elif not foreign and is_specific(own.signature) and history.covers(own.built, window.before):
        assert history.since is not None
        known = min(own.built - history.since, window.known)
        yield Piece(
            "first-seen", min(1.0, known / (window.known / 3)), own.signature[:80],
            f"nobody else failed so in {counted(max(known.days, 1), 'day', 'days')}",
        )  # fmt: skip
    yield from _rate(subject, history, window, foreign)


def _rate(subject: Subject, history: History, window: Window, foreign: Sequence[Result]) -> Iterator[Piece]:
    """Of all that ran this job from the first equal failure nearby to the last: do all fail, or one now and then?"""
    own = subject.own
    near = [r for r in foreign if abs(r.built - own.built) <= window.before and r.key == own.key]
    if len({r.run_id for r in near}) + 1 < ENOUGH:
        return
    first, last = min(own.built, near[0].built), max(own.built, *(r.built for r in near))
    rows = [r for r in history.of_job(own.key, first, last + window.before) if first <= r.built <= last]
    failed = len({r.run_id for r in near} | {own.run_id})
    passed = len({r.run_id for r in rows if r.conclusion == "success"})
    total = failed + passed
    solid = wilson_low(failed, total)
    if solid >= 0.3:
        yield Piece(
            "fails-everywhere", solid * 2, f"{failed} of {total}",
            f"{failed} of {total} runs of this job failed alike between the first and the last of them",
        )  # fmt: skip
    elif total >= 8:
        yield Piece(
            "fails-now-and-then", wilson_low(passed, total) * 2, f"{failed} of {total}",
            f"only {failed} of {total} runs of this job failed alike between the first and the last of them",
        )  # fmt: skip
