"""Failure rules: how a pack is written, read, and checked.

A pack is a TOML file of `[[rule]]` tables. A rule's patterns are matched on cleaned lines (no timestamps, colour,
runner prefixes); `^` means the start of what the tool printed, also right after `##[error]`. Patterns keep to the
subset that both a linear-time matcher and `re` read the same way: no look-around, no back-references. See
docs/rules.md for how to write one.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from buildeye.model import Cause, Cost, Determinism, Suggestion, UsageError, home_cause


class Tier(StrEnum):
    """How near a line is to the root of a failure."""

    CAUSE = "cause"
    SYMPTOM = "symptom"
    WRAPPER = "wrapper"
    CATCH_ALL = "catch-all"


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of failure and the lines that show it.

    A line is a hit when one of `any` matches it; the hit counts only where each of `all` matches some line of the log
    and none of `absent` does. With `start` a hit counts only between a line that one of `start` matches and the next
    that one of `until` matches. Named groups, of `start` too, are captures: `file` and `test` feed those lists of the
    diagnosis, and the groups in `signature` (default: all) make equal failures group together. `confidence` is the
    prior probability that `cause` is right when this rule decides. `weight` lifts or lowers a rule among its tier.
    """

    id: str
    title: str
    category: str
    cause: Cause
    any: tuple[str, ...]
    all: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    tier: Tier = Tier.CAUSE
    select: Literal["first", "last"] = "first"
    retryable: bool | None = None
    determinism: Determinism = Determinism.UNKNOWN
    confidence: float = 0.8
    weight: int = 0
    step: str = ""
    signature: tuple[str, ...] | None = None
    explanation: str = ""
    links: tuple[str, ...] = ()
    advice: tuple[Suggestion, ...] = ()
    must_match: tuple[str, ...] = field(default=(), compare=False)
    must_not_match: tuple[str, ...] = field(default=(), compare=False)


IMPORTED = "imported"
"""First part of the ids of rules that came from another tool's form: they have no examples."""

_TEXT = {"id", "title", "category", "cause", "tier", "select", "determinism", "step", "explanation"}
_LISTS = {"any", "all", "absent", "start", "until", "signature", "links", "must_match", "must_not_match"}
_KEYS = _TEXT | _LISTS | {"retryable", "confidence", "weight", "advice"}


def load_pack(path: Path) -> list[Rule]:
    """Read one pack; raises UsageError that names the file, the rule and the key that is wrong.

    A pack may hold `[[advice]]` as well, or nothing else (docs/advice.md): that is left to who gives advice.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        what = e.strerror if isinstance(e, OSError) else e
        raise UsageError(
            f"{path}: this rule pack cannot be read ({what}); see docs/rules.md for how one is written"
        ) from e
    if "rule" not in data and data.get("advice"):
        return []
    tables = data.get("rule", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) for t in tables):
        raise UsageError(f"{path}: no [[rule]] in this pack; see docs/rules.md")
    if all({"pattern"} <= set(table) <= {"name", "pattern"} for table in tables):
        from buildeye.logs.pytorch_rules import load_tables

        return load_tables(path, tables)
    return [_rule(path, table) for table in tables]


def load_packs(paths: Iterable[Path]) -> list[Rule]:
    """Read packs in order into one list."""
    return [rule for path in paths for rule in load_pack(path)]


def _rule(path: Path, table: dict[str, Any]) -> Rule:
    name = table.get("id", "?")

    def wrong(what: str) -> UsageError:
        return UsageError(f"{path}: rule {name}: {what}")

    if unknown := sorted(set(table) - _KEYS):
        raise wrong(f"unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}")
    for key in ("id", "title", "category", "any"):
        if not table.get(key):
            raise wrong(f"{key!r} is missing")
    for key in _LISTS & set(table):
        if not isinstance(table[key], list) or not all(isinstance(x, str) for x in table[key]):
            raise wrong(f"{key!r} must be a list of strings")
    values: dict[str, Any] = {k: tuple(v) if k in _LISTS else v for k, v in table.items() if k != "advice"}
    try:
        cause = Cause(table["cause"]) if "cause" in table else home_cause(table["category"])
        if cause is None:
            raise wrong(f"category {table['category']!r} is new, so the rule must state its 'cause'")
        values |= {"cause": cause, "tier": Tier(table.get("tier", "cause"))}
        values["determinism"] = Determinism(table.get("determinism", "unknown"))
        values["advice"] = tuple(_suggestion(a) for a in table.get("advice", []))
    except (ValueError, TypeError, KeyError) as e:
        raise wrong(f"{e}") from e
    if values.get("until") and not values.get("start"):
        raise wrong("'until' ends what a 'start' began: name one")
    if values.get("select", "first") not in ("first", "last"):
        raise wrong("'select' must be first or last")
    return Rule(**values)


def _suggestion(table: dict[str, Any]) -> Suggestion:
    extra = set(table) - {"title", "cost", "steps", "command"}
    if extra:
        raise ValueError(f"advice has an unknown key {sorted(extra)[0]!r}")
    return Suggestion(
        title=table["title"],
        cost=Cost(table.get("cost", "low")),
        steps=tuple(table.get("steps", ())),
        command=table.get("command", ""),
    )
