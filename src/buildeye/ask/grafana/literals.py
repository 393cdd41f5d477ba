"""SQL for a place that binds no parameters: their values are written into the statement, as literals.

The statement is one that the guard has put together, so its tokens can be read again without doubt. `{name:Type}`
becomes `CAST('text', 'Type')`, which is how ClickHouse itself reads a parameter. Nothing but the inside of quotes
depends on a value. Grafana expands what looks like its macros, also within quotes, so a `$` is written as an escape.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from buildeye.ask.guard.lexing import Kind, Token, read_tokens
from buildeye.ask.guard.lexing import written as text_of
from buildeye.model import UsageError

_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\0": "\\0", "$": "\\x24", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_DOLLAR: Final = re.compile(r"\\.|\$", re.DOTALL)


def inlined(statement: str, parameters: Mapping[str, Any] | None = None) -> str:
    """The statement with the values of its parameters in it.

    UsageError: a value is missing, one is not asked for, or one cannot be written as text.
    """
    tokens, given = read_tokens(statement), dict(parameters or {})
    wanted = {token.name for token in tokens if token.kind is Kind.PARAMETER}
    if wanted != given.keys():
        raise UsageError(
            f"the query takes the parameters {_names(wanted)}; missing: {_names(wanted - given.keys())}, "
            f"unknown: {_names(given.keys() - wanted)}"
        )
    return text_of([_written(token, given) for token in tokens])


def literal(text: str) -> str:
    """A text as ClickHouse reads it back, whatever stands in it."""
    return "'" + "".join(_ESCAPES.get(character, character) for character in text) + "'"


def _written(token: Token, given: Mapping[str, Any]) -> Token:
    match token.kind:
        case Kind.PARAMETER:
            type_ = token.text[1:-1].partition(":")[2].strip()
            # blanks on both sides: two literals in a row would be read as one with a quote in it
            return Token(Kind.WORD, _value(token.name, type_, given[token.name]) + " ", "", token.before or " ")
        case Kind.STRING if "$" in token.text:
            return Token(Kind.STRING, _DOLLAR.sub(_without_dollar, token.text), "", token.before)
        case Kind.QUOTED_NAME if "$" in token.name:
            raise UsageError(
                f"the name `{token.name}` has a $, which Grafana would take for a macro; rename the column"
            )
        case _:
            return token


def _without_dollar(found: "re.Match[str]") -> str:
    if found[0] == "$":
        return "\\x24"
    return "\\\\\\x24" if found[0] == "\\$" else found[0]


def _value(name: str, type_: str, value: Any) -> str:
    if value is None:
        return f"CAST(NULL, {literal(type_)})"
    if type_ == "String":
        return literal(_text(name, value))
    return f"CAST({literal(_text(name, value))}, {literal(type_)})"


def _text(name: str, value: Any) -> str:
    """A value as ClickHouse's text, the form its parameters have."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case datetime():
            if value.tzinfo is None:
                raise UsageError(f"parameter {name}: time {value.isoformat()} has no zone: give aware times")
            return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
        case date():
            return value.isoformat()
        case Sequence():
            return "[" + ",".join(_element(name, each) for each in value) + "]"
        case _:
            raise UsageError(f"parameter {name} is a {type(value).__name__}; give a text, a number, a time or a list")


def _element(name: str, value: Any) -> str:
    if value is None:
        return "NULL"
    text = _text(name, value)
    if isinstance(value, str | date):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text


def _names(names: "set[str] | frozenset[str]") -> str:
    return ", ".join(sorted(names)) or "none"
