"""Which of the lines that rules hit is the cause: the order of evidence as numbers, in one table.

A hit inside the failed step beats one outside; a cause beats its symptom, a symptom its wrapper; what a retry healed, a
warning, an expected error of a passing test and the runner's cleaning up do not win.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache

from buildeye.logs import reruns
from buildeye.logs.lines import Lines
from buildeye.logs.marks import Mark
from buildeye.logs.matcher import compiled
from buildeye.logs.rules import Rule, Tier
from buildeye.logs.structure import NEAR_END, Structure
from buildeye.logs.text import bare
from buildeye.model import Cause

TIER_SCORE = {Tier.CAUSE: 100, Tier.SYMPTOM: 70, Tier.WRAPPER: 30, Tier.CATCH_ALL: 15}
IN_FAILED_STEP = 30
IN_OTHER_STEP = -25
NEAR_THE_END = 12
IN_FAILURE_REPORT = 12
ANNOTATED = 8
IN_TAIL = -80
WARNING = -45
HEALED = -60
SENTINEL = -15
EXPECTED = -60
"""Points a hit gains or loses; whoever has most is the key line, the earlier of equals."""

LEAST = 40
"""With fewer points than this a hit says nothing about why the job failed."""

RETRY_REACH = 8
"""Lines within which a retry mark speaks of the error before it."""

NOISE_REACH = 12
"""Lines of a traceback behind `Exception ignored in`."""

_WARNING = re.compile(r"^(?:\W*(?i:warning|warn|w)\b\W|.{0,60}\b(?:WARN(?:ING)?\b[: \]]|[Ww]arning: )|(?i:npm warn)\b)")
_GROUP = r"##\[group\]"
_NOT_TEXT = re.compile(r"\(\?P<\w+>|\\.|\[[^\]]*\]|\{[^}]*\}|\(\?[i:]|[^A-Za-z0-9 ]")
_PASSED = re.compile(r"(?:^|\s)(?:PASSED|ok|XFAIL|xfailed)\s*$")


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule that matched a line, what it captured, and how much it counts."""

    rule: Rule
    line: int
    text: str
    captures: Mapping[str, str]
    score: int = 0
    demoted: str = ""


def captured(rule: Rule, lines: Lines, number: int, opened_by: int | None = None) -> Hit | None:
    """The hit of a rule on a line, with what it captured there and in the line that opened its span."""
    named = _groups(rule.any, lines[number])
    if named is None:
        return None
    first = _groups(rule.start, lines[opened_by]) if opened_by else None
    return Hit(rule, number, lines[number], (first or {}) | named)


def _groups(patterns: Sequence[str], text: str) -> dict[str, str] | None:
    """The groups of the first pattern that matches a line, with the runner's mark or without; None when none does."""
    plain = bare(text)
    for pattern in patterns:
        found = compiled(pattern).search(plain) or (compiled(pattern).search(text) if plain != text else None)
        if found:
            return {k: v.strip() for k, v in found.groupdict().items() if v}
    return None


def weigh(hits: Sequence[Hit], structure: Structure, lines: Lines) -> list[Hit]:
    """Give every hit its score, best first; equal scores in the order of the log."""
    scored = [_score(h, structure, lines, hits) for h in hits if _counts(h, structure)]
    sentinels = {h.line for h in scored if h.rule.tier is Tier.WRAPPER}
    scored = [replace(h, score=h.score + SENTINEL) if _is_outer(h, sentinels) else h for h in scored]
    scored = _first_of_a_kind(scored, structure)
    return sorted(
        scored, key=lambda h: (-h.score, -h.line if h.rule.select == "last" else h.line, -specificity(h.rule.any))
    )


@lru_cache(maxsize=4096)
def specificity(patterns: tuple[str, ...]) -> int:
    """How much plain text a rule asks for: on one line, the rule that names more of it knows it better."""
    return min(len(_NOT_TEXT.sub("", pattern)) for pattern in patterns)


def _is_outer(hit: Hit, sentinels: Set[int]) -> bool:
    """Does a rule know this line as one that only says that something it had started failed?"""
    return hit.line in sentinels and hit.rule.tier in (Tier.CAUSE, Tier.SYMPTOM)


def _counts(hit: Hit, structure: Structure) -> bool:
    """Not a script that the runner echoes, unless the rule is about the echo; and in the right kind of step."""
    about_echo = any(_GROUP in pattern for pattern in hit.rule.any)
    return (about_echo or not structure.is_echo(hit.line)) and _fits(hit, structure)


def _first_of_a_kind(hits: Sequence[Hit], structure: Structure) -> list[Hit]:
    """Hits of one rule in the failed step or in a failure report count alike: the first of them speaks."""
    best: dict[tuple[str, bool], int] = {}
    for hit in hits:
        kind = (hit.rule.id, _in_failure_report(hit.line, structure))
        best[kind] = max(best.get(kind, hit.score), hit.score)
    return [_as_the_best(hit, best[hit.rule.id, _in_failure_report(hit.line, structure)], structure) for hit in hits]


def _as_the_best(hit: Hit, best: int, structure: Structure) -> Hit:
    alike = not hit.demoted and best - hit.score <= NEAR_THE_END and _in_failure(hit.line, structure)
    return replace(hit, score=best) if alike else hit


def _in_failure(line: int, structure: Structure) -> bool:
    section = structure.section_at(line)
    return _in_failure_report(line, structure) or (section is not None and section.failed)


def _fits(hit: Hit, structure: Structure) -> bool:
    """Is the hit in the kind of step that its rule is for?"""
    if not hit.rule.step:
        return True
    section = structure.section_at(hit.line)
    wanted = compiled(hit.rule.step)
    return any(wanted.search(name) for name in (section.name if section else "", structure.job_name) if name)


def _score(hit: Hit, structure: Structure, lines: Lines, hits: Sequence[Hit]) -> Hit:
    score = TIER_SCORE[hit.rule.tier] + hit.rule.weight
    demoted = ""
    failed = structure.failed
    if failed is not None:
        inside = failed.start <= hit.line <= failed.end
        elsewhere = structure.section_at(hit.line)
        score += IN_FAILED_STEP if inside or (elsewhere is not None and elsewhere.failed) else IN_OTHER_STEP
    if structure.end - NEAR_END <= hit.line <= structure.end:
        score += NEAR_THE_END
    if hit.text.startswith("##[error]"):
        score += ANNOTATED
    if _in_failure_report(hit.line, structure):
        score += IN_FAILURE_REPORT
    if structure.is_tail(hit.line):
        score, demoted = score + IN_TAIL, "the runner was already cleaning up"
    elif _WARNING.search(hit.text) and not _is_about_warnings(hit.rule.any):
        score, demoted = score + WARNING, "only a warning"
    elif _is_healed(hit, structure, hits):
        score, demoted = score + HEALED, "a retry followed and the log went on"
    elif reruns.recovered(hit.line, structure):
        score, demoted = score + HEALED, "a later attempt of this step went well"
    elif "test" in hit.captures and reruns.passed_again(hit.captures["test"], lines, structure):
        score, demoted = score + HEALED, "the test passed when it was run again"
    elif structure.next_mark(Mark.NOISE, hit.line - NOISE_REACH, hit.line) is not None:
        score, demoted = score + EXPECTED, "printed while the interpreter was ending; the exception is ignored"
    elif _is_expected(hit, lines):
        score, demoted = score + EXPECTED, "the test that printed it passed"
    return Hit(hit.rule, hit.line, hit.text, hit.captures, score, demoted)


@lru_cache(maxsize=4096)
def _is_about_warnings(patterns: tuple[str, ...]) -> bool:
    """Does the rule itself ask for a warning, as `WARNING: DATA RACE` does?"""
    return any("warn" in pattern.lower() for pattern in patterns)


def _in_failure_report(line: int, structure: Structure) -> bool:
    reports = structure.marks.get(Mark.FAILURES, ())
    return any(r < line for r in reports)


def _is_healed(hit: Hit, structure: Structure, hits: Sequence[Hit]) -> bool:
    """A failure from outside, then a retry, then no more of it but something else that went wrong: the retry worked."""
    outside = hit.rule.retryable or hit.rule.cause is Cause.INFRASTRUCTURE
    retry = structure.next_mark(Mark.RETRY, hit.line, hit.line + RETRY_REACH)
    if not outside or retry is None:
        return False
    behind = [h for h in hits if h.line > max(retry, hit.line) and h.rule.tier in (Tier.CAUSE, Tier.SYMPTOM)]
    again = any(h.rule.id == hit.rule.id for h in behind)
    return not again and any(h.rule.cause is not Cause.INFRASTRUCTURE for h in behind)


def _is_expected(hit: Hit, lines: Lines) -> bool:
    if hit.rule.tier is Tier.SYMPTOM:
        return False
    return any(_PASSED.search(lines[n]) and not lines[n].startswith("##[") for n in (hit.line, hit.line + 1))
