"""Where a failure came from, in one phrase: since which merge, in which leg, what moved, how long jobs waited.

A phrase stands on the reasons of a verdict, by their ids (keys of `[evidence]` in `knowledge/tables/weights.toml`), and
only on such as speak for it. It is empty when the verdict does not know.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from buildeye.model import Cause, Culprit, Determinism, Level, PullRequest, Reason, Verdict
from buildeye.reports.markdown import prose
from buildeye.reports.words import Language, category_label, uncapitalised, words

CERTAIN: Final = 0.9
"""The probability among all that could from which a change is said to have brought a failure."""
LIKELY: Final = 0.5
"""The probability from which a change is named as the likely one."""
OF_TRUNK: Final = frozenset({"broken-trunk", "concurrent-merge"})
"""Kinds of interference that are mended on the base branch."""
SHA: Final = 10
"""Characters of a commit that are shown."""

_WAITED = re.compile(r"waited (?P<wait>\d+) (?P<unit>min|s) for .*; usual are (?P<usual>\d+) (?P<usual_unit>min|s)$")
_WAITS = (("wait", "unit"), ("usual", "usual_unit"))
_LONG = 300  # minutes; from here on people count hours
_LOADED = re.compile(r"^(?P<waiting>\d+) jobs waited for .* while (?P<running>\d+) ran; usually (?P<usual>\d+) wait$")
_OF = re.compile(r"(?P<passed>\d+) of (?P<tried>\d+)")
_PLACE = re.compile(r"(?P<kind>attempt|run) (?P<number>\d+)")
_CHANGE = re.compile(r"#\d{1,9}|[0-9a-f]{7,40}")

Span = Callable[[str], str]
"""How words of others are shown: as code, or as plain text."""


@dataclass(frozen=True, slots=True)
class Told:
    """One verdict beside what it is told of: the pull request if there is one, and its words."""

    verdict: Verdict
    pull_request: PullRequest | None
    branch: str
    """The base branch as it is shown."""
    language: Language
    span: Span

    @property
    def say(self) -> Mapping[str, str]:
        """The fixed words."""
        return words(self.language)

    @property
    def doubt(self) -> str:
        """The end of the keys of phrases that have a form for less than high confidence."""
        return "" if self.verdict.level is Level.HIGH else ".unsure"


def speaking(verdict: Verdict, *ids: str) -> Reason | None:
    """The first of these reasons that speaks for the verdict."""
    return next((r for name in ids for r in verdict.reasons if r.id == name and r.weight > 0), None)


def culprits_of(verdict: Verdict, pull_request: PullRequest | None) -> tuple[Culprit, ...]:
    """Who may have brought it to others: never the pull request that is told of."""
    own = pull_request.number if pull_request else 0
    return tuple(each for each in verdict.culprits if not each.pull_request or each.pull_request != own)


def named_culprits(verdict: Verdict, pull_request: PullRequest | None) -> tuple[str, tuple[Culprit, ...]]:
    """How surely changes may be named, and which: empty for certain, `.likely`, or `.possible` when none stands out.

    Of changes that broke it together only, two are named together; beside a certain one no other is named.
    """
    culprits = culprits_of(verdict, pull_request)
    first = culprits[: 2 if verdict.category == "concurrent-merge" else 1]
    if culprits and is_certain(verdict, *first):
        return "", first
    likely = sum(culprit.probability for culprit in first) >= LIKELY
    return ".likely" if likely else ".possible", culprits


def is_certain(verdict: Verdict, *culprits: Culprit) -> bool:
    """Is it one of these, beyond "likely"?"""
    return verdict.level is Level.HIGH and sum(each.probability for each in culprits) >= CERTAIN


def change_name(culprit: Culprit, span: Span) -> str:
    """A change as people call it: `#9771`, or its commit."""
    return f"#{culprit.pull_request}" if culprit.pull_request else span(culprit.sha[:SHA])


def is_flaky(verdict: Verdict) -> bool:
    """Is it a failure of the code, or of what is declared, that another try may pass?"""
    return verdict.determinism is Determinism.FLAKY and verdict.cause in (Cause.CODE, Cause.CONFIGURATION)


def origin_phrase(told: Told) -> str:
    """Where interference or a failure of the infrastructure came from; empty when that is not known."""
    verdict = told.verdict
    if verdict.cause is Cause.INFRASTRUCTURE:
        return _of_runner(told)
    if verdict.cause is not Cause.INTERFERENCE:
        return ""
    match verdict.category:
        case "broken-trunk":
            return _of_trunk(told)
        case "concurrent-merge":
            return _of_pair(told) or _of_trunk(told)
        case "version-matrix":
            return _of_leg(told)
        case "image-update":
            moved = speaking(verdict, "image-moved")
            return told.say["detail.image"].format(what=told.span(moved.quote)) if moved else _same_commit(told)
        case "upstream-change":
            moved = speaking(verdict, "moved-is-named", "package-moved", "tool-moved")
            return told.say["detail.moved"].format(what=told.span(moved.quote)) if moved else _same_commit(told)
        case "runner-contention":
            return wait_phrase(told)
    return ""


def _of_trunk(told: Told) -> str:
    """Since when the base branch is broken, as narrowly and as surely as it is known."""
    verdict, culprits, since = told.verdict, culprits_of(told.verdict, told.pull_request), ""
    key, count = "detail.trunk", 0
    if culprits and culprits[0].probability >= LIKELY:
        key += ".since" if is_certain(verdict, culprits[0]) else ".likely"
        since = change_name(culprits[0], told.span)
    elif verdict.merge_range and verdict.merge_range.merges > 1:
        key, count = "detail.trunk.range", verdict.merge_range.merges
    elif seen := first_seen(verdict):
        key, since = "detail.trunk.seen", told.span(seen[:SHA])
    return told.say[key + told.doubt].format(branch=told.branch, since=since, count=count)


def first_seen(verdict: Verdict) -> str:
    """The first commit of the base branch that is known to fail alike; empty when none is."""
    if verdict.merge_range:
        return verdict.merge_range.bad
    seen = speaking(verdict, "base-broken", "base-fails-too")
    return seen.quote if seen and _CHANGE.fullmatch(seen.quote) else ""


def _of_pair(told: Told) -> str:
    """The two changes that do not go together; empty when fewer are known."""
    culprits = culprits_of(told.verdict, told.pull_request)[:2]
    if len(culprits) < 2:
        return ""
    doubt = "" if is_certain(told.verdict, *culprits) else ".unsure"
    first, second = (change_name(each, told.span) for each in culprits)
    return told.say[f"detail.pair{doubt}"].format(first=first, second=second, branch=told.branch)


def _of_leg(told: Told) -> str:
    leg = speaking(told.verdict, "leg-only", "leg-fails-elsewhere")
    if leg is None:
        return ""
    elsewhere = ".elsewhere" if speaking(told.verdict, "leg-fails-elsewhere") else ""
    return told.say[f"detail.leg{elsewhere}"].format(leg=told.span(leg.quote))


def _same_commit(told: Told) -> str:
    seen = speaking(told.verdict, "same-commit-passed-before")
    place = _PLACE.fullmatch(seen.quote) if seen else None
    return told.say["detail.same-commit"].format(number=place["number"]) if place else ""


def wait_phrase(told: Told) -> str:
    """How long jobs waited for a runner, or how many did; empty when neither is known."""
    deep, loaded = speaking(told.verdict, "queue-deep"), speaking(told.verdict, "pool-loaded")
    if deep and (found := _WAITED.search(deep.why)):
        wait, usual = (_span(told, found[name], found[unit]) for name, unit in _WAITS)
        return told.say["detail.wait"].format(wait=wait, usual=usual, pool=told.span(deep.quote))
    if loaded and (found := _LOADED.search(loaded.why)):
        return told.say["detail.load"].format(pool=told.span(loaded.quote), **found.groupdict())
    return ""


def _span(told: Told, count: str, unit: str) -> str:
    if unit == "min" and int(count) >= _LONG:
        return told.say["span.h"].format(count=round(int(count) / 60))
    return told.say[f"span.{unit}"].format(count=count)


def _of_runner(told: Told) -> str:
    sick = speaking(told.verdict, "runner-sick")
    if sick is None:
        return ""
    if told.verdict.category == "runner-host":
        return told.say[f"detail.runner{told.doubt}"].format(runner=told.span(sick.quote))
    label = prose(uncapitalised(category_label(told.language, told.verdict.category)))
    return told.say[f"detail.runner.label{told.doubt}"].format(runner=told.span(sick.quote), label=label)


def tries_phrase(told: Told, what: str) -> str:
    """What fails, and what is known of other tries of it; empty when none is."""
    again = speaking(told.verdict, "same-run-passed", "same-commit-passed")
    if again and (place := _PLACE.fullmatch(again.quote)):
        return told.say[f"detail.passed.{place['kind']}"].format(what=what, number=place["number"])
    tries = tries_of(told.verdict)
    return told.say["detail.tries"].format(what=what, **tries) if tries else ""


def tries_of(verdict: Verdict) -> dict[str, str] | None:
    """Of equal failures that were tried again, how many `passed` of how many `tried`; None when none is known."""
    known = speaking(verdict, "known-flaky")
    found = _OF.fullmatch(known.quote) if known else None
    return found.groupdict() if found else None


def brought_phrase(told: Told, what: str) -> str:
    """What fails since this change, or the newest merge, came to the base branch; empty when that is not known."""
    if speaking(told.verdict, "brought-to-base"):
        return told.say["detail.brought"].format(what=what, branch=told.branch)
    newest = speaking(told.verdict, "own-merge-likely")
    if newest is None or told.pull_request is not None:
        return ""
    numbers = ("untested-before-merge", "failed-before-merge", "passed-before-merge")
    merged = next((r.quote for r in told.verdict.reasons if r.id in numbers and _CHANGE.fullmatch(r.quote)), "")
    since = merged if merged.startswith("#") else told.span(newest.quote[:SHA])
    return told.say["detail.merged"].format(what=what, since=since)
