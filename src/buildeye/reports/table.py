"""The table at the end of a pass, as data: which causes, how many runs, what fails, and who acts. The CLI draws it."""

from collections.abc import Sequence
from dataclasses import dataclass

from buildeye.model import Cause, Finding
from buildeye.reports import headline
from buildeye.reports.markdown import plain
from buildeye.reports.origin import LIKELY, OF_TRUNK, change_name, culprits_of, is_certain, is_flaky, speaking, tries_of
from buildeye.reports.words import Language, category_label, uncapitalised, words
from buildeye.triage.weights import packaged_weights

_MOST_NAMED = 4
ABOUT = {
    "version-matrix": ("leg-only", "leg-fails-elsewhere"),
    "image-update": ("image-moved",),
    "upstream-change": ("moved-is-named", "package-moved", "tool-moved"),
    "runner-contention": ("queue-deep", "pool-loaded"),
}
"""The reasons whose quote says what it is about, of each kind of interference that is not of the base branch."""


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
        groups = _by_origin(findings)
        told = [_group(alike, language) for alike in groups]
        who = _who(groups[0], language)
    else:
        told = list(dict.fromkeys(f"{_name(f, language)} {_what([f], language)}" for f in findings))
        flaky = all(is_flaky(f.verdict) for f in findings) and cause is not Cause.UNKNOWN
        who = say["who.flaky" if flaky else f"who.{cause}"].format(id=findings[0].run.id)
    if len(told) > _MOST_NAMED:
        told = [*told[:_MOST_NAMED], say["more"].format(count=len(told) - _MOST_NAMED)]
    return SummaryRow(cause, len(findings), " · ".join(told), who)


def _who(findings: list[Finding], language: Language) -> str:
    """Who acts on what hits most."""
    say, verdict = words(language), findings[0].verdict
    runner = _runner(findings[0])
    if runner and (len(findings) > 1 or any(speaking(f.verdict, "runner-sick") for f in findings)):
        return say["who.infrastructure.runner"].format(runner=runner)
    return say.get(f"who.{verdict.cause}.{verdict.category}") or say[f"who.{verdict.cause}"]


def _by_origin(findings: list[Finding]) -> list[list[Finding]]:
    """Failures of one origin together, the most frequent first: the cause is not in any of these changes."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_origin(finding), []).append(finding)
    return sorted(groups.values(), key=len, reverse=True)


def _origin(finding: Finding) -> tuple[str, ...]:
    verdict = finding.verdict
    if runner := _runner(finding):
        return ("runner", runner)
    if verdict.category in OF_TRUNK and (since := _since(finding)):
        return (verdict.category, since)
    return ("signature", verdict.signature or f"run {finding.run.id}")


def _runner(finding: Finding) -> str:
    """The runner that is to blame; empty when none is, as when a service is down."""
    verdict, job = finding.verdict, headline.speaking_job(finding)
    if verdict.cause is not Cause.INFRASTRUCTURE or job is None:
        return ""
    of_machine = packaged_weights().group_of(verdict.category) == "machine"
    return plain(job.job.runner_name or "", 60) if of_machine or speaking(verdict, "runner-sick") else ""


def _since(finding: Finding) -> str:
    """Since which changes the base branch is broken, if that is likely: two when they are broken together only."""
    culprits = culprits_of(finding.verdict, finding.pull_request)
    if not culprits or (finding.verdict.category == "broken-trunk" and culprits[0].probability < LIKELY):
        return ""
    named = culprits[:2] if finding.verdict.category == "concurrent-merge" else culprits[:1]
    return " + ".join(change_name(culprit, plain) for culprit in named)


def _group(findings: list[Finding], language: Language) -> str:
    say, first = words(language), findings[0]
    told = _what(findings, language)
    if runner := _runner(first):
        told = say["table.runner"].format(runner=runner, what=told)
    pull_requests = {finding.pull_request.number for finding in findings if finding.pull_request}
    if len(pull_requests) > 1:
        return say["table.prs"].format(what=told, count=len(pull_requests))
    return f"{_name(first, language)} {told}"


def _name(finding: Finding, language: Language) -> str:
    if finding.pull_request is not None:
        return f"#{finding.pull_request.number}"
    return plain(finding.run.name, 60) or words(language)["table.run"].format(id=finding.run.id)


def _what(findings: list[Finding], language: Language) -> str:
    """The kind of failure, where it came from in short, and the tests that fail."""
    say, first = words(language), findings[0]
    verdict = first.verdict
    job = headline.speaking_job(first)
    # of an unknown cause the log may still tell what failed
    category = job.diagnosis.category if job and verdict.cause is Cause.UNKNOWN else verdict.category
    label = plain(uncapitalised(category_label(language, category)), 60)
    tests = _tests(findings, language)
    if headline.claimed(first) is Cause.INTERFERENCE:
        if verdict.category in OF_TRUNK and (since := _since(first)):
            pair = culprits_of(verdict, first.pull_request)[: 2 if verdict.category == "concurrent-merge" else 1]
            form = "table.since" if is_certain(verdict, *pair) else "table.likely"
            return say[form if tests else f"{form}.plain"].format(label=label, since=since, what=tests)
        if about := speaking(verdict, *ABOUT.get(verdict.category, ())):
            form = "table.about" if tests else "table.about.plain"
            return say[form].format(label=label, about=plain(about.quote, 60), what=tests)
    told = f"{label} {tests}".rstrip()
    if headline.claimed(first) is verdict.cause and is_flaky(verdict):
        tries = tries_of(verdict)
        return say["table.flaky.tries" if tries else "table.flaky"].format(what=tests or label, **(tries or {}))
    return told


def _tests(findings: list[Finding], language: Language) -> str:
    """The first test that fails, and how many more do."""
    jobs = filter(None, map(headline.speaking_job, findings))
    names = list(dict.fromkeys(plain(test.rsplit("::", 1)[-1], 60) for job in jobs for test in job.diagnosis.tests[:1]))
    if len(names) < 2:
        return "".join(names)
    return words(language)["table.more"].format(what=names[0], count=len(names) - 1)
