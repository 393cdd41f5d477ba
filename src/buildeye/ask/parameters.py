"""Parameters of a query, `{since:DateTime}`, from the texts that people type. Pure.

A text becomes what its declared type says, so that a wrong one is told before anything is asked.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from buildeye.model import UsageError
from buildeye.model.times import moment

_PIECE: Final = re.compile(
    r"""'(?:[^'\\]|\\.|'')*' | `(?:[^`\\]|\\.)*` | "(?:[^"\\]|\\.)*" | --[^\n]* | /\*.*?\*/
    | \{\s*(?P<name>\w+)\s*:\s*(?P<type>[^{}]+?)\s*\}""",
    re.DOTALL | re.VERBOSE,
)
_WRAPPED: Final = re.compile(r"(?:LowCardinality|Nullable)\((.*)\)", re.DOTALL)
_LIST: Final = re.compile(r"Array\((.*)\)", re.DOTALL)
_WHOLE: Final = re.compile(r"(U?)Int(8|16|32|64|128|256)")
_SHOWN: Final = 60


def declared(sql: str) -> dict[str, str]:
    """The parameters of a query with their types, in the order of their first use."""
    found: dict[str, str] = {}
    for piece in _PIECE.finditer(sql):
        if piece["name"] is not None:
            found.setdefault(piece["name"], piece["type"])
    return found


def named(pairs: Sequence[str]) -> dict[str, str]:
    """`name=value` texts by name. UsageError: one has no `=`, or a name stands twice."""
    given: dict[str, str] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name.strip():
            raise UsageError(f'--param is "{pair[:_SHOWN]}"; write NAME=VALUE, such as --param branch=main')
        if name.strip() in given:
            raise UsageError(f"--param {name.strip()} is given twice; leave one of them out")
        given[name.strip()] = value
    return given


def converted(
    given: Mapping[str, str], wanted: Mapping[str, str], now: datetime, of: str = "the query"
) -> dict[str, Any]:
    """The values of the parameters that `of` wants; times may be `7d`, before `now`.

    UsageError: one is missing, one is unknown, or a text is none of its type.
    """
    if unknown := sorted(set(given) - set(wanted)):
        takes = ", ".join(f"{name} ({kind})" for name, kind in wanted.items()) or "none"
        raise UsageError(f"{of} has no parameter {', '.join(unknown)}; it takes {takes}")
    if missing := [f"{name} ({kind})" for name, kind in wanted.items() if name not in given]:
        raise UsageError(f"{of} also takes {', '.join(missing)}; give it with --param NAME=VALUE")
    return {name: _value(name, kind, given[name], now) for name, kind in wanted.items()}


def is_time(kind: str) -> bool:
    """Whether values of a declared type are moments."""
    return _bare(kind).startswith("DateTime")


def _value(name: str, kind: str, text: str, now: datetime) -> Any:
    bare = _bare(kind)
    if inner := _LIST.fullmatch(bare):
        return [_value(name, inner[1], each, now) for each in _items(name, kind, text)]
    if bare.startswith("DateTime"):
        return moment(f"--param {name}", text, now)
    if bare in ("Date", "Date32"):
        return moment(f"--param {name}", text, now).date()
    if whole := _WHOLE.fullmatch(bare):
        return _number(name, kind, text, signed=not whole[1], bits=int(whole[2]))
    if bare.startswith("Float"):
        try:
            return float(text)
        except ValueError:
            raise _wrong(name, kind, text, "a number") from None
    if bare == "Bool":
        if text.lower() not in ("true", "false", "1", "0"):
            raise _wrong(name, kind, text, "true or false")
        return text.lower() in ("true", "1")
    return text


def _number(name: str, kind: str, text: str, *, signed: bool, bits: int) -> int:
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    try:
        number = int(text)
    except ValueError:
        raise _wrong(name, kind, text, "a whole number") from None
    if not least <= number <= most:
        raise _wrong(name, kind, text, f"a whole number from {least} to {most}")
    return number


def _items(name: str, kind: str, text: str) -> list[str]:
    """The entries of a list: JSON's, or texts with commas between."""
    if not text.strip().startswith("["):
        return [each.strip() for each in text.split(",") if each.strip()]
    try:
        found = json.loads(text)
    except ValueError:
        raise _wrong(name, kind, text, 'a list such as a,b or ["a", "b"]') from None
    return [each if isinstance(each, str) else json.dumps(each) for each in found]


def _bare(kind: str) -> str:
    """A type without what only says how it is kept."""
    while found := _WRAPPED.fullmatch(kind.strip()):
        kind = found[1]
    return kind.strip()


def _wrong(name: str, kind: str, text: str, want: str) -> UsageError:
    return UsageError(f'--param {name} is "{text[:_SHOWN]}"; it is {kind}: give {want}')
