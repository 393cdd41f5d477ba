"""The first lines of a report: which failure leads, its title, and a summary of one or two sentences.

The rule: a title never claims more than the verdict. Medium says "probably", low says "perhaps", and without a level
the title says that a person must look, whatever the cause.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from buildeye.model import Cause, Finding, JobFinding, Level, Reason, Verdict, home_cause
from buildeye.reports.markdown import code, plain, prose
from buildeye.reports.origin import OF_TRUNK, Span, Told, brought_phrase, is_flaky, origin_phrase, tries_phrase
from buildeye.reports.paths import as_utc
from buildeye.reports.words import Language, category_label, words
from buildeye.triage.people import OVERRULED, SAID, word_of

# Gravest first: what the author can mend, then what others must mend, then what nobody understands, then no failure.
GRAVITY = (
    Cause.CODE,
    Cause.CONFIGURATION,
    Cause.INTERFERENCE,
    Cause.INFRASTRUCTURE,
    Cause.UNKNOWN,
    Cause.CANCELLED,
    Cause.NONE,
)
NO_FAILURE = (Cause.CANCELLED, Cause.NONE)

CLEAR: Final = 0.3
"""Log-odds from which a reason is told: what weighs less changes nothing."""
_MOST_WHYS = 2
_BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """The findings as a report tells them: the leading one first, then newest first.

    A failure leads before a stop on purpose, one of the newest commit before older ones, then the gravest, the surest.
    """
    newest = max(findings, key=_age).run.head_sha
    leading = min(
        findings,
        key=lambda finding: (
            finding.verdict.cause in NO_FAILURE,
            finding.run.head_sha != newest,
            GRAVITY.index(finding.verdict.cause),
            -finding.verdict.confidence,
            tuple(-part for part in (_age(finding)[0].timestamp(), finding.run.id)),
        ),
    )
    rest = sorted((f for f in findings if f is not leading), key=_age, reverse=True)
    return [leading, *rest]


def speaking_job(finding: Finding) -> JobFinding | None:
    """The job whose verdict is the run's; None when no job was recorded."""
    same = (job for job in finding.jobs if job.verdict.job_id == finding.verdict.job_id)
    return next(same, finding.jobs[0] if finding.jobs else None)


def title(findings: Sequence[Finding], language: Language) -> str:
    """The title (without `#`) of findings that are `in_order`: whose problem, and what fails."""
    say, finding = words(language), findings[0]
    name = _subject(finding, say)
    others = _not_covered(findings)
    partly = others.keys() & {Cause.CODE, Cause.CONFIGURATION}
    claim = say["claim.partly" if partly and is_of_change(finding) else _claim_key(finding)]
    detail = _detail(finding, language)
    text = say["title" if detail else "title.plain"].format(subject=name, claim=claim, detail=detail)
    return say["title.besides"].format(title=text, list=_counted(others, say)) if others else text


def summary(findings: Sequence[Finding], language: Language) -> str:
    """One or two sentences: what failed and why it is judged so, then what else failed, if anything."""
    say, finding = words(language), findings[0]
    job = speaking_job(finding)
    if job is None:
        first = say["summary.no-jobs"].format(conclusion=code(finding.run.conclusion or finding.run.status))
        return " ".join(filter(None, (first, _besides(findings, say))))
    told = log_summary(job) or say["summary.silent"].format(job=code(job.job.name))
    why = _why(finding.verdict, say)
    if why and why not in told:
        told = f"{_first_sentence(told)} {why}"
    return " ".join(filter(None, (told, _besides(findings, say))))


def log_summary(job: JobFinding, limit: int = 600) -> str:
    """What the log says, its test as code; empty when it says nothing."""
    text = job.diagnosis.summary
    test = next((test for test in job.diagnosis.tests if text.startswith(f"{test}: ")), "")
    return f"{code(test)}{prose(text[len(test) :], limit)}" if test else prose(text, limit)


def _why(verdict: Verdict, say: Mapping[str, str]) -> str:
    """What made it so: a person's word, else the two weightiest reasons around it."""
    word = word_of(verdict)
    if word is not None:
        return say["summary.person"].format(person=prose(word.quote), why=prose(_sentence(word.why)))
    if verdict.cause is Cause.UNKNOWN:
        return ""
    telling = [reason for reason in verdict.reasons if _is_telling(reason)]
    return " ".join(prose(_sentence(reason.why)) for reason in telling[:_MOST_WHYS])


def claimed(finding: Finding | JobFinding) -> Cause:
    """The cause as far as it may be claimed: without a level of confidence it is unknown."""
    certain = finding.verdict.level is not Level.NONE or finding.verdict.cause in NO_FAILURE
    return finding.verdict.cause if certain else Cause.UNKNOWN


def _age(finding: Finding) -> tuple[datetime, int]:
    when = finding.run.updated_at or finding.run.created_at
    return (as_utc(when) if when else _BEGINNING, finding.run.id)


def _subject(finding: Finding, say: Mapping[str, str]) -> str:
    if finding.pull_request is not None:
        return say["subject.pr"].format(number=finding.pull_request.number)
    name = code(finding.run.name) or prose(finding.pipeline_type)
    return say["subject.run"].format(workflow=name, id=finding.run.id)


def _claim_key(finding: Finding) -> str:
    cause, verdict = claimed(finding), finding.verdict
    nobody = "" if is_of_change(finding) else ".nobody"
    if cause in NO_FAILURE or cause is Cause.UNKNOWN:
        return f"claim.{cause}"
    if cause is verdict.cause and is_flaky(verdict):
        return f"claim.flaky.{verdict.level}"
    if cause is Cause.CONFIGURATION and home_cause(verdict.category) is Cause.CODE:
        cause = Cause.CODE  # such as the title of a pull request
    if cause is Cause.CONFIGURATION:
        return f"claim.configuration.{verdict.level}"
    kind = ("trunk" if verdict.category in OF_TRUNK else "outside") if nobody and cause is Cause.INTERFERENCE else cause
    return f"claim.{kind}{nobody}.{verdict.level}"


def _detail(finding: Finding, language: Language) -> str:
    """What fails, or where it came from when that is somebody else's."""
    verdict, cause = finding.verdict, claimed(finding)
    phrase = origin_of(finding, language)
    if phrase:
        return phrase
    what = _what(finding, language)
    if cause in (Cause.CODE, Cause.CONFIGURATION) and what:
        told = told_of(finding, language)
        return (tries_phrase(told, what) if is_flaky(verdict) else brought_phrase(told, what)) or what
    return what


def origin_of(finding: Finding, language: Language) -> str:
    """Where a failure of others came from, as far as that may be claimed; else empty."""
    return origin_phrase(told_of(finding, language)) if claimed(finding) is finding.verdict.cause else ""


def _what(finding: Finding, language: Language) -> str:
    """What fails: a test of the change, a job nobody understands, else the kind of failure."""
    say, cause, job = words(language), claimed(finding), speaking_job(finding)
    tests = job.diagnosis.tests if job else ()
    if tests and cause in (Cause.CODE, Cause.CONFIGURATION, Cause.UNKNOWN):
        name = code(tests[0].rsplit("::", 1)[-1], 80)
        return say["detail.test" if len(tests) == 1 else "detail.tests"].format(count=len(tests), test=name)
    if cause is Cause.UNKNOWN or (finding.verdict.category == "test-failure" and cause is Cause.CODE):
        return say["detail.job"].format(job=code(job.job.name, 80)) if job else ""
    return "" if cause is Cause.NONE else prose(category_label(language, finding.verdict.category))


def told_of(finding: Finding, language: Language, span: Span = code) -> Told:
    """The verdict of a run as its phrases are made of it; `span` shows the words of others."""
    branch = base_branch(finding, span) or words(language)["trunk"]
    return Told(finding.verdict, finding.pull_request, branch, language, span)


def base_branch(finding: Finding, span: Span) -> str:
    """The branch that a change goes into, or that was built itself; empty when it is not known."""
    if finding.pull_request is not None:
        return span(finding.pull_request.base_ref)
    return "" if is_of_change(finding) else span(finding.run.head_branch)


def is_of_change(finding: Finding) -> bool:
    """Was a change built that is not merged? GitHub does not name the pull request of one from a fork."""
    return finding.pull_request is not None or finding.run.event.startswith("pull_request")


def _not_covered(findings: Sequence[Finding]) -> Counter[Cause]:
    """Failed jobs of the leading commit that a title which clears the change would hide."""
    if claimed(findings[0]) not in (Cause.INTERFERENCE, Cause.INFRASTRUCTURE):
        return Counter()
    sha = findings[0].run.head_sha
    causes = Counter(claimed(job) for finding in findings if finding.run.head_sha == sha for job in finding.jobs)
    hidden = (Cause.CODE, Cause.CONFIGURATION, Cause.UNKNOWN)
    return Counter({c: n for c, n in causes.items() if c in hidden})


def _besides(findings: Sequence[Finding], say: Mapping[str, str]) -> str:
    lead = claimed(findings[0])
    causes = Counter(claimed(job) for finding in findings for job in finding.jobs)
    others: Counter[Cause] = Counter({c: n for c, n in causes.items() if c not in (lead, Cause.NONE)})
    return say["summary.besides"].format(list=_counted(others, say)) if others else ""


def _counted(causes: Counter[Cause], say: Mapping[str, str]) -> str:
    one = say["summary.besides.one"]
    return ", ".join(one.format(cause=say[f"cause.{c}"], count=causes[c]) for c in GRAVITY if causes[c])


def _is_telling(reason: Reason) -> bool:
    """Does it speak for the verdict clearly, and does it not come from the log, whose summary is told already?"""
    around = reason.kind in ("history", "infrastructure", "person")
    around = around and reason.id not in (SAID, OVERRULED, "own-merge-likely")  # the title names the merge
    return around and reason.weight >= CLEAR and bool(reason.why.strip())


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'\d])", text, maxsplit=1)[0]


def _sentence(text: str) -> str:
    """The text with a capital first and a full stop last, so that it can follow a sentence."""
    line = plain(text)
    if not line:
        return ""
    return line[0].upper() + line[1:] + ("" if line[-1] in ".!?。…" else ".")
