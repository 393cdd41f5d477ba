"""Was it broken before? What the base branch showed when this was built, before it and after it."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from buildeye.triage.evidence.piece import Piece, Window, count_strength, counted
from buildeye.triage.history import History
from buildeye.triage.results import Merge, Result, Subject


def judge_base(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """What the base branch says of a failure of a pull request, or of the base branch itself."""
    hits = [r for r in alike if r.on_base]
    broken = broken_since(subject, history, hits)
    if broken is not None:
        same = {r.run_id for r in hits if r.built >= broken.built}
        yield Piece(
            "base-broken", 1.0, broken.head_sha[:12],
            f"the base branch failed alike before this was built: {counted(len(same), 'run', 'runs')}, "
            f"first in run {broken.run_id}",
        )  # fmt: skip
    if subject.own.on_base:
        yield from _on_base_itself(subject, history, broken)
    else:
        yield from _on_pull_request(subject, history, window, hits, broken)


def broken_since(subject: Subject, history: History, hits: Sequence[Result]) -> Result | None:
    """The first failure of the streak of equal failures that the base branch was in when this was built."""
    own, first = subject.own, None
    alike = {r.job_id for r in hits}
    for key in {r.key for r in hits}:
        for row in reversed([r for r in history.on_base(key) if _before(r, own)]):
            if row.job_id in alike and row.run_id != own.run_id:
                first = row if first is None or row.built < first.built else first
            elif row.conclusion == "success":
                break
    return first


def _before(row: Result, own: Result) -> bool:
    """Was it built earlier? Of one commit, the run that was created earlier was."""
    return (row.built, row.run_id) < (own.built, own.run_id) and row.conclusion != "cancelled"


def last_before(subject: Subject, history: History) -> Result | None:
    """What the same job did on the base branch when it was built there last before this."""
    return next((r for r in reversed(history.on_base(subject.own.key)) if _before(r, subject.own)), None)


def _on_pull_request(
    subject: Subject, history: History, window: Window, hits: Sequence[Result], broken: Result | None
) -> Iterator[Piece]:
    own, number = subject.own, subject.own.pull_request
    last = last_before(subject, history)
    if last is not None and last.conclusion == "success" and own.built - last.built < window.before * 2:
        yield Piece(
            "base-passes", 1.0, last.head_sha[:12],
            f"the same job passed on the base branch last before this was built (run {last.run_id})",
        )  # fmt: skip
    merged = history.merge_of_pull.get(number) if number is not None else None
    later = [r for r in hits if r.built > own.built]
    if merged is not None and broken is None:
        brought = [r for r in later if r.built >= merged.at]
        if brought and _at_once(brought[0], merged, history) and not any(r.built < merged.at for r in later):
            yield Piece(
                "brought-to-base", 1.0, merged.sha[:12],
                f"the base branch fails alike since this change was merged (run {brought[0].run_id})",
            )  # fmt: skip
            return
    foreign = [r for r in later if (merged is None or r.built < merged.at) and r.built <= own.ended + window.after]
    if foreign and broken is None:
        yield Piece(
            "base-fails-too", 1.0, foreign[0].head_sha[:12],
            f"the base branch began to fail alike around the same time, without this change (run {foreign[0].run_id})",
        )  # fmt: skip


def _at_once(first: Result, merged: Merge, history: History) -> bool:
    """Is it the first run of its job on the base branch since the merge?"""
    between = [r for r in history.on_base(first.key) if merged.at <= r.built < first.built and _decided(r)]
    return not between and first.built - merged.at <= timedelta(days=1)


def _on_base_itself(subject: Subject, history: History, broken: Result | None) -> Iterator[Piece]:
    own = subject.own
    last = last_before(subject, history)
    following = next(
        (r for r in history.on_base(own.key) if (r.built, r.run_id) > (own.built, own.run_id) and _decided(r)), None
    )
    if following is not None and following.conclusion == "success":
        yield Piece(
            "base-passes-next", 1.0, following.head_sha[:12],
            f"the next run of this job on the base branch passed (run {following.run_id})",
        )  # fmt: skip
    if broken is not None or last is None or last.conclusion != "success":
        return
    span = history.range_between(last, own)
    yield Piece(
        "first-on-base", 1.0, own.head_sha[:12],
        f"the base branch passed last in run {last.run_id} ({last.head_sha[:12]}); "
        f"{counted(len(span), 'change was', 'changes were')} merged since",
    )  # fmt: skip
    if len(span) == 1 and span[0].sha == own.head_sha:
        yield Piece("only-merge", 1.0, own.head_sha[:12], "this commit alone was merged since the job passed")
    elif len(span) > 1:
        yield Piece(
            "several-merges", count_strength(len(span) - 1, 3.0), _numbers(span), "all of these could have brought it"
        )
    elif last.head_sha == own.head_sha or not span:
        yield Piece(
            "nothing-merged", 1.0, own.head_sha[:12], f"nothing was merged since the job passed in run {last.run_id}"
        )
    yield from _tested_before_merge(subject, history)


def _decided(row: Result) -> bool:
    return row.failed or row.conclusion == "success"


def _tested_before_merge(subject: Subject, history: History) -> Iterator[Piece]:
    """Did the newest change pass this job in its own pull request, and what was merged between?"""
    merge = history.merge_of.get(subject.own.head_sha)
    if merge is None or merge.pull_request is None:
        return
    tried = history.before_merge(merge, subject.own.key)
    if not tried:
        yield Piece(
            "untested-before-merge", 1.0, f"#{merge.pull_request}", f"#{merge.pull_request} was merged without this job"
        )
        return
    last = tried[-1]
    if last.failed:
        yield Piece(
            "failed-before-merge", 1.0, f"#{merge.pull_request}",
            f"this job had failed in #{merge.pull_request} before it was merged (run {last.run_id})",
        )  # fmt: skip
        return
    between = [m for m in history.merged(last.built, merge.at) if m.sha != merge.sha]
    yield Piece(
        "passed-before-merge", 1.0, f"#{merge.pull_request}",
        f"this job passed in #{merge.pull_request} before it was merged (run {last.run_id})",
    )  # fmt: skip
    if between:
        yield Piece(
            "merged-meanwhile", count_strength(len(between), 3.0), _numbers(between),
            f"{counted(len(between), 'other change was', 'other changes were')} merged between that run and its merge",
        )  # fmt: skip


def _numbers(merges: Sequence[Merge]) -> str:
    named = [f"#{m.pull_request}" if m.pull_request else m.sha[:12] for m in merges]
    return ", ".join(named[:6]) + (f" and {len(named) - 6} more" if len(named) > 6 else "")
