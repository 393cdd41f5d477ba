"""What is wrong with a rule pack, before it can give a wrong verdict."""

import re
from collections.abc import Sequence

from buildeye.logs.engine import hyperscan_finds, hyperscan_problem
from buildeye.logs.rules import Rule, Tier
from buildeye.model import CATEGORIES, Cause

_ID = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def captures(rule: Rule) -> set[str]:
    """Names of all groups that the patterns of a rule can capture."""
    return {name for pattern in rule.any for name in re.compile(pattern).groupindex}


def lint(rules: Sequence[Rule]) -> list[str]:
    """Everything wrong with these rules, one line each; empty when they are good.

    Checks what one rule alone can show: ids, categories, patterns that both matchers read alike, both kinds of
    examples, placeholders that a pattern can fill. Whether another rule takes its example away is `engine`'s to say.
    """
    problems: list[str] = []
    seen: set[str] = set()
    known = {c for categories in CATEGORIES.values() for c in categories}
    for rule in rules:
        say = [f"{rule.id}: {what}" for what in _lint_one(rule, known)]
        if rule.id in seen:
            say.append(f"{rule.id}: this id is taken twice")
        seen.add(rule.id)
        problems += say
    return problems


def _lint_one(rule: Rule, known: set[str]) -> list[str]:
    bad: list[str] = []
    if not _ID.fullmatch(rule.id):
        bad.append("an id is written pack.name, in lower case")
    if rule.category not in known and rule.cause is Cause.UNKNOWN:
        bad.append(f"category {rule.category!r} is not known")
    for pattern in (*rule.any, *rule.all, *rule.absent, *([rule.step] if rule.step else [])):
        bad += [f"{what}: {pattern}" for what in pattern_problems(pattern)]
        if said := hyperscan_problem(pattern):
            bad.append(f"{said}: {pattern}")
    if bad:
        return bad
    if not rule.must_match or not rule.must_not_match:
        bad.append("needs at least one must_match and one must_not_match")
    bad += [f"does not match its own example: {x!r}" for x in rule.must_match if not matches(rule, x)]
    bad += [f"matches what it must not: {x!r}" for x in rule.must_not_match if matches(rule, x)]
    bad += [
        f"the two matchers disagree on: {x!r}"
        for x in (*rule.must_match, *rule.must_not_match)
        if matches(rule, x) and not hyperscan_finds(rule.any, x)
    ]
    texts = [rule.title, rule.explanation, *(t for a in rule.advice for t in (a.title, a.command, *a.steps))]
    missing = {m for t in texts for m in _PLACEHOLDER.findall(t)} - captures(rule) - {"line", "step", "job", "run_id"}
    bad += [f"no pattern captures {{{m}}}" for m in sorted(missing)]
    if rule.tier in (Tier.CAUSE, Tier.SYMPTOM) and not (rule.explanation and rule.advice):
        bad.append("a cause or symptom needs an explanation and advice")
    if not 0 < rule.confidence <= 1:
        bad.append("confidence is a probability")
    return bad


def pattern_problems(pattern: str) -> list[str]:
    """What makes a pattern unfit, apart from what the linear-time compiler itself says."""
    bad: list[str] = []
    try:
        compiled = re.compile(pattern)
    except re.error as e:
        return [f"not a regular expression ({e})"]
    if re.search(r"\(\?(=|!|<=|<!)|\\[1-9]|\(\?P=", pattern):
        bad.append("look-around and back-references are not linear")
    body = pattern.removeprefix("(?i)")
    if re.search(r"(?<!\\)(?<!\[)\^", body.removeprefix("^")):
        bad.append("'^' stands only at the very start")
    if body.startswith("^") and _splits_at_top(body):
        bad.append("'^a|b' anchors only a: write ^(?:a|b)")
    if re.search(r"(?:[^\\])\.[*+]\)*$", body):
        bad.append("ends in an open repeat: write $ behind it or cut it")
    if compiled.search("") is not None:
        bad.append("matches an empty line")
    return bad


def _splits_at_top(pattern: str) -> bool:
    depth, in_class, escaped = 0, False, False
    for c in pattern:
        if escaped or c == "\\":
            escaped = not escaped
        elif in_class or c == "[":
            in_class = c != "]"
        elif c in "()":
            depth += 1 if c == "(" else -1
        elif c == "|" and depth == 0:
            return True
    return False


def matches(rule: Rule, example: str) -> bool:
    """Does an example (one line or several) satisfy the rule: `any` on a line, each of `all`, none of `absent`?"""
    lines = example.splitlines() or [""]

    def found(pattern: str) -> bool:
        compiled = re.compile(pattern)
        return any(compiled.search(line) for line in lines)

    return any(map(found, rule.any)) and all(map(found, rule.all)) and not any(map(found, rule.absent))
