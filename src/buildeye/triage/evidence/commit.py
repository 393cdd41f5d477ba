"""The same commit again: attempts and other runs, and the same pull request before and after."""

from collections.abc import Iterator, Sequence

from buildeye.triage.evidence.piece import Piece, Window, count_strength, counted
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject


def judge_commit(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Does the same commit pass elsewhere? Did the author's earlier and later commits fail alike?"""
    own = subject.own
    same = [r for r in history.on_commit(own.head_sha, own.key) if r.job_id != own.job_id]
    again = [r for r in same if r.run_id == own.run_id]
    passed = next((r for r in again if r.conclusion == "success"), None)
    other = next((r for r in same if r.run_id != own.run_id and r.conclusion == "success"), None)
    if passed is not None:
        yield Piece(
            "same-run-passed", 1.0, f"attempt {passed.attempt}",
            f"the same job passed in attempt {passed.attempt} of the same run",
        )  # fmt: skip
        if own.runner and passed.runner and passed.runner != own.runner:
            yield Piece(
                "passed-on-another-runner",
                1.0,
                passed.runner,
                f"it failed on {own.runner} and passed on {passed.runner}",
            )
    elif other is not None:
        yield Piece(
            "same-commit-passed", 1.0, f"run {other.run_id}",
            f"the same job passed on the same commit in run {other.run_id}",
        )  # fmt: skip
    failed = [r for r in again if r.failed and r.signature == own.signature]
    if failed:
        yield Piece(
            "same-run-failed-again", min(len(failed), 2.0), own.head_sha[:12],
            f"it failed alike in {counted(len(failed), 'other attempt', 'other attempts')} of the same run",
        )  # fmt: skip
    elif any(r.failed and r.signature != own.signature for r in again):
        yield Piece(
            "fails-otherwise-again", 1.0, own.head_sha[:12], "another attempt of the same run failed in another way"
        )
    yield from _same_pull(subject, history)


def _same_pull(subject: Subject, history: History) -> Iterator[Piece]:
    own = subject.own
    if own.on_base:
        return
    rows = [r for r in history.of_change(own.change, own.key) if r.head_sha != own.head_sha]
    alike = {r.head_sha for r in rows if r.failed and r.signature == own.signature}
    if alike:
        yield Piece(
            "same-pull-fails-alike", count_strength(len(alike), 2.0), own.change,
            f"{counted(len(alike), 'other commit', 'other commits')} of this pull request failed alike",
        )  # fmt: skip
    later = [r for r in rows if r.built > own.built and (r.failed or r.conclusion == "success")]
    if later and later[0].conclusion == "success":
        yield Piece(
            "mended-by-push", 1.0, later[0].head_sha[:12],
            f"the next commit of this pull request passed (run {later[0].run_id})",
        )  # fmt: skip
    earlier = [r for r in rows if r.built < own.built and (r.failed or r.conclusion == "success")]
    if earlier and earlier[-1].conclusion == "success" and not alike:
        yield Piece(
            "pull-passed-before", 1.0, earlier[-1].head_sha[:12],
            f"the commit before it passed this job (run {earlier[-1].run_id})",
        )  # fmt: skip
