"""The summary of a pass as GitHub shows it on the page of a workflow run: the causes, then every failed run."""

from collections.abc import Iterator, Sequence
from typing import Final

from buildeye.model import Finding
from buildeye.reports import headline
from buildeye.reports.markdown import cell, link, prose
from buildeye.reports.table import summary_table
from buildeye.reports.words import category_label

LARGEST: Final = 1_000_000
"""Bytes of a summary; GitHub throws away one of more than 1 MiB."""
_ENDING: Final = 200  # bytes kept free for the line that says what was left out


def job_summary(opening: str, findings: Sequence[Finding], closing: str, *, largest: int = LARGEST) -> str:
    """Markdown of at most `largest` bytes; `opening` and `closing` are plain text. What does not fit is counted."""
    lines = ["### Build-Eye", "", prose(opening), ""]
    causes = summary_table(findings)
    if causes:
        lines += ["| cause | runs | what | who acts |", "|---|---|---|---|"]
        lines += [f"| {row.cause} | {row.runs} | {cell(prose(row.what))} | {cell(prose(row.who))} |" for row in causes]
        lines.append("")
    told = [finding for finding in findings if headline.claimed(finding) not in headline.NO_FAILURE]
    rest = ["", prose(closing), ""]
    if told:
        lines += ["| run | pull request | cause | what |", "|---|---|---|---|"]
        left = largest - _bytes(lines) - _bytes(rest) - _ENDING
        shown = list(_fitting(told, left))
        lines += shown
        if len(shown) < len(told):
            lines += ["", f"{len(told) - len(shown)} more failed runs are in the reports."]
    return "\n".join(lines + rest)


def _fitting(findings: Sequence[Finding], left: int) -> Iterator[str]:
    for finding in findings:
        line = _row(finding)
        left -= _bytes([line])
        if left < 0:
            return
        yield line


def _row(finding: Finding) -> str:
    run, pull = finding.run, finding.pull_request
    job = headline.speaking_job(finding)
    cause = headline.claimed(finding)
    label = category_label("en", finding.verdict.category)
    person = finding.verdict.person
    level = f", {finding.verdict.level}" if finding.verdict.level != "none" else ""
    level = f", said by {prose(person)}" if person else level
    cells = (
        link(prose(run.name or str(run.id), 80), run.html_url),
        link(f"#{pull.number}", pull.html_url) if pull else "",
        f"{cause} / {prose(label)}{level}",
        ". ".join(filter(None, (headline.origin_of(finding, "en"), headline.log_summary(job, 300) if job else ""))),
    )
    return "| " + " | ".join(map(cell, cells)) + " |"


def _bytes(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
