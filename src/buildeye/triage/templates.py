"""Advice as data: `[[advice]]` tables that say when they apply, and are filled from what is known of a failure.

Those that come with Build-Eye lie in `knowledge/advice/`; a user's in `advice/*.toml` of a folder of
`storage.knowledge_dirs`, or beside the rules in a pack of it. See docs/advice.md for how one is written.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from buildeye import knowledge
from buildeye.logs.literals import may_take_for_ever
from buildeye.model import Cause, Cost, Determinism, Level, UsageError
from buildeye.triage.situation import Retry

_STRICT = ConfigDict(extra="forbid")
Text = Annotated[str, Field(min_length=1)]
Texts = tuple[Text, ...]


@dataclass(frozen=True, slots=True, config=_STRICT)
class When:
    """What must hold for a template to apply; what is not named does not matter.

    Of a list one must fit. `job`, `test`, `file`, `runner` and `workflow` are globs, `rule` ids of rules or names of
    packs, `has` and `lacks` names of placeholders. `advised`: the rule that decided brought advice of its own.
    `hosted`: the runner is one of GitHub's. `leading`: the job is the one that speaks for its run.
    """

    cause: tuple[Cause, ...] = ()
    category: Texts = ()
    determinism: tuple[Determinism, ...] = ()
    level: tuple[Level, ...] = ()
    retry: tuple[Retry, ...] = ()
    event: Texts = ()
    rule: Texts = ()
    job: Texts = ()
    test: Texts = ()
    file: Texts = ()
    runner: Texts = ()
    workflow: Texts = ()
    has: Texts = ()
    lacks: Texts = ()
    on_base: bool | None = None
    advised: bool | None = None
    hosted: bool | None = None
    leading: bool | None = None
    min_attempt: Annotated[int, Field(ge=1)] = 1


@dataclass(frozen=True, slots=True, config=_STRICT)
class Template:
    """One piece of advice with its placeholders.

    `command` holds alternatives: the first that can be filled is taken. `from_reason` names reasons of the verdict, one
    of which must be there; it fills {quote} and {why}, and the groups of the pattern `from_quote` fill more. Of one
    `group` only the first that applies is told. `order` ranks among equal costs: the advice of rules stands at 30. With
    `lead` it comes before cheaper advice; `place` "step" makes it the last step of what is told first. A `fallback` is
    told only when there is nothing else to say than to re-run.
    """

    id: Text
    title: Text
    cost: Cost
    steps: Texts = ()
    command: Texts = ()
    when: When = field(default_factory=When)
    from_reason: Texts = ()
    from_quote: str = ""
    group: str = ""
    order: int = 50
    lead: bool = False
    fallback: bool = False
    place: Literal["suggestion", "step"] = "suggestion"


_ADAPTER: TypeAdapter[Template] = TypeAdapter(Template)
_ALTERNATIVES = ("command", "from_reason")
_LISTS = frozenset(name for name, kind in When.__annotations__.items() if str(kind).startswith(("tuple", "buildeye")))
_PAGE = "see docs/advice.md"


def load_templates(folders: Iterable[Path] = ()) -> tuple[Template, ...]:
    """The user's templates in the order of the folders, then ours; one with the id of an earlier one is left out.

    Raises UsageError that names file, entry and field.
    """
    own = [template for folder in folders for path in _files_in(folder) for template in load_file(path)]
    first: dict[str, Template] = {}
    for template in (*own, *packaged_templates()):
        first.setdefault(template.id, template)
    return tuple(first.values())


@cache
def packaged_templates() -> tuple[Template, ...]:
    """The templates that come with Build-Eye."""
    return tuple(template for path in knowledge.advice_files() for template in load_file(path))


def _files_in(folder: Path) -> list[Path]:
    """Files of advice of a user's folder, and packs that may hold some besides their rules."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of advice; give a folder that holds *.toml packs or advice/*.toml")
    return [*sorted((folder / "advice").glob("*.toml")), *sorted(folder.glob("*.toml"))]


def load_file(path: Path) -> list[Template]:
    """The templates of one file, in order; none for a pack that holds rules only."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        what = e.strerror if isinstance(e, OSError) else e
        raise UsageError(f"{path}: this file of advice cannot be read ({what}); {_PAGE}") from e
    tables = data.get("advice", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{path}: 'advice' is not a list of [[advice]] tables; {_PAGE}")
    if not tables and "rule" not in data:
        raise UsageError(f"{path}: no [[advice]] in this file; {_PAGE}")
    return [_template(path, number, table) for number, table in enumerate(tables, 1)]


def _template(path: Path, number: int, table: dict[str, Any]) -> Template:
    name = table.get("id") or f"number {number}"
    try:
        template = _ADAPTER.validate_python(_with_lists(table))
    except ValidationError as e:
        raise UsageError(f"{path}: advice {name}: {_said(e)}; {_PAGE}") from e
    if problem := pattern_problem(template.from_quote):
        raise UsageError(f"{path}: advice {name}: field 'from_quote' {problem}; {_PAGE}")
    return template


def _with_lists(table: dict[str, Any]) -> dict[str, Any]:
    """A table in which a single text may stand where a list is meant."""
    row = {key: [value] if key in _ALTERNATIVES and isinstance(value, str) else value for key, value in table.items()}
    if isinstance(when := row.get("when"), dict):
        row["when"] = {k: [v] if k in _LISTS and isinstance(v, str) else v for k, v in when.items()}
    return row


def _said(error: ValidationError) -> str:
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"])
    match problem["type"]:
        case "missing":
            return f"field {where!r} is missing"
        case "unexpected_keyword_argument" | "extra_forbidden":
            known = When if where.startswith("when.") else Template
            return f"field {where!r} is not known; known: {', '.join(sorted(known.__annotations__))}"
        case _:
            what = problem["msg"]
            return f"field {where!r} is wrong ({what[:1].lower()}{what[1:]})"


def pattern_problem(pattern: str) -> str | None:
    """What makes a pattern for quotes unfit; None when nothing does."""
    try:
        slow = bool(pattern) and (re.compile(pattern), may_take_for_ever(pattern))[1]
    except re.error as e:
        return f"is not a regular expression ({e})"
    return "repeats a repeat, which can take for ever" if slow else None
