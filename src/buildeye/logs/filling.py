"""Placeholders in braces: sentences and commands filled with values that come from logs, names and branches.

A value is never trusted. In a sentence it loses control characters and is cut; in a command it is one word of the
shell and nothing else, whatever quotes the placeholder stands in.
"""

import re
import shlex
import unicodedata
from collections.abc import Mapping

from buildeye.logs.secrets import strip_controls

PLACE = re.compile(r"\{(\w+)\}")
"""A placeholder; its group is the name."""
LONGEST_WORD = 300
"""Characters of a value that a command takes; a longer one is no name that a person would type."""
LONGEST_TEXT = 160
"""Characters of a value that a sentence shows."""
_CODE = re.compile(r"(`[^`]*`)")
_SAFE = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def names(*texts: str) -> frozenset[str]:
    """The names of all placeholders in these texts."""
    return frozenset(name for text in texts for name in PLACE.findall(text))


def fill_text(text: str, values: Mapping[str, str]) -> str | None:
    """A sentence with its placeholders filled; what stands between backticks is filled as a command.

    None when a value is missing.
    """
    parts = [
        fill_command(part, values) if part.startswith("`") else _in_words(part, values) for part in _CODE.split(text)
    ]
    known = [part for part in parts if part is not None]
    return "".join(known) if len(known) == len(parts) else None


def _in_words(text: str, values: Mapping[str, str]) -> str | None:
    if not all(values.get(name) for name in names(text)):
        return None
    return PLACE.sub(lambda m: shown(values[m.group(1)]), text)


def shown(value: str) -> str:
    """A value as a sentence shows it: on one line, without control characters, cut to `LONGEST_TEXT`."""
    told = " ".join(strip_controls(" ".join(value.split())).split())
    return told if len(told) <= LONGEST_TEXT else told[: LONGEST_TEXT - 1] + "…"


def fill_command(command: str, values: Mapping[str, str]) -> str | None:
    """A command with its placeholders filled, every value quoted for the quotes that it stands in.

    None when a value is missing or unfit for a command: it is long, looks like an option, or holds what a terminal does
    not show.
    """
    out: list[str] = []
    quote, at = "", 0
    for place in PLACE.finditer(command):
        between = command[at : place.start()]
        quote = _open_quote(between, quote)
        value = values.get(place.group(1), "")
        if not fits(value):
            return None
        out += [between, _quoted(value, quote)]
        at = place.end()
    return "".join([*out, command[at:]])


def fits(value: str) -> bool:
    """May a command hold this value?"""
    return (
        0 < len(value) <= LONGEST_WORD
        and not value.startswith("-")
        and not any(unicodedata.category(c) in _UNSEEN for c in value)
    )


def _open_quote(text: str, quote: str) -> str:
    """The quote that is open behind `text`, when `quote` was open before it; empty for none."""
    escaped = False
    for c in text:
        if escaped:
            escaped = False
        elif c == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
    return quote


def _quoted(value: str, quote: str) -> str:
    if not quote:
        return shlex.quote(value)
    plain = "'" not in value if quote == "'" else _SAFE.fullmatch(value)
    return value if plain else f"{quote}{shlex.quote(value)}{quote}"
