"""Text that must stand in a line for a pattern to match it: what a fast search for plain words can ask first.

A pattern is taken apart as `re` parses it. A run of plain characters is required; of an alternation one of each
branch's is; what may be left out requires nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from re import _constants as kinds  # type: ignore[attr-defined]  # the parser of `re` has no public name
from re import _parser as parser  # type: ignore[attr-defined]  # the parser of `re` has no public name
from typing import Any

USEFUL = 4
"""Worth (see `_size`) that a text needs to be looked for at all."""
RARE = 6
"""Worth that a text needs to be looked for in the whole of a log."""
LONGEST_WORD = 12
"""Letters of a word in lower case that is held for common."""
MOST = 24
"""Alternatives that one pattern may ask for; with more, the search would find too much."""
FEW = 3
"""Characters of a class that are followed one by one."""

COMMON = frozenset((
    " line ", "before", ".lang.", " to be ", " failure", "[warning] ", "javadoc", "regression",
    "artifact", "-->", "--> ", "--check", "style ", "couldn't", " test ", " tests ", " cancelled", "credentials ",
    "http://", "https://", "checking ", "building ", ": note: ", "note: ", ": warning: ", "without ", "cannot ",
    "failed to ", "info: ", "debug: ", "running ", "starting ", "finished ", "compiling ", "downloading ",
    "installing ", "using ", " error", "error ", "error:", "error: ", "errors", "errors ", "failures",
    ", failures: ", "tests run: ", "exception", " version", "version ", "compile", "argument", " with ", "warning",
    "warning: ", " warning", " warnings", "success", "timeout", "docker", "module ", "expected", "expected ",
    "option", "unknown", "unknown ", "invalid", "invalid ", "container", "package ", "checked", "failed",
    " failed", "failed ", "missing", "missing ", "format", "function ", "process", " process ", "received",
    "received ", "channel", "cancel", "memory", " memory", "message", "unsupported", "found ", " found",
    "remote: ", "release", "install", "download", "connection", "config", "request", "default",
    "generated ", "reference ", "argument ", "assert ", ": expected", ".rs:", ".py:", ".ts:", ".js:", ".go:",
    "http/", " items", " changed", "status: ", "waiting for ", "headless", "Error", "Error:", "Error: ", "ERROR",
    "ERROR ", "ERROR:", "ERROR: ", "Exception: ", "Failed", "Failed ", "Found ", "Received ", "Expected ", "Invalid ",
    "Unknown ", "Cannot ", "Status: ", "Warning: ", "WARNING:", "WARNING: ", "[WARNING] ", "[WARN] ", "TOKEN",
    "error=", "WARNING ", "failed with", "clippy::", "exit status", " compiler", "not found", "mismatch",
    "differ", "Couldn't", " WARNING", "...", "Checking ", "after ",
))  # fmt: skip
"""Texts that stand in so many lines of healthy logs that no whole log is asked for them."""

_Texts = frozenset[str]
_NOTHING: _Texts = frozenset({""})


@dataclass(frozen=True, slots=True)
class Required:
    """Texts of which every line that a pattern matches holds at least one; in lower case when `caseless`.

    `rare` says that lines with one of them are few in a healthy log.
    """

    texts: frozenset[str]
    caseless: bool
    rare: bool


def required(pattern: str) -> Required | None:
    """The texts that a pattern asks for; None when no useful ones can be named."""
    tree = parser.parse(pattern)
    caseless = _ignores_case(tree, tree.state.flags)
    found = _of_sequence(tree)
    if found and caseless:
        found = frozenset(text.lower() for text in found) if all(text.isascii() for text in found) else None
    if not found or min(map(_size, found)) < USEFUL:
        return None
    return Required(found, caseless, _is_rare(found))


def _ignores_case(items: Iterable[tuple[Any, Any]], flags: int = 0) -> bool:
    """Does any part of a pattern ignore case?"""
    if flags & re.IGNORECASE:
        return True
    return any(_ignores_case(part, added) for kind, value in items for part, added in _inside(kind, value))


def _inside(kind: Any, value: Any) -> list[tuple[Iterable[tuple[Any, Any]], int]]:
    """The parts of a part, each with the flags that are set in it."""
    if kind is kinds.SUBPATTERN:
        return [(value[-1], value[1])]
    if kind is kinds.BRANCH:
        return [(branch, 0) for branch in value[1]]
    return [(value[2], 0)] if kind in _REPEATS else []


_REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT)


def _of_sequence(items: Iterable[tuple[Any, Any]]) -> _Texts | None:
    """The best of what the parts of a sequence require; plain parts that follow each other make one text."""
    best: _Texts | None = None
    run = _NOTHING
    for kind, value in _flat(items):
        plain = _plain(kind, value)
        if plain and len(run) * len(plain) <= MOST:
            run = frozenset(one + more for one in run for more in plain)
            continue
        if again := _repeated(kind, value):
            best, run = _better(best, frozenset(one + again for one in run)), frozenset({again})
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
    """All that can stand here when that is little and plain text; None when it is not."""
    if kind is kinds.LITERAL:
        return frozenset({chr(value)})
    if kind is kinds.IN and all(k is kinds.LITERAL for k, _ in value):
        return frozenset(chr(v) for _, v in value) if len(value) <= FEW else None
    if kind is kinds.BRANCH:
        return _joined([_plain_sequence(branch) for branch in value[1]])
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT) and value[:2] == (0, 1):
        return _joined([_NOTHING, _plain_sequence(value[2])])
    return None


def _repeated(kind: Any, value: Any) -> str:
    """The text of a character that must stand here several times and may stand more often."""
    if kind in _REPEATS and value[0] > 0 and len(value[2]) == 1 and value[2][0][0] is kinds.LITERAL:
        return chr(value[2][0][1]) * min(int(value[0]), 8)
    return ""


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
    if kind in _REPEATS:
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


def may_take_for_ever(pattern: str) -> bool:
    """Does a pattern repeat, without a limit, something that is itself repeated without one and may be all there is?

    Of `(a+)+` a line can be matched in so many ways that `re` tries for ever where there is no match.
    """
    return _repeats_itself(parser.parse(pattern))


def _repeats_itself(items: Iterable[tuple[Any, Any]]) -> bool:
    for kind, value in items:
        if kind in _REPEATS and value[1] is kinds.MAXREPEAT:
            inner = list(_flat(value[2]))
            endless = [part for part in inner if part[0] in _REPEATS and part[1][1] is kinds.MAXREPEAT]
            needed = [part for part in inner if part[0] not in _REPEATS or part[1][0] > 0]
            if endless and all(part in endless for part in needed):
                return True
        if any(_repeats_itself(part) for part, _ in _inside(kind, value)):
            return True
    return False


def _better(one: _Texts | None, other: _Texts | None) -> _Texts | None:
    return max((x for x in (one, other) if x and "" not in x), key=_worth, default=None)


def _size(text: str) -> int:
    """How rare a text is: a capital letter or a sign such as `=` is rarer than a small letter and counts twice, a
    character beyond ASCII six times."""
    return sum(_SIGN if not c.isascii() else 1 if c.islower() or c.isdigit() or c in " \t" else 2 for c in text)


_SIGN = 6


def _is_rare(texts: _Texts) -> bool:
    return min(map(_size, texts)) >= RARE and not texts & COMMON and not any(map(_is_word, texts))


def _is_word(text: str) -> bool:
    """Is a text one word of every day, which any log may be full of?"""
    return len(text) <= LONGEST_WORD and text.isalpha() and text.islower()


def _worth(texts: _Texts) -> tuple[bool, int, int, int]:
    """What is not common is best; longer is rarer; with enough length for that, fewer is cheaper."""
    shortest = min(map(_size, texts))
    return _is_rare(texts), min(shortest, 10), -len(texts), shortest
