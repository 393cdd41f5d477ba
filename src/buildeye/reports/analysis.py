"""The root-cause analysis of a report: what is held to be true, why, what speaks against it, and where it came from."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from buildeye.model import Cause, Evidence, Finding, MergeRange, Reason, Verdict
from buildeye.reports import headline
from buildeye.reports.addresses import commit_link, pull_link, range_link
from buildeye.reports.markdown import code, plain, prose
from buildeye.reports.origin import OF_TRUNK, named_culprits
from buildeye.reports.words import Language, category_label, percent, uncapitalised, words
from buildeye.triage.people import word_of

MOST_REASONS: Final = 8
"""Weighed reasons that are told, the weightiest of them; `build-eye verdict show` tells all."""
MOST_OF_LOG: Final = 3
_WORD = re.compile(r"[\w.-]+")
_SHOWN_ELSEWHERE = frozenset({"context", "tally", "job", "exit"})
"""Evidence that only repeats lines of the excerpt; the excerpt shows them in their place."""


def analysis_of(finding: Finding, language: Language) -> list[str]:
    """The list items about one run, as lines of Markdown."""
    say, verdict = words(language), finding.verdict
    sure = f"{say[f'level.{verdict.level}']} ({percent(verdict.confidence)} %)"
    return [
        item(say, "classification", _classification(verdict, language)),
        item(say, "confidence", sure),
        item(say, "determinism", say[f"determinism.{verdict.determinism}"]),
        *_said(verdict, say),
        *_reasons(finding, say),
        *_otherwise(verdict, say),
        *_origin(finding, say),
    ]


def colon(say: Mapping[str, str], label: str, **filled: str) -> str:
    """A label with its colon, as the language writes it."""
    return say["colon"].format(label=say[f"label.{label}"].format(**filled))


def item(say: Mapping[str, str], label: str, markdown: str) -> str:
    """A list item with a label."""
    return f"- **{colon(say, label)}** {markdown}"


def _classification(verdict: Verdict, language: Language) -> str:
    say = words(language)
    key = "classification.word" if str(verdict.cause) == verdict.category else "classification"
    return say[key].format(
        cause=verdict.cause,
        category=prose(verdict.category),
        name=say[f"cause.{verdict.cause}"],
        label=prose(uncapitalised(category_label(language, verdict.category))),
    )


def _said(verdict: Verdict, say: Mapping[str, str]) -> list[str]:
    """Who judged it, and what that person said; nothing of our own judgement."""
    word = word_of(verdict)
    if word is None:
        return []
    return [item(say, "person", say["person.said"].format(person=prose(word.quote), why=prose(word.why)))]


def _reasons(finding: Finding, say: Mapping[str, str]) -> list[str]:
    """What was weighed, for it and then against it, and what the log says; weightier reasons come first."""
    verdict, word = finding.verdict, word_of(finding.verdict)
    given = [reason for reason in verdict.reasons if reason != word]
    overruled = [reason for reason in given if word and not reason.weight and reason.kind == "person"]
    clear = sorted((r for r in given if abs(r.weight) >= headline.CLEAR), key=lambda r: -abs(r.weight))[:MOST_REASONS]
    # what we thought of another cause than the person's is told in one list
    speaking: list[Evidence] = [*overruled, *(reason for reason in clear if reason.weight > 0 or word)]
    against = [reason for reason in clear if reason not in speaking]
    log = _of_log(finding, given)
    guess = verdict.otherwise[0][0] if verdict.cause is Cause.UNKNOWN and verdict.otherwise and not word else None
    if guess is not None:
        cause = say[f"cause.{guess}"]
        heads = colon(say, "guess", cause=cause), colon(say, "guess.against", cause=cause)
    else:
        heads = colon(say, "thought" if word else "reasoning"), colon(say, "against")
    if not speaking and guess is None:
        speaking, log = log, []
    out = _listed(heads[0], [_told(reason, verdict, say) for reason in speaking])
    if not out and guess is None:
        out = [f"- **{heads[0]}** {say['reason.none']}"]
    return [
        *out,
        *_listed(heads[1], [_told(reason, verdict, say) for reason in against]),
        *_listed(colon(say, "log"), [_told(reason, verdict, say) for reason in log]),
    ]


def _of_log(finding: Finding, given: Sequence[Reason]) -> list[Evidence]:
    """What the log and the job's facts say; of rules the one that decided, the others are among the evidence."""
    job = headline.speaking_job(finding)
    every = (*(r for r in given if not r.weight), *(job.diagnosis.evidence if job else ()))
    facts = {(e.id, e.quote, e.line): e for e in reversed(every) if e.kind not in ("person", "history")}
    told = [e for e in reversed(facts.values()) if e.id not in _SHOWN_ELSEWHERE]
    rule = next((e for e in told if e.kind == "rule"), None)
    return [e for e in told if e.kind != "rule" or e is rule][:MOST_OF_LOG]


def _listed(head: str, items: Sequence[str]) -> list[str]:
    return [f"- **{head}**", *(f"  - {text}" for text in items)] if items else []


def _told(reason: Evidence, verdict: Verdict, say: Mapping[str, str]) -> str:
    """A reason in a sentence: what it quotes unless the sentence says that, where it stands, and how much it weighs."""
    weight = getattr(reason, "weight", 0.0)
    quote = "" if _is_repeated(reason, verdict) else code(reason.quote)
    told = ": ".join(filter(None, (prose(reason.why), quote))).replace(".: `", ": `", 1)
    where = say["reason.line"].format(line=reason.line) if reason.line is not None else ""
    source = f"{weight:+.1f}" if weight else code(reason.id)
    return f"{told} ({', '.join(filter(None, (where, source)))})"


def _is_repeated(reason: Evidence, verdict: Verdict) -> bool:
    """Does the quote say nothing that its sentence, or the report's head, does not say?"""
    quote = plain(reason.quote)
    said = {*_WORD.findall(reason.why), "of"}
    return reason.kind != "rule" and (said.issuperset(_WORD.findall(quote)) or verdict.signature.startswith(quote))


def _otherwise(verdict: Verdict, say: Mapping[str, str]) -> list[str]:
    """The causes that were next; of a person's verdict none is."""
    if verdict.person or not verdict.otherwise:
        return []
    told = [
        say["otherwise.one"].format(cause=say[f"cause.{cause}"], percent=percent(probability))
        for cause, probability in verdict.otherwise
    ]
    return [item(say, "perhaps" if verdict.cause is Cause.UNKNOWN else "otherwise", say["list"].join(told))]


def _origin(finding: Finding, say: Mapping[str, str]) -> list[str]:
    """Of interference on the base branch: the range it came with, and who may have brought it."""
    verdict = finding.verdict
    if verdict.cause is not Cause.INTERFERENCE or verdict.category not in OF_TRUNK:
        return []
    out = [item(say, "range", _range(finding, verdict.merge_range, say))] if verdict.merge_range else []
    sure, culprits = named_culprits(verdict, finding.pull_request)
    if not culprits:
        return out
    alone = verdict.merge_range is not None and verdict.merge_range.merges == 1
    told = []
    for culprit in culprits:
        number = culprit.pull_request
        told.append(
            say["culprit"].format(
                change=pull_link(finding, number) if number else commit_link(finding, culprit.sha),
                percent=percent(culprit.probability),
                why=say["culprit.only"] if alone else prose(culprit.why),
            )
        )
    return [*out, *_listed(colon(say, f"culprits{sure}"), told)]


def _range(finding: Finding, merges: MergeRange, say: Mapping[str, str]) -> str:
    branch, bad = headline.base_branch(finding, code) or say["trunk"], commit_link(finding, merges.bad)
    if not merges.good:
        return say["range.open"].format(branch=branch, bad=bad)
    count = say["range.one" if merges.merges == 1 else "range.many"].format(count=merges.merges)
    between = range_link(finding, count, merges.good, merges.bad)
    return say["range"].format(branch=branch, good=commit_link(finding, merges.good), bad=bad, merges=between)
