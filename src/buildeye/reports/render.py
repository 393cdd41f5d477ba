"""The Markdown report of one pull request and day: the answer first, then why, the evidence, and what to do.

The form is the one people know: YAML front matter, summary, root-cause analysis, evidence, suggestions, related pull
requests. Equal input gives equal text: the only time in it besides those of the runs is `now`, in the front matter.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import buildeye
from buildeye.model import Cause, Finding, JobFinding, Suggestion, home_cause
from buildeye.reports import headline
from buildeye.reports.addresses import pull_link, web_of
from buildeye.reports.analysis import analysis_of, colon, item
from buildeye.reports.excerpt import excerpt
from buildeye.reports.markdown import Word, cell, code, fence, front_matter, link, prose
from buildeye.reports.origin import is_flaky
from buildeye.reports.paths import as_utc, day, group
from buildeye.reports.whose import retry_of
from buildeye.reports.words import Language, category_label, percent, words
from buildeye.triage.situation import Retry

MOST_NAMES = 20
_RERUN = {Retry.HELPS: True, Retry.NO: False, Retry.UNKNOWN: None}


def render_report(findings: Sequence[Finding], *, language: Language, now: datetime, max_log_lines: int = 50) -> str:
    """The report of findings that belong together: one pull request and day, or one run without a pull request.

    `max_log_lines` is the most rows a log excerpt has. ValueError when the findings do not belong to one report.
    """
    if len(group(findings)) != 1:
        raise ValueError("a report is about one pull request (or run) and one day")
    ordered = headline.in_order(findings)
    say = words(language)
    parts = [
        front_matter(_head(ordered, language, now)),
        [f"# {headline.title(ordered, language)}"],
        [f"## {say['section.summary']}", "", headline.summary(ordered, language)],
        _analysis(ordered, language),
        _evidence(ordered, say, max_log_lines),
        _tests(ordered, say),
        _suggestions(ordered, say),
        _related(ordered, say),
        _jobs(ordered, language),
    ]
    text = "\n\n".join("\n".join(part) for part in parts if part) + "\n"
    return text.encode("utf-8", "replace").decode()


def _head(findings: Sequence[Finding], language: Language, now: datetime) -> dict[str, object]:
    lead, in_time = findings[0], sorted(findings, key=lambda finding: finding.run.id)
    verdict = lead.verdict
    return {
        "classification": Word(verdict.cause),
        "confidence": Word(verdict.level),
        "confidence_value": round(verdict.confidence, 4),
        "category": Word(verdict.category) if home_cause(verdict.category) else verdict.category,
        "determinism": Word(verdict.determinism),
        **({"person": verdict.person} if verdict.person else {}),
        "repository": lead.run.repository_full_name,
        "pr": lead.pull_request.number if lead.pull_request else None,
        "run_ids": [finding.run.id for finding in in_time],
        "workflows": sorted({finding.run.name for finding in findings}),
        "head_sha": lead.run.head_sha,
        "pipeline_type": lead.pipeline_type,
        "date": day(lead).isoformat(),
        "signature": verdict.signature,
        "rule_set": verdict.rule_set,
        "retry_helps": _retry(lead)[0],
        "language": language,
        "generator": f"build-eye {buildeye.__version__}",
        "generated_at": as_utc(now).isoformat(timespec="seconds"),
    }


def _analysis(findings: Sequence[Finding], language: Language) -> list[str]:
    say = words(language)
    out = [f"## {say['section.analysis']}", ""]
    for finding in findings:
        if len(findings) > 1:
            out += [f"### {_run_name(finding, say)}", "", _where(finding, say), ""]
        out += [*analysis_of(finding, language), ""]
        if finding.verdict.cause not in headline.NO_FAILURE:
            out += [f"**{_retry_line(finding, say)}**", ""]
    return out[:-1]


def _retry(finding: Finding) -> tuple[bool | None, int]:
    """Whether a re-run helps the run as a whole (None: some, or not known), and how many jobs it helps."""
    answers = [_RERUN[retry_of(finding, job)] for job in finding.jobs]
    whole = answers[0] if answers and len(set(answers)) == 1 else None
    return whole, answers.count(True)


def _retry_line(finding: Finding, say: Mapping[str, str]) -> str:
    match _retry(finding):
        case (True, _):
            return say["retry.yes"]
        case (False, _):
            return say["retry.no"]
        case (_, 0):
            return say["retry.unknown"]
        case (_, helped):
            return say["retry.some"].format(yes=helped, count=len(finding.jobs))


def _evidence(findings: Sequence[Finding], say: Mapping[str, str], max_log_lines: int) -> list[str]:
    out = [f"## {say['section.evidence']}", ""]
    for finding in findings:
        if len(findings) > 1:
            out += [f"### {_run_name(finding, say)}", ""]
        else:
            out += [say["run.line"].format(run=_run_name(finding, say), where=_where(finding, say)), ""]
        out += [f"**{colon(say, 'links')}** {_links(finding, say)}", ""]
        for jobs in _alike(finding):
            out += _job_evidence(jobs, say, max_log_lines)
    return out[:-1]


def _job_evidence(jobs: Sequence[JobFinding], say: Mapping[str, str], max_log_lines: int) -> list[str]:
    first, others = jobs[0], jobs[1:]
    rules = dict.fromkeys(
        reason.id for reason in (*first.diagnosis.evidence, *first.verdict.reasons) if reason.kind == "rule"
    )
    out = [item(say, "job", link(code(first.job.name) or str(first.job.id), first.job.html_url))]
    if rules:
        out += [item(say, "patterns", ", ".join(map(code, rules)))]
    if others:
        names = _some((link(code(job.job.name), job.job.html_url) for job in others), say)
        out += ["- " + say["label.same"].format(count=len(others), jobs=names)]
    shown = excerpt(first, max_log_lines, say)
    return [*out, "", *shown, ""] if shown else [*out, ""]


def _alike(finding: Finding) -> list[list[JobFinding]]:
    """The jobs of a run, equal failures together, the one that speaks for the run first."""
    speaker = headline.speaking_job(finding)
    ordered = sorted(finding.jobs, key=lambda job: job is not speaker)
    groups: dict[str, list[JobFinding]] = {}
    for job in ordered:
        signature = job.verdict.signature or job.diagnosis.signature or f"job {job.job.id}"
        groups.setdefault(f"{job.verdict.cause} {signature}", []).append(job)
    return list(groups.values())


def _tests(findings: Sequence[Finding], say: Mapping[str, str]) -> list[str]:
    jobs = [job for finding in findings for job in finding.jobs]
    tests = list(dict.fromkeys(test for job in jobs for test in job.diagnosis.tests))
    files = list(dict.fromkeys(file for job in jobs for file in job.diagnosis.files))
    if not tests and not files:
        return []
    out = [f"## {say['section.tests']}", ""]
    for label, names in (("tests", tests), ("files", files)):
        if names:
            out += [f"**{colon(say, label)}**", "", *(f"- {code(name)}" for name in names[:MOST_NAMES])]
            if len(names) > MOST_NAMES:
                out += ["- " + say["more"].format(count=len(names) - MOST_NAMES)]
            out += [""]
    return out[:-1]


def _suggestions(findings: Sequence[Finding], say: Mapping[str, str]) -> list[str]:
    told = list(dict.fromkeys(advice for finding in findings for advice in _advice(finding)))
    out = [f"## {say['section.suggestions']}", ""]
    cause = headline.claimed(findings[0])
    if not told:
        flaky = cause is Cause.CODE and is_flaky(findings[0].verdict)
        return [*out, f"**{colon(say, 'priority')}** {say['default.flaky' if flaky else f'default.{cause}']}"]
    if cause is Cause.UNKNOWN:
        out += [f"{say['default.unknown']}{say['stop']}", ""]
    for number, suggestion in enumerate(told):
        if number == 1:
            out += [f"**{colon(say, 'then')}**", ""]
        out += _suggestion(suggestion, say, is_first=number == 0)
    return out[:-1]


def _advice(finding: Finding) -> tuple[Suggestion, ...]:
    job = headline.speaking_job(finding)
    return finding.suggestions or (job.diagnosis.suggestions if job else ())


def _suggestion(suggestion: Suggestion, say: Mapping[str, str], *, is_first: bool) -> list[str]:
    cost = say["label.cost"].format(cost=say[f"cost.{suggestion.cost}"])
    head = f"**{colon(say, 'priority')}** " if is_first else "### "
    out = [f"{head}{prose(suggestion.title)} ({cost})", ""]
    if suggestion.steps:
        if is_first:
            out += [f"**{colon(say, 'steps')}**", ""]
        out += [*(f"{n}. {prose(step)}" for n, step in enumerate(suggestion.steps, 1)), ""]
    if suggestion.command.strip():
        out += [*fence(suggestion.command.strip().splitlines(), "sh"), ""]
    return out


def _related(findings: Sequence[Finding], say: Mapping[str, str]) -> list[str]:
    telling = [finding for finding in findings if finding.verdict.cause is Cause.INTERFERENCE]
    numbers = list(dict.fromkeys(number for finding in telling for number in finding.related_pull_requests))
    if not numbers:
        return []
    return [f"## {say['section.related']}", "", *(f"- {pull_link(telling[0], number)}" for number in numbers)]


def _jobs(findings: Sequence[Finding], language: Language) -> list[str]:
    say = words(language)
    jobs = [job for finding in findings for job in finding.jobs]
    if len(jobs) < 2:
        return []
    columns = [say[f"column.{name}"] for name in ("job", "cause", "category", "confidence", "runner", "key")]
    out = [f"## {say['section.jobs']}", "", f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for job in jobs:
        key = job.diagnosis.key_line
        row = (
            link(code(job.job.name), job.job.html_url),
            say[f"cause.{job.verdict.cause}"],
            prose(category_label(language, job.verdict.category)),
            f"{percent(job.verdict.confidence)} %" + (f" ({prose(job.verdict.person)})" if job.verdict.person else ""),
            code(job.job.runner_name or ""),
            str(key.number) if key else "",
        )
        out += [f"| {' | '.join(map(cell, row))} |"]
    return out


def _run_name(finding: Finding, say: Mapping[str, str]) -> str:
    name = code(finding.run.name) or prose(finding.pipeline_type)
    return say["run.heading"].format(workflow=name, id=finding.run.id)


def _where(finding: Finding, say: Mapping[str, str]) -> str:
    run = finding.run
    finished = f"{as_utc(run.updated_at):%Y-%m-%d %H:%M} UTC" if run.updated_at else "?"
    return say["run.where"].format(sha=code(run.head_sha[:10]) or "?", attempt=run.run_attempt, when=finished)


def _links(finding: Finding, say: Mapping[str, str]) -> str:
    run = link(say["links.run"].format(id=finding.run.id), finding.run.html_url)
    if finding.pull_request is None:
        return run
    number = finding.pull_request.number
    address = finding.pull_request.html_url or f"{web_of(finding)}/pull/{number}"
    return f"{run} · {link(say['links.pr'].format(number=number), address)}"


def _some(items: Iterable[str], say: Mapping[str, str]) -> str:
    listed = list(items)
    rest = [say["more"].format(count=len(listed) - MOST_NAMES)] if len(listed) > MOST_NAMES else []
    return ", ".join(listed[:MOST_NAMES] + rest)
