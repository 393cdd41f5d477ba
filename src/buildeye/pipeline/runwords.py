"""An explained run in words: for an agent, and where there is nothing to explain. The words come from logs: unsafe."""

from buildeye.logs.brief import brief
from buildeye.pipeline.explainrun import ExplainedJob, ExplainedRun

REASONS = 5
"""Reasons of a verdict that are told."""


def head_of(run: ExplainedRun) -> str:
    """How many jobs failed and who says so, in one line."""
    if not run.jobs:
        return f"{without_failure(run)} (from {_where(run)})."
    count = len(run.jobs)
    failed = f"{count} failed {'job' if count == 1 else 'jobs'}"
    return f"{run.repository} run {run.run_id}: {failed} (from {_where(run)})."


def _where(run: ExplainedRun) -> str:
    return "the warehouse" if run.source == "warehouse" else "GitHub, read just now"


def without_failure(run: ExplainedRun) -> str:
    """Why there is nothing to explain of a run, or of the job that was named: a sentence without its full stop."""
    what = f"{run.repository} run {run.run_id}"
    if run.job is not None:
        return f'{what}, job "{run.job.name or run.job.id}": {_ended(run.status, run.conclusion)}'
    if run.status == "completed" and run.conclusion == "startup_failure":
        return f"{what} could not start, which its page on GitHub explains: no job of it ran"
    none = "no failed job" if run.status == "completed" else "no failed job so far"
    return f"{what}: {_ended(run.status, run.conclusion)}, {none}"


def _ended(status: str, conclusion: str) -> str:
    if status and status != "completed":
        return "it still runs" if status == "in_progress" else f"it has not begun ({status})"
    return {"success": "it passed", "cancelled": "it was cancelled", "skipped": "it was skipped"}.get(
        conclusion, f"it ended as {conclusion or 'nothing known'}"
    )


def words_of(each: ExplainedJob, tokens: int) -> str:
    """One failed job for an agent, its log in at most so many tokens."""
    lines = [f"job {each.job.id} {each.job.name}".rstrip()]
    if each.verdict:
        verdict = each.verdict.counts
        who = f", says {verdict.person}" if verdict.person else ""
        lines.append(f"{verdict.cause} / {verdict.category}, {verdict.confidence:.0%} sure ({verdict.level}){who}")
        lines += [
            f"- {reason.why or reason.quote} ({reason.id}, {reason.weight:+.1f})"
            for reason in verdict.reasons[:REASONS]
        ]
    if each.reading:
        lines.append(brief(each.reading, tokens).rstrip("\n"))
    elif each.diagnosis:
        lines.append(each.diagnosis.summary)
        if key := each.diagnosis.key_line:
            lines.append(f"{key.number}: {key.text}")
    if each.note:
        lines.append(f"note: {each.note}")
    return "\n".join(lines)
