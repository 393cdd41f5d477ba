"""What is wrong with templates of advice, before they tell somebody something at night."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence

from buildeye.logs.filling import PLACE, names
from buildeye.model import CATEGORIES
from buildeye.triage.situation import PLACES
from buildeye.triage.templates import Template

_ID = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
_KNOWN = frozenset(category for categories in CATEGORIES.values() for category in categories)
OF_A_REASON = frozenset({"quote", "why"})
"""Placeholders that a reason fills."""


def lint_templates(templates: Sequence[Template], categories: Collection[str] = ()) -> list[str]:
    """Everything wrong with these templates, one line each; empty when they are good.

    `categories` are those that rules added to the known ones.
    """
    problems: list[str] = []
    seen: set[str] = set()
    for template in templates:
        if template.id in seen:
            problems.append(f"advice {template.id}: this id is taken twice")
        seen.add(template.id)
        problems += [f"advice {template.id}: {what}" for what in _problems(template, _KNOWN.union(categories))]
    return problems


def _problems(template: Template, categories: Collection[str]) -> Iterator[str]:
    if not _ID.fullmatch(template.id):
        yield "an id is written in lower case: letters, digits, hyphens, dots"
    if template.title.endswith("."):
        yield "a title ends without a full stop"
    if template.place == "step" and (template.steps or template.command):
        yield "what is told as a step is its title alone: leave 'steps' and 'command' out"
    if template.from_quote and not template.from_reason:
        yield "'from_quote' reads the quote of a reason: name it in 'from_reason'"
    for category in template.when.category:
        if category not in categories:
            yield f"category {category!r} is not known"
    yield from _places(template)
    yield from (what for command in template.command for what in _command(command))


def _places(template: Template) -> Iterator[str]:
    of_quote = frozenset(re.compile(template.from_quote).groupindex)
    known = PLACES | of_quote | (OF_A_REASON if template.from_reason else frozenset())
    texts = (template.title, *template.steps, *template.command)
    for name in sorted(names(*texts) - known):
        yield f"nothing fills {{{name}}}"
    for name in sorted({*template.when.has, *template.when.lacks} - known):
        yield f"'has' and 'lacks' name placeholders; {name!r} is none"
    for name in sorted(set(template.when.has) & set(template.when.lacks)):
        yield f"{name!r} cannot be both known and not"
    for name in sorted(set(template.when.lacks) & names(template.title)):
        yield f"the title needs {{{name}}}, which 'lacks' says is not known"
    for text in (template.title, *(re.sub("`[^`]*`", "", step) for step in template.steps)):
        if re.search(r"[{}]", PLACE.sub("", text)):
            yield f"a brace that is no placeholder: {text}"


def _command(command: str) -> Iterator[str]:
    try:
        shlex.split(PLACE.sub("x", command))
    except ValueError:
        yield f"a quote is left open: {command}"
