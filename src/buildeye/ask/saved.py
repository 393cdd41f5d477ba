"""Saved queries asked by people: headers read, parameters filled in, run under the limits of the settings."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Final

from buildeye.ask.answer import Answer
from buildeye.ask.guard import Allowed, Limits
from buildeye.ask.parameters import converted, declared, is_time
from buildeye.ask.sources import SqlSource
from buildeye.config import Settings
from buildeye.model import UsageError
from buildeye.warehouse.store import saved_queries, saved_query

LAST: Final = timedelta(days=7)
"""How far back `since` is when it is not given."""
_NARROWING: Final = ("ending", "label", "module")
"""Parameters that ask for less, and for all when they are empty."""


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A file of `warehouse/queries`: who asks it and what, its header, its parameters with their types, and the SQL."""

    name: str
    asked_by: str
    header: str
    parameters: Mapping[str, str]
    sql: str


def saved(name: str) -> SavedQuery:
    """The saved query of that name. UsageError suggests the nearest."""
    known = saved_queries()
    if name not in known:
        near = get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise UsageError(f"there is no saved query {name[:60]}; {hint}build-eye query --list names all")
    text = saved_query(name)
    head = re.match(r"(?:--[^\n]*\n)*", text)
    header = "\n".join(line[2:].removeprefix(" ") for line in (head[0] if head else "").splitlines())
    asked = re.sub(r"\s+", " ", header.partition("Parameters:")[0]).removeprefix("Asked by ").strip()
    return SavedQuery(name, asked, header, declared(text), text)


def all_saved() -> tuple[SavedQuery, ...]:
    """All saved queries, by name."""
    return tuple(map(saved, saved_queries()))


def own_settings(statement: str) -> tuple[str, dict[str, int | str]]:
    """A saved query without the settings at its end, and those: once read-only, the engine lets none be set."""
    body, _, tail = statement.rstrip(" \n;").rpartition("\nSETTINGS ")
    if not body:
        return statement, {}
    pairs = [pair.partition(" = ") for pair in tail.split(", ")]
    return body, {name: int(value) for name, _, value in pairs}


def ask_saved(
    source: SqlSource, query: SavedQuery, given: Mapping[str, str], settings: Settings, now: datetime, limits: Limits
) -> Answer:
    """What a saved query answers. `given` are the texts of its parameters; see `filled` for those left out.

    UsageError: a parameter is missing, unknown, or none of its type; or the query goes over a limit.
    """
    parameters = converted(filled(query, given, settings), query.parameters, now, f"saved query {query.name}")
    sql, own = own_settings(query.sql)
    return source.run(Allowed(sql.strip().rstrip(";"), settings={**own, **limits.settings()}), parameters)


def filled(query: SavedQuery, given: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The parameters, with the usual values for those left out.

    Those are our repository and branch, since a week, until now, and nothing for what only narrows an answer.
    """
    usual = {
        "repository": settings.target_repository.full_name,
        "branch": settings.target_repository.branch,
        "base_branch": settings.target_repository.branch,
        **dict.fromkeys(_NARROWING, ""),
    }
    times = {"since": f"{LAST.days}d", "until": "now", "at": "now", "now": "now"}
    usual |= {name: text for name, text in times.items() if is_time(query.parameters.get(name, ""))}
    return {name: text for name, text in usual.items() if name in query.parameters} | dict(given)
