"""The comment on a pull request: is it me? Then every failure by whose it is, known problems folded away.

Equal findings give equal text, whatever order they come in; no time is in it. A person reads it in the night: the
answer first, one line a failure, one next step each.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from buildeye.model import Level, PullRequestFinding
from buildeye.reports.commentwords import comment_words, counted
from buildeye.reports.failureline import base_branch, failure_line, literal, runs_to_rerun, some
from buildeye.reports.markdown import fence, link, plain
from buildeye.reports.origin import OF_TRUNK
from buildeye.reports.whose import (
    FOREIGN,
    Conclusion,
    Failure,
    Whose,
    conclusion,
    failures_of,
    is_judged,
    least_level,
)
from buildeye.reports.words import Language, category_label, uncapitalised

MARKER: Final = "<!-- build-eye -->"
"""The first line of every comment of ours: by it a later pass finds the one to edit."""
LARGEST_COMMENT: Final = 65_536
LARGEST_SUMMARY: Final = 65_535
"""Characters that GitHub takes in a comment, and in the summary of a check run."""
MOST_OF_A_GROUP: Final = 30
_MOST_RERUNS: Final = 5
_MOST_KINDS: Final = 3
_WORD: Final = re.compile(r"[^\w ()-]+")
_LEAST_NEEDED: Final = (Whose.STOPPED, Whose.OUTSIDE, Whose.OTHERS, Whose.UNKNOWN, Whose.CHANGE)


@dataclass(frozen=True, slots=True)
class CheckText:
    """What a check run shows: how it ends, one line, and Markdown."""

    conclusion: Conclusion
    title: str
    summary: str


def render_comment(
    finding: PullRequestFinding, *, report_url: str = "", language: Language = "en", largest: int = LARGEST_COMMENT
) -> str:
    """The Markdown of the comment, at most `largest` characters; `report_url` is where the whole report is; or empty.

    Failures that do not fit are counted; those of others go first, those that look like this change last.
    """
    return _fitting(finding, report_url, language, largest, with_marker=True)


def render_check(finding: PullRequestFinding, *, report_url: str = "", language: Language = "en") -> CheckText:
    """The same as a check run on the head commit."""
    failures = failures_of(finding)
    return CheckText(
        conclusion(finding, failures),
        headline_of(finding, failures, language),
        _fitting(finding, report_url, language, LARGEST_SUMMARY, with_marker=False),
    )


def headline_of(finding: PullRequestFinding, failures: Sequence[Failure], language: Language) -> str:
    """One sentence without markup and full stop that answers "is it me?"."""
    say = comment_words(language)
    of_change = sum(failure.whose is Whose.CHANGE for failure in failures)
    foreign = [failure for failure in failures if failure.whose in FOREIGN]
    unknown = [failure for failure in failures if failure.whose is Whose.UNKNOWN]
    if of_change:
        parts = [counted(say, f"head.change{_doubt(failures)}", of_change)]
        parts += [counted(say, "head.more.foreign", len(foreign))] if foreign else []
    elif foreign:
        parts = [counted(say, "head.foreign", len(foreign), claim=_claim(foreign, say))]
    elif unknown:
        waiting = not any(is_judged(failure.verdict) for failure in unknown)
        return counted(say, "head.waiting" if waiting else "head.unknown", len(unknown))
    else:
        return _nothing_failed(finding, failures, say)
    parts += [counted(say, "head.more.unknown", len(unknown))] if unknown else []
    return say["comma"].join(parts[:-1]) + say["and"] + parts[-1] if len(parts) > 2 else say["comma"].join(parts)


def _claim(foreign: Sequence[Failure], say: Mapping[str, str]) -> str:
    """Not this change, as surely as the least sure of these verdicts."""
    return say[f"head.foreign.{least_level(foreign)}"]


def _doubt(failures: Sequence[Failure]) -> str:
    """The end of the key of phrases about this change: `.low` where even the surest verdict has little confidence."""
    surest = next(failure for failure in failures if failure.whose is Whose.CHANGE)
    return ".low" if surest.verdict.level is Level.LOW else ""


def _nothing_failed(finding: PullRequestFinding, failures: Sequence[Failure], say: Mapping[str, str]) -> str:
    if failures:
        return counted(say, "head.stopped", sum(len(failure.jobs) for failure in failures))
    if finding.pending:
        return say["head.so-far"]
    return counted(say, "head.passed", finding.passed) if finding.passed else say["head.nothing"]


def _fitting(
    finding: PullRequestFinding, report_url: str, language: Language, largest: int, *, with_marker: bool
) -> str:
    """The text with as many failures as fit."""
    failures = failures_of(finding)
    lines = {id(failure): failure_line(failure, language) for failure in failures}
    shown = {kind: [f for f in failures if f.whose is kind][:MOST_OF_A_GROUP] for kind in Whose}
    while True:
        parts = _parts(finding, failures, shown, lines, report_url, language)
        text = "\n\n".join([MARKER, *parts] if with_marker else parts) + "\n"
        text = text.encode("utf-8", "replace").decode()
        fullest = next((kind for kind in _LEAST_NEEDED if shown[kind]), None)
        if _length(text) <= largest or fullest is None:
            return text
        shown[fullest].pop()


def _length(text: str) -> int:
    """Characters as a database that counts UTF-16 counts them: never less than GitHub does."""
    return len(text.encode("utf-16-le")) // 2


def _parts(
    finding: PullRequestFinding,
    failures: Sequence[Failure],
    shown: Mapping[Whose, Sequence[Failure]],
    lines: Mapping[int, str],
    report_url: str,
    language: Language,
) -> list[str]:
    say = comment_words(language)
    parts = [f"### {headline_of(finding, failures, language)}", _facts(finding, say)]
    for kind in Whose:
        whole = [failure for failure in failures if failure.whose is kind]
        if shown[kind]:
            items = "\n".join(lines[id(failure)] for failure in shown[kind])
            parts += _group(kind, whole, items, language)
    left_out = len(failures) - sum(map(len, shown.values()))
    if left_out:
        parts.append(counted(say, "left-out", left_out))
    if report_url:
        parts.append(say["report"].format(link=link(say["report.link"], report_url)))
    return [*filter(None, parts), say["footer"]]


def _facts(finding: PullRequestFinding, say: Mapping[str, str]) -> str:
    jobs = sum(len(run.jobs) for run in finding.runs)
    told = []
    if jobs:
        told.append(counted(say, "facts.runs", len(finding.runs), jobs=counted(say, "facts.jobs", jobs)))
    told += [counted(say, "facts.passed", finding.passed)] if finding.passed else []
    told += [counted(say, "facts.pending", finding.pending)] if finding.pending else []
    sha = literal(finding.head_sha[:10], 10)
    facts = [say["facts"].format(sha=sha, list=say["comma"].join(told))] if told and sha else []
    newest = finding.pull_request.head_sha
    if newest and finding.head_sha and newest != finding.head_sha:
        facts.append(say["facts.newer"].format(sha=literal(newest[:10], 10)))
    return " ".join(facts)


def _group(kind: Whose, failures: Sequence[Failure], items: str, language: Language) -> list[str]:
    """A group with its title and what to do about all of it; known problems are folded."""
    say = comment_words(language)
    match kind:
        case Whose.CHANGE:
            return [f"#### {say[f'group.change{_doubt(failures)}']}", items]
        case Whose.UNKNOWN:
            return [f"#### {say['group.unknown']}", items, _look(failures, say)]
        case Whose.OTHERS:
            trunk = all(failure.verdict.category in OF_TRUNK for failure in failures)
            advice = say["do.others.trunk" if trunk else "do.others"].format(branch=base_branch(failures[0], say))
            return _folded(_titled("group.others", failures, language), [items, advice])
        case Whose.OUTSIDE:
            return _folded(_titled("group.outside", failures, language), [items, _rerun(failures, say)])
        case Whose.STOPPED:
            jobs = sum(len(failure.jobs) for failure in failures)
            return _folded(counted(say, "group.stopped", jobs), [items])


def _folded(title: str, parts: Sequence[str]) -> list[str]:
    return [f"<details>\n<summary>{title}</summary>", *parts, "</details>"]


def _titled(key: str, failures: Sequence[Failure], language: Language) -> str:
    """The line that shows while a group is folded: how many, as surely as may be said, and which kinds."""
    say = comment_words(language)
    labels = dict.fromkeys(uncapitalised(category_label(language, failure.verdict.category)) for failure in failures)
    kinds = some([_WORD.sub(" ", plain(label, 60)).strip() for label in labels], say, _MOST_KINDS)
    return say["group.kinds"].format(title=counted(say, key, len(failures), claim=_claim(failures, say)), list=kinds)


def _look(failures: Sequence[Failure], say: Mapping[str, str]) -> str:
    judged = [is_judged(failure.verdict) for failure in failures]
    told = [say["do.unknown"]] if any(judged) else []
    return " ".join([*told, *([] if all(judged) else [say["do.waiting"]])])


def _rerun(failures: Sequence[Failure], say: Mapping[str, str]) -> str:
    runs = runs_to_rerun(failures)
    if not runs:
        return say["do.outside.no"]
    repository = failures[0].jobs[0][0].run.repository_full_name
    where = f" --repo {repository}" if repository else ""
    commands = [f"gh run rerun {run} --failed{where}" for run in runs[:_MOST_RERUNS]]
    return "\n".join([say["do.outside"], "", *fence(commands, "sh")])
