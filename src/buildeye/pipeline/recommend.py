"""Advice for each finding: what its diagnoses suggest, cheapest first, filled with what the run is."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from buildeye.model import Cause, Cost, Finding, Suggestion, Verdict

_ORDER = {Cost.LOW: 0, Cost.MEDIUM: 1, Cost.HIGH: 2}
MAX_SUGGESTIONS = 6


def recommend(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with their suggestions, cheapest first and each once; those of the verdict's own cause lead."""
    return [replace(f, suggestions=_for(f)) for f in findings]


def _for(finding: Finding) -> tuple[Suggestion, ...]:
    leading = [j for j in finding.jobs if j.verdict.job_id == finding.verdict.job_id]
    rest = [j for j in finding.jobs if j.verdict.job_id != finding.verdict.job_id]
    found: list[Suggestion] = list(_by_verdict(finding, finding.verdict))
    for job in [*leading, *rest]:
        if finding.verdict.cause is not Cause.INTERFERENCE or job.verdict.cause is not Cause.INTERFERENCE:
            found += sorted(job.diagnosis.suggestions, key=lambda s: _ORDER[s.cost])
        if _a_rerun_helps(job.diagnosis.retry_helps, finding.verdict) and not any(
            "gh run rerun" in s.command for s in found
        ):
            found.append(_rerun(finding.run.id))
    if not found and not finding.verdict.person:
        found.append(_look(finding))
    unique = list({(s.title, s.command): s for s in found}.values())
    own = unique[:1] if finding.verdict.cause is Cause.INTERFERENCE else []
    return tuple([*own, *sorted(unique[len(own) :], key=lambda s: _ORDER[s.cost])][:MAX_SUGGESTIONS])


def _a_rerun_helps(retry: bool | None, verdict: Verdict) -> bool:
    return bool(retry) or verdict.determinism == "flaky"


def _rerun(run_id: int) -> Suggestion:
    return Suggestion(
        "Re-run the failed jobs; this kind of failure can pass without a change",
        Cost.LOW,
        (),
        f"gh run rerun --failed {run_id}",
    )


def _by_verdict(finding: Finding, verdict: Verdict) -> Sequence[Suggestion]:
    if verdict.cause is not Cause.INTERFERENCE:
        return ()
    base = finding.pull_request.base_ref if finding.pull_request else ""
    branch = base or "the base branch"
    return (
        Suggestion(
            f"Do not change this pull request: {branch} fails alike",
            Cost.LOW,
            (
                f"Watch or ask for the fix on {branch}; revert the change that broke it if that takes over an hour.",
                f"When {branch} is green again, update the branch and re-run.",
            ),
            f"gh run rerun --failed {finding.run.id}",
        ),
    )


def _look(finding: Finding) -> Suggestion:
    url = finding.run.html_url
    return Suggestion(
        "A person has to look: the evidence does not say what this is",
        Cost.MEDIUM,
        (
            f"Open the run: {url}" if url else "Open the run.",
            "If the cause is clear, write a rule for it (docs/rules.md).",
        ),
        f"gh run view --log-failed {finding.run.id}",
    )
