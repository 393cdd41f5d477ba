"""The table at the end of a pass, as data: which causes, how many runs, what fails, and who acts. The CLI draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

from buildeye.model import Cause, Finding
from buildeye.reports import headline
from buildeye.reports.markdown import plain
from buildeye.reports.words import Language, category_label, words

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One line of the table, in plain text without markup or control characters."""

    cause: Cause
    runs: int
    what: str
    who: str


def summary_table(findings: Sequence[Finding], *, language: Language = "en") -> list[SummaryRow]:
    """A row for each cause of failed runs, most runs first, unknown last; runs stopped on purpose are left out.

    A cause counts as far as it may be claimed: a verdict without a level of confidence is counted as unknown.
    """
    by_cause: dict[Cause, list[Finding]] = {}
    for finding in findings:
        by_cause.setdefault(headline.claimed(finding), []).append(finding)
    failed = [cause for cause in headline.GRAVITY if cause in by_cause and cause not in headline.NO_FAILURE]
    failed.sort(key=lambda cause: (cause is Cause.UNKNOWN, -len(by_cause[cause])))
    return [_row(cause, by_cause[cause], language) for cause in failed]


def _row(cause: Cause, findings: list[Finding], language: Language) -> SummaryRow:
    say = words(language)
    if cause in (Cause.INTERFERENCE, Cause.INFRASTRUCTURE):
        told = _by_failure(findings, language)
    else:
        told = list(dict.fromkeys(f"{_name(f, language)} {_what(f, language)}" for f in findings))
    if len(told) > _MOST_NAMED:
        told = [*told[:_MOST_NAMED], say["more"].format(count=len(told) - _MOST_NAMED)]
    return SummaryRow(cause, len(findings), " · ".join(told), say[f"who.{cause}"].format(id=findings[0].run.id))


def _by_failure(findings: list[Finding], language: Language) -> list[str]:
    """Equal failures told once, with how many pull requests have them: the cause is not in any of these changes."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.verdict.signature or f"run {finding.run.id}", []).append(finding)
    return [_failure(alike, language) for alike in sorted(groups.values(), key=len, reverse=True)]


def _failure(findings: list[Finding], language: Language) -> str:
    say, first = words(language), findings[0]
    told = _what(first, language)
    runners = {job.job.runner_name for f in findings for job in f.jobs if job.verdict.job_id == f.verdict.job_id}
    if first.verdict.cause is Cause.INFRASTRUCTURE and len(runners) == 1 and (runner := runners.pop()):
        told = say["table.runner"].format(runner=plain(runner, 60), what=told)
    pull_requests = {finding.pull_request.number for finding in findings if finding.pull_request}
    if len(pull_requests) > 1:
        return say["table.prs"].format(what=told, count=len(pull_requests))
    return f"{_name(first, language)} {told}"


def _name(finding: Finding, language: Language) -> str:
    if finding.pull_request is not None:
        return f"#{finding.pull_request.number}"
    return plain(finding.run.name, 60) or words(language)["table.run"].format(id=finding.run.id)


def _what(finding: Finding, language: Language) -> str:
    label = headline.uncapitalised(category_label(language, finding.verdict.category))
    culprit = next((plain(r.quote, 40) for r in finding.verdict.reasons if r.id == headline.CULPRIT), "")
    job = headline.speaking_job(finding)
    tests = job.diagnosis.tests if job else ()
    told = f"{label} ({culprit})" if culprit else label
    return f"{told} {plain(tests[0].rsplit('::', 1)[-1], 60)}" if tests else told
