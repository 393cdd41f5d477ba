"""What is wrong with a rule pack, before it can give a wrong verdict."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import hyperscan

from buildeye.logs.choose import weigh
from buildeye.logs.engine import scan_short
from buildeye.logs.literals import may_take_for_ever
from buildeye.logs.matcher import Matcher, hyperscan_pattern, hyperscan_problem
from buildeye.logs.rules import IMPORTED, Rule, Tier
from buildeye.logs.ruleset import RuleSet
from buildeye.logs.source import LogFile
from buildeye.logs.spans import opened
from buildeye.logs.structure import Structure
from buildeye.logs.text import clean
from buildeye.model import CATEGORIES, Cause, UsageError

_ID = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KNOWN = {c for categories in CATEGORIES.values() for c in categories}
_ALWAYS_FILLED = {"test", "run_id"}


def lint(rules: Sequence[Rule]) -> list[str]:
    """Everything wrong with these rules, one line each; empty when they are good.

    Checks ids, categories, patterns that both matchers read alike, both kinds of examples, and placeholders that a
    pattern can fill. Whether one rule takes another's example away is `shadowed`'s to say.
    """
    linear = _Linear.of([p for rule in rules for p in rule.any])
    problems: list[str] = []
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            problems.append(f"{rule.id}: this id is taken twice")
        seen.add(rule.id)
        problems += [f"{rule.id}: {what}" for what in _lint_one(rule, linear)]
    return problems


@dataclass(frozen=True, slots=True)
class _Linear:
    """All patterns compiled together; `matcher` is None when one of them does not compile."""

    patterns: dict[str, int]
    matcher: Matcher | None

    @classmethod
    def of(cls, patterns: Sequence[str]) -> "_Linear":
        unique = list(dict.fromkeys(patterns))
        try:
            hyperscan.Database().compile(expressions=[hyperscan_pattern(p) for p in unique], flags=[0] * len(unique))
            return cls({p: i for i, p in enumerate(unique)}, Matcher.compile(unique))
        except (UsageError, hyperscan.HyperscanError):
            return cls({}, None)

    def problem(self, pattern: str) -> str | None:
        return None if pattern in self.patterns else hyperscan_problem(pattern)

    def finds(self, patterns: Sequence[str], text: str) -> bool:
        if self.matcher is None:
            return True
        hits = scan_short(LogFile.of("example", text.encode()), self.matcher).hits
        return any(self.patterns[p] in hits for p in patterns)


def _lint_one(rule: Rule, linear: _Linear) -> list[str]:
    bad: list[str] = []
    if not _ID.fullmatch(rule.id):
        bad.append("an id is written pack.name, in lower case")
    if rule.category not in _KNOWN and rule.cause is Cause.UNKNOWN:
        bad.append(f"category {rule.category!r} is not known")
    for pattern in (*rule.any, *rule.all, *rule.absent, *rule.start, *rule.until, *filter(None, [rule.step])):
        bad += [f"{what}: {pattern}" for what in pattern_problems(pattern)]
        if not bad and (said := linear.problem(pattern)):
            bad.append(f"{said}: {pattern}")
    if bad:
        return bad
    if not is_imported(rule) and (not rule.must_match or not rule.must_not_match):
        bad.append("needs at least one must_match and one must_not_match")
    bad += [f"does not match its own example: {x!r}" for x in rule.must_match if not matches(rule, x)]
    bad += [f"matches what it must not: {x!r}" for x in rule.must_not_match if matches(rule, x)]
    bad += [
        f"the two matchers disagree on: {x!r}"
        for x in rule.must_match
        if matches(rule, x) and not linear.finds(rule.any, x)
    ]
    return bad + _lint_words(rule)


def _lint_words(rule: Rule) -> list[str]:
    texts = [rule.title, rule.explanation, *(t for a in rule.advice for t in (a.title, a.command, *a.steps))]
    missing = {m for t in texts for m in _PLACEHOLDER.findall(t)} - captures(rule) - _ALWAYS_FILLED
    bad = [f"no pattern captures {{{m}}}" for m in sorted(missing)]
    if rule.tier in (Tier.CAUSE, Tier.SYMPTOM) and not (rule.explanation and rule.advice):
        bad.append("a cause or symptom needs an explanation and advice")
    if not 0 < rule.confidence <= 1:
        bad.append("confidence is a probability")
    return bad


def is_imported(rule: Rule) -> bool:
    """Did this rule come from another tool's form, which has no examples to ask for?"""
    return rule.id.startswith(f"{IMPORTED}.")


def captures(rule: Rule) -> set[str]:
    """Names of all groups that the patterns of a rule can capture."""
    return {name for pattern in (*rule.any, *rule.start) for name in re.compile(pattern).groupindex}


def pattern_problems(pattern: str) -> list[str]:
    """What makes a pattern unfit, apart from what the linear-time compiler itself says."""
    bad: list[str] = []
    try:
        compiled = re.compile(pattern)
    except re.error as e:
        return [f"not a regular expression ({e})"]
    if re.search(r"\(\?(=|!|<=|<!)|\\[1-9]|\(\?P=", pattern):
        bad.append("look-around and back-references are not linear")
    if may_take_for_ever(pattern):
        bad.append("repeats a repeat, which can take for ever")
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
    """Does an example (one line or several) satisfy the rule: `any` in a span, each of `all`, none of `absent`?"""
    lines = [clean(line.encode()) for line in example.splitlines()] or [""]

    def found(*patterns: str) -> list[int]:
        searches = [re.compile(pattern).search for pattern in patterns]
        return [n for n, line in enumerate(lines, 1) if any(search(line) for search in searches)]

    hits = found(*rule.any)
    if rule.start:
        hits = list(opened(hits, found(*rule.start), found(*rule.until)))
    return bool(hits) and all(map(found, rule.all)) and not any(map(found, rule.absent))


def shadowed(rules: RuleSet, with_examples: Sequence[Rule]) -> list[str]:
    """Rules that lose their own example to a rule of another cause, one line each.

    Losing to another rule of the same cause is a choice of the better line; losing to another cause is a wrong verdict.
    """
    bad: list[str] = []
    for rule in with_examples:
        if rule.tier not in (Tier.CAUSE, Tier.SYMPTOM):
            continue
        for example in rule.must_match:
            found = rules.find(LogFile.of("example", example.encode()))
            best = weigh(found.hits, Structure(found.lines.count), found.lines)
            if best and best[0].rule.cause is not rule.cause and best[0].rule.id != rule.id:
                bad.append(f"{rule.id}: its own example goes to {best[0].rule.id} ({best[0].rule.cause}): {example!r}")
    return bad
