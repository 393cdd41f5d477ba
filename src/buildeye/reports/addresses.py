"""Web addresses of what a report names: pull requests, commits and ranges of the repository that a run belongs to."""

from buildeye.model import Finding
from buildeye.reports.markdown import code, link
from buildeye.reports.origin import SHA


def web_of(finding: Finding) -> str:
    """The repository's web address, taken from the run or pull request; empty when neither tells."""
    run, mark, _ = finding.run.html_url.partition("/actions/")
    if mark:
        return run
    pull = finding.pull_request.html_url if finding.pull_request else ""
    web, mark, _ = pull.partition("/pull/")
    return web if mark else ""


def pull_link(finding: Finding, number: int) -> str:
    """A pull request by its number, linked where the address is known."""
    return link(f"#{number}", f"{web_of(finding)}/pull/{number}")


def commit_link(finding: Finding, sha: str) -> str:
    """A commit by the first characters of its hash, linked where the address is known."""
    return link(code(sha[:SHA]), f"{web_of(finding)}/commit/{sha}")


def range_link(finding: Finding, text: str, good: str, bad: str) -> str:
    """Words that lead to what changed between two commits."""
    return link(text, f"{web_of(finding)}/compare/{good}...{bad}")
