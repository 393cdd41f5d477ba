"""Text that must stand in a line for a pattern to match it: what a fast search for plain words can ask first.

A pattern is taken apart as `re` parses it. A run of plain characters is required; of an alternation one of each
branch's is; what may be left out requires nothing. Case is ignored, so that `[Ee]rror` counts as plain text too.
"""

from collections.abc import Iterable, Sequence
from re import _constants as kinds  # type: ignore[attr-defined]  # the parser of `re` has no public name
from re import _parser as parser  # type: ignore[attr-defined]  # the parser of `re` has no public name
from typing import Any

SHORTEST = 6
"""Characters that a required text needs to be worth a search."""
MOST = 16
"""Alternatives that one pattern may ask for; with more, the search would find too much."""
FEW = 3
"""Characters of a class that are followed one by one."""

COMMON = frozenset((
    " line ", "before", ".lang.", " to be ", " failure", "[warning] ", "javadoc", "regression",
    "artifact", "-->", "--check", "style ", "couldn't", " test ", " tests ", " cancelled", "credentials ",
    "http://", "https://", "checking ", "building ", ": note: ", "note: ", ": warning: ", "without ", "cannot ",
    "failed to ", "info: ", "debug: ", "running ", "starting ", "finished ", "compiling ", "downloading ",
    "installing ", "using ", " error", "error ", "error:", "error: ", "errors", "errors ", "failures",
    ", failures: ", "tests run: ", "exception", " version", "version ", "compile", "argument", " with ", "warning",
    "warning: ", " warning", " warnings", "success", "timeout", "docker", "module ", "expected", "expected ",
    "option", "unknown", "unknown ", "invalid", "invalid ", "container", "package ", "checked", "failed",
    " failed", "failed ", "missing", "missing ", "format", "function ", "process", " process ", "received",
    "received ", "channel", "cancel", "memory", " memory", "message", "unsupported", "found ", " found",
    "remote: ", "release", "install", "download", "connection", "config", "request", "default",
))  # fmt: skip
"""Texts that stand in so many lines of healthy logs that asking for them is no use."""

_Texts = frozenset[str]
_NOTHING: _Texts = frozenset({""})


def required(pattern: str) -> _Texts | None:
    """Lower-case texts of which every matching line holds at least one; None when no useful ones can be named."""
    found = _of_sequence(parser.parse(pattern))
    return found if found and min(map(_size, found)) >= SHORTEST and not found & COMMON else None


def _of_sequence(items: Iterable[tuple[Any, Any]]) -> _Texts | None:
    """The best of what the parts of a sequence require; plain parts that follow each other make one text."""
    best: _Texts | None = None
    run = _NOTHING
    for kind, value in _flat(items):
        plain = _plain(kind, value)
        if plain and len(run) * len(plain) <= MOST:
            run = frozenset(one + more for one in run for more in plain)
            continue
        best, run = _better(best, run), _NOTHING
        if plain:
            run = plain
        else:
            best = _better(best, _of_part(kind, value))
    return _better(best, run)


def _flat(items: Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    """Groups that only hold a sequence, opened, so that plain text goes on through them."""
    for kind, value in items:
        if kind is kinds.SUBPATTERN:
            yield from _flat(value[-1])
        else:
            yield kind, value


def _plain(kind: Any, value: Any) -> _Texts | None:
    """All that can stand here when that is little and plain text, whatever the case; None when it is not."""
    if kind is kinds.LITERAL:
        return frozenset({chr(value).lower()}) if value < 128 else None
    if kind is kinds.IN and all(k is kinds.LITERAL and v < 128 for k, v in value):
        chars = frozenset(chr(v).lower() for _, v in value)
        return chars if len(chars) <= FEW else None
    if kind is kinds.BRANCH:
        return _joined([_plain_sequence(branch) for branch in value[1]])
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT) and value[:2] == (0, 1):
        return _joined([_NOTHING, _plain_sequence(value[2])])
    return None


def _plain_sequence(items: Iterable[tuple[Any, Any]]) -> _Texts | None:
    run = _NOTHING
    for kind, value in _flat(items):
        plain = _plain(kind, value)
        if not plain or len(run) * len(plain) > MOST:
            return None
        run = frozenset(one + more for one in run for more in plain)
    return run


def _joined(parts: Sequence[_Texts | None]) -> _Texts | None:
    together: set[str] = set()
    for part in parts:
        if part is None:
            return None
        together |= part
    return frozenset(together) if len(together) <= MOST else None


def _of_part(kind: Any, value: Any) -> _Texts | None:
    if kind is kinds.BRANCH:
        return _of_branches(value[1])
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        least, _, body = value
        return _of_sequence(body) if least > 0 else None
    return None


def _of_branches(branches: Sequence[Iterable[tuple[Any, Any]]]) -> _Texts | None:
    together: set[str] = set()
    for branch in branches:
        found = _of_sequence(branch)
        if not found:
            return None
        together |= found
    return frozenset(together) if len(together) <= MOST else None


def _better(one: _Texts | None, other: _Texts | None) -> _Texts | None:
    return max((x for x in (one, other) if x and "" not in x), key=_worth, default=None)


def _size(text: str) -> int:
    """How rare a text is, in characters: a sign such as `=` or `[` is rarer than a letter and counts twice."""
    return len(text) + sum(not c.isalnum() and not c.isspace() for c in text)


def _worth(texts: _Texts) -> tuple[bool, int, int, int]:
    """What is not common is best; longer is rarer; with enough length for that, fewer is cheaper."""
    shortest = min(map(_size, texts))
    return not texts & COMMON, min(shortest, 8), -len(texts), shortest
