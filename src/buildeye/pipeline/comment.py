"""One sticky comment and one check run on a pull request: written only when what they say has changed.

The comment of a pass before is found by its first line, so nothing has to be remembered here. A pull request on which
nothing failed gets no comment; one that it has is edited to say so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, urlsplit

from buildeye.config import Settings
from buildeye.config.fields import names_in_address
from buildeye.github import Comment, ForbiddenError, NotFoundError, PostedCheck, Posting
from buildeye.github.posting import MARK, SOME_BOT
from buildeye.model import PullRequestFinding
from buildeye.reports import headline, paths
from buildeye.reports.archive import FOLDER
from buildeye.reports.comment import MARKER, CheckText, render_check, render_comment
from buildeye.reports.whose import is_judged
from buildeye.reports.words import Language

CHECK = "Build-Eye"
"""The name of the check run."""


class Did(StrEnum):
    """What was done with a comment or a check run, or in a dry run would be."""

    CREATED = "created"
    EDITED = "edited"
    UNCHANGED = "unchanged"
    NOTHING = "nothing"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done with one of the two, and where it is; `url` is empty when it is nowhere."""

    did: Did
    url: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """The comment and the check of one pull request, and what was done; `checked` is None when none was asked for."""

    body: str
    check: CheckText
    commented: Deed
    checked: Deed | None = None


def tell_pull_request(
    posting: Posting,
    settings: Settings,
    finding: PullRequestFinding,
    *,
    check: bool,
    dry_run: bool,
    warn: Callable[[str], None],
) -> Told:
    """Bring the comment and, if `check`, the check run up to date; a dry run only says what would be done.

    A pull request of which no run is known is left as it is.
    """
    language: Language = settings.report.language.value
    report_url = report_address(settings, finding)
    body = render_comment(finding, report_url=report_url, language=language)
    text = render_check(finding, report_url=report_url, language=language)
    if not has_run(finding):
        return Told(body, text, Deed(Did.NOTHING), Deed(Did.NOTHING) if check else None)
    commented = _comment(posting, settings, finding, body, dry_run=dry_run)
    checked = _check(posting, settings, finding, text, dry_run=dry_run, warn=warn) if check else None
    return Told(body, text, commented, checked)


def has_run(finding: PullRequestFinding) -> bool:
    """Whether any run of the pull request is known."""
    return bool(finding.runs or finding.passed or finding.pending)


def report_address(settings: Settings, finding: PullRequestFinding) -> str:
    """Where the archive shows the report of the newest day; empty without a report, or an archive with a web page."""
    web = _web_address(settings)
    judged = [run for run in finding.runs if is_judged(run.verdict)]
    if not web or not judged:
        return ""
    newest = max(map(paths.day, judged))
    told = [run for run in judged if paths.day(run) == newest]
    lead = headline.in_order(told)[0]
    path = paths.report_file(newest, paths.subject(lead), lead.verdict.cause)
    return f"{web}/blob/{quote(settings.archive_repository.branch)}/{FOLDER}/{path}"


def _web_address(settings: Settings) -> str:
    archive = settings.archive_repository
    if not archive.url:
        return f"https://github.com/{archive.full_name}" if archive.full_name else ""
    names = names_in_address(archive.url)
    if not names:
        return ""
    parts = urlsplit(archive.url)
    host = parts.hostname or archive.url.partition("@")[2].partition(":")[0]
    scheme, port = ("http", parts.port) if parts.scheme == "http" else ("https", None)
    if parts.scheme == "https":
        port = parts.port
    return f"{scheme}://{host}{f':{port}' if port else ''}/{names['owner']}/{names['repo']}"


def _comment(posting: Posting, settings: Settings, finding: PullRequestFinding, body: str, *, dry_run: bool) -> Deed:
    number = finding.pull_request.number

    def find() -> Comment | None:
        return own_comment(posting.comments(number), settings.github_app.app_id, posting.login)

    there = find()
    if there is None:
        if not finding.runs:
            return Deed(Did.NOTHING)
        url = "" if dry_run else posting.create_comment(number, body, find).html_url
        return Deed(Did.CREATED, url)
    if is_same_text(there.body, body):
        return Deed(Did.UNCHANGED, there.html_url)
    if not dry_run:
        posting.edit_comment(there, body)
    return Deed(Did.EDITED, there.html_url)


def own_comment(comments: Sequence[Comment], app_id: int, login: Callable[[], str]) -> Comment | None:
    """The comment to edit: the oldest that begins with our mark and is ours; None when there is none.

    Ours is what our App (`app_id`, 0 for none) or the owner of the token wrote; `login` is asked only when it matters.
    It may say no more than that we are a bot. Where nobody tells who we are, a bot's comment goes before a person's.
    """
    marked = sorted((c for c in comments if c.body.lstrip().startswith(MARKER)), key=lambda comment: comment.id)
    if not marked:
        return None
    if app_id:
        ours = [c for c in marked if c.app_id == app_id or (c.is_bot and not c.app_id)]
    elif name := login():
        ours = [c for c in marked if c.author == name or (name == SOME_BOT and c.is_bot)]
    else:
        ours = [c for c in marked if c.is_bot] or marked
    return next(iter(ours), None)


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts are one to a reader: GitHub may change the ends of lines."""
    return _lines(one) == _lines(other)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def _check(
    posting: Posting,
    settings: Settings,
    finding: PullRequestFinding,
    text: CheckText,
    *,
    dry_run: bool,
    warn: Callable[[str], None],
) -> Deed:
    """Bring the check run up to date. A token that may not is a warning: the comment stands without it."""
    try:
        return _checked(posting, settings, finding.head_sha, text, dry_run=dry_run)
    except (ForbiddenError, NotFoundError) as error:
        warn(f"no check run, which only a GitHub App or the token of a workflow may write: {error}")
        return Deed(Did.REFUSED)


def _checked(posting: Posting, settings: Settings, sha: str, text: CheckText, *, dry_run: bool) -> Deed:
    def find() -> PostedCheck | None:
        return own_check(posting.checks(sha, CHECK), settings.github_app.app_id)

    there = find()
    if there is None:
        made = None if dry_run else posting.create_check(sha, CHECK, text.conclusion, text.title, text.summary, find)
        return Deed(Did.CREATED, made.html_url if made else "")
    same = (there.conclusion, there.title) == (text.conclusion, text.title) and is_same_text(
        there.summary, text.summary
    )
    if same:
        return Deed(Did.UNCHANGED, there.html_url)
    if not dry_run:
        posting.edit_check(there, text.conclusion, text.title, text.summary)
    return Deed(Did.EDITED, there.html_url)


def own_check(checks: Sequence[PostedCheck], app_id: int) -> PostedCheck | None:
    """The newest check run with our mark, of our App where we are one; None when there is none."""
    ours = [check for check in checks if check.external_id == MARK and app_id in (0, check.app_id)]
    return max(ours, key=lambda check: check.id, default=None)
