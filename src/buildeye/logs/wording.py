"""Sentences of a diagnosis: titles and advice with their placeholders filled, the summary, the signature."""

from collections.abc import Mapping, Sequence

from buildeye.logs.baseline import mask
from buildeye.logs.filling import PLACE, fill_command
from buildeye.logs.rules import Rule
from buildeye.model import Cost, Suggestion
from buildeye.model.labels import plain

TOOLS = frozenset({"pytest", "git", "kubernetes"})
"""Packs that are named after the tool whose words they know."""

LOOK = (
    Suggestion(
        "Read the quoted lines; no rule knows this failure yet",
        Cost.LOW,
        (
            "Open the log at the key line.",
            "If the cause is clear, write a rule for it (docs/rules.md) so that it is known next time.",
        ),
    ),
)
"""What to do about a failure that nobody knows."""


def fill(text: str, captured: Mapping[str, str]) -> str:
    """A sentence with its placeholders filled; one that was not captured is named in words."""
    return PLACE.sub(lambda m: captured.get(m.group(1)) or f"the {m.group(1)}", text)


def advice(rule: Rule, captured: Mapping[str, str]) -> tuple[Suggestion, ...]:
    """A rule's advice for this failure; a command that lacks a value is left out, not guessed."""
    return tuple(_filled(suggestion, captured) for suggestion in rule.advice)


def _filled(suggestion: Suggestion, captured: Mapping[str, str]) -> Suggestion:
    return Suggestion(
        fill(suggestion.title, captured),
        suggestion.cost,
        tuple(fill(step, captured) for step in suggestion.steps),
        fill_command(suggestion.command, captured) or "",
    )


def kind(rule: Rule) -> str:
    """What kind of failure it is, with the tool that says so where the rule belongs to one."""
    tool = rule.id.partition(".")[0]
    return f"{plain(rule.category)} ({tool})" if tool in TOOLS else plain(rule.category)


def summary(title: str, tests: Sequence[str], named: str, step: str, what: str = "") -> str:
    """One or two sentences: the title with the first failing test, how many more, the step, and the kind of failure."""
    title = title.rstrip(".")
    named = named or (tests[0] if tests else "")
    if named and named not in title:
        title = f"{named}: {title[:1].lower() if title[1:2].islower() else title[:1]}{title[1:]}"
    more = len([t for t in tests if t != named])
    also = f" (and {more} more {'tests' if more > 1 else 'test'})" if named and more else ""
    where = f'Step "{step[:80]}" failed' if step else ""
    ending = f" {where}: {what}." if where and what else f" {where or what.capitalize()}." if where or what else ""
    return f"{title}{also}.{ending}"


def signature(rule: Rule, captured: Mapping[str, str], tests: Sequence[str]) -> str:
    """The same for the same failure: the rule, the first failing test, and what groups it, without what varies."""
    names = rule.signature if rule.signature is not None else tuple(n for n in captured if n != "run_id")
    values = [mask(captured[n])[:120] if n != "test" else captured[n] for n in names if captured.get(n)]
    if tests and "test" not in names:
        values.insert(0, tests[0])
    return "|".join([rule.id, *values])
