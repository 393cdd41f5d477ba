"""The first lines of a report: which failure leads, its title, and a summary of one or two sentences.

The rule: a title never claims more than the verdict. Medium says "probably", low says "perhaps", and without a level
the title says that a person must look, whatever the cause.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from buildeye.model import Cause, Determinism, Evidence, Finding, JobFinding, Level
from buildeye.reports.markdown import code, plain, prose
from buildeye.reports.paths import as_utc
from buildeye.reports.words import Language, category_label, words

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

# Conventions between `triage` and this module: evidence that speaks against the verdict has an id with this prefix; the
# culprit of a broken trunk is the quote ("#9771" or a commit) of the reason with this id.
AGAINST = "against."
CULPRIT = "history.culprit"

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
    claim = say[_claim_key(finding)]
    detail = _detail(finding, language)
    text = say["title" if detail else "title.plain"].format(subject=name, claim=claim, detail=detail)
    unexplained = _unexplained(findings)
    return say["title.unexplained"].format(title=text, count=unexplained) if unexplained else text


def summary(findings: Sequence[Finding], language: Language) -> str:
    """One or two sentences: what failed and why it is judged so, then what else failed, if anything."""
    say, finding = words(language), findings[0]
    job = speaking_job(finding)
    if job is None:
        first = say["summary.no-jobs"].format(conclusion=code(finding.run.conclusion or finding.run.status))
        return " ".join(filter(None, (first, _besides(findings, say))))
    told = prose(job.diagnosis.summary) or say["summary.silent"].format(job=code(job.job.name))
    why = next((prose(_sentence(r.why)) for r in finding.verdict.reasons if _from_history(r) and r.why.strip()), "")
    if why and why not in told:
        told = f"{_first_sentence(told)} {why}"
    return " ".join(filter(None, (told, _besides(findings, say))))


def claimed(finding: Finding) -> Cause:
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
    nobody = "" if finding.pull_request else ".nobody"
    if cause in NO_FAILURE or cause is Cause.UNKNOWN:
        return f"claim.{cause}"
    if cause in (Cause.CODE, Cause.CONFIGURATION) and verdict.determinism is Determinism.FLAKY:
        return f"claim.flaky.{verdict.level}"
    if cause is Cause.CONFIGURATION:
        return f"claim.configuration.{verdict.level}"
    return f"claim.{cause}{nobody}.{verdict.level}"


def _detail(finding: Finding, language: Language) -> str:
    say, verdict, job = words(language), finding.verdict, speaking_job(finding)
    cause = claimed(finding)
    if verdict.category == "broken-trunk" and cause is Cause.INTERFERENCE:
        return _trunk(finding, say)
    tests = job.diagnosis.tests if job else ()
    if tests and cause not in NO_FAILURE:
        name = code(tests[0].rsplit("::", 1)[-1], 80)
        return say["detail.test" if len(tests) == 1 else "detail.tests"].format(count=len(tests), test=name)
    if cause is Cause.UNKNOWN:
        return say["detail.job"].format(job=code(job.job.name, 80)) if job else ""
    return "" if cause is Cause.NONE else prose(category_label(language, verdict.category))


def _trunk(finding: Finding, say: Mapping[str, str]) -> str:
    base = finding.pull_request.base_ref if finding.pull_request else finding.run.head_branch
    since = next((plain(r.quote, 40) for r in finding.verdict.reasons if r.id == CULPRIT), "")
    if since and not re.fullmatch(r"#\d+|[0-9a-f]{7,40}", since):
        since = ""
    unsure = "" if finding.verdict.level is Level.HIGH else ".unsure"
    key = "detail.trunk.since" if since else "detail.trunk"
    return say[key + unsure].format(branch=code(base) or say["trunk"], since=since)


def _unexplained(findings: Sequence[Finding]) -> int:
    """Failures of the leading commit that nobody has explained, when the title says that the change is not at fault."""
    if claimed(findings[0]) not in (Cause.INTERFERENCE, Cause.INFRASTRUCTURE):
        return 0
    sha = findings[0].run.head_sha
    jobs = [job for finding in findings if finding.run.head_sha == sha for job in finding.jobs]
    return sum(job.verdict.cause is Cause.UNKNOWN or job.verdict.level is Level.NONE for job in jobs)


def _besides(findings: Sequence[Finding], say: Mapping[str, str]) -> str:
    lead = findings[0].verdict.cause
    counts = Counter(job.verdict.cause for finding in findings for job in finding.jobs if job.verdict.cause != lead)
    parts = [
        say["summary.besides.one"].format(cause=say[f"cause.{cause}"], count=counts[cause])
        for cause in GRAVITY
        if counts[cause] and cause is not Cause.NONE
    ]
    return say["summary.besides"].format(list=", ".join(parts)) if parts else ""


def _from_history(reason: Evidence) -> bool:
    return reason.kind in ("history", "infrastructure") and not reason.id.startswith(AGAINST)


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'\d])", text, maxsplit=1)[0]


def _sentence(text: str) -> str:
    """The text with a capital first and a full stop last, so that it can follow another sentence."""
    line = plain(text)
    if not line:
        return ""
    return line[0].upper() + line[1:] + ("" if line[-1] in ".!?。…" else ".")
