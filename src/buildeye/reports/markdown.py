"""Text that others wrote, made safe to stand in a Markdown report.

Log lines, test names, rule captures and titles are data. In prose they cannot start a heading, a list, HTML, a mention
or a link; in a code span or a fence they cannot end it. Everything else of `reports` goes through these functions.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

import yaml

_PIECES = (
    r"`(?P<code>[^`]+)`"
    r"|(?P<touchy>[^\s`]*(?:@|://|www\.{more})[^\s`]*)"
    r"|(?P<text>[^`\s]+|\s+|`)"
)
_PIECE = re.compile(_PIECES.replace("{more}", ""), re.IGNORECASE)
_PIECE_OR_REFERENCE = re.compile(_PIECES.replace("{more}", r"|#\d|GH-\d"), re.IGNORECASE)
_ALWAYS = re.compile(r"([\\`*\[\]<|~$])|(?<![^\W_])(_)|(_)(?![^\W_])|(&)(?=#?\w+;)")
_LEADING = re.compile(r"^(?:([-+=#>])|(\d+)([.)]))")
_URL = re.compile(r"https?://[A-Za-z0-9][^\s<>()\[\]\"'\\`|\x00-\x20]*")


def plain(text: str, limit: int = 300) -> str:
    """One line of visible characters, at most `limit` of them: spaces collapsed, control and invisible ones dropped."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def visible(text: str) -> str:
    """The text with every control, invisible, direction-changing or unpaired character turned into a space."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Zs" else " " for c in text)


def code(text: str, limit: int = 300) -> str:
    """A code span holding the text; empty for empty text."""
    line = plain(text, limit)
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: str, limit: int = 600, *, references: bool = True) -> str:
    """The text as words: Markdown in it is shown, not obeyed. `code` stays code; addresses and mentions become code.

    Without `references`, so do numbers that GitHub would take for an issue: `#7`, `GH-7`.
    """
    out: list[str] = []
    for match in (_PIECE if references else _PIECE_OR_REFERENCE).finditer(plain(text, limit)):
        inner = match["code"] or match["touchy"]
        if inner and inner.strip():
            # Two spans side by side would merge into one run of backticks.
            out.append((" " if out and out[-1].endswith("`") else "") + code(inner))
        else:
            out.append(_escape(match[0]))
    return _LEADING.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", "".join(out))


def cell(markdown: str) -> str:
    """Markdown for a table cell: a bar would end it, even in a code span, and readers differ on how to escape it."""
    return re.sub(r"\\?\|", "¦", markdown)


def link(markdown: str, url: str) -> str:
    """A link when the address is a plain web address, else the bare text."""
    return f"[{markdown}]({url})" if _URL.fullmatch(url) else markdown


def fence(lines: Iterable[str], info: str = "") -> list[str]:
    """A fenced block that no line in it can end; each of `lines` is one line whatever it holds."""
    body = [visible(line.expandtabs(4)).rstrip() for line in lines]
    mark = "`" * max(3, 1 + max(map(_longest_run, body), default=0))
    return [f"{mark}{info}", *body, mark]


def front_matter(values: Mapping[str, object]) -> list[str]:
    """A YAML head in the order given. Text but for a Word is quoted: no reader takes it for a number, a date or yes."""
    head = yaml.dump(
        {key: _quoted(value) for key, value in values.items()},
        Dumper=_Head,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
    )
    return ["---", *head.rstrip("\n").split("\n"), "---"]


def _escape(text: str) -> str:
    return _ALWAYS.sub(lambda m: "\\" + m[0], text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


class Word(str):
    """A word of our own vocabulary, which every YAML reader takes for text without quotes."""

    __slots__ = ()


class _Text(str):
    """Text to be written between double quotes."""

    __slots__ = ()


class _Flow(list[object]):
    """A list to be written on one line."""


class _Head(yaml.SafeDumper):
    """The dumper of front matter."""


_Head.add_representer(
    _Text, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)
_Head.add_representer(
    _Flow, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)
)


def _quoted(value: object) -> object:
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return _Text(plain(value, 1000))
    if isinstance(value, list | tuple):
        return _Flow([_quoted(item) for item in value])
    return value
