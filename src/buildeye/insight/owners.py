"""Who owns a file: GitHub's CODEOWNERS, read as GitHub does.

The last line whose pattern fits a path says its owners, and a pattern without owners takes them away. Patterns are
those of gitignore, save that `!`, `[a-z]` and `\\#` mean nothing there: such lines, and those GitHub calls invalid, are
passed over and named in `ignored`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from buildeye.model import UsageError

PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks for the file; the first that exists counts."""
_LARGEST: Final = 3 * 1024 * 1024  # bytes; GitHub reads no larger file
_OWNER: Final = re.compile(r"@[\w.-]+(/[\w.-]+)?|[^@\s]+@[^@\s]+\.[^@\s]+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A line: the pattern as it stands, and its owners, none for files that nobody owns."""

    line: int
    pattern: str
    owners: tuple[str, ...]

    def fits(self, path: str) -> bool:
        """Whether the pattern means this path (of a file, from the top of the repository)."""
        return _compiled(self.pattern).match(path) is not None


@dataclass(frozen=True, slots=True)
class Owners:
    """The rules of a CODEOWNERS file in its order; `ignored` are the lines that mean nothing to GitHub."""

    rules: tuple[Rule, ...] = ()
    ignored: tuple[int, ...] = ()

    def of(self, path: str) -> tuple[str, ...]:
        """The owners of a file by its path from the top of the repository; none when nobody owns it."""
        plain = path.removeprefix("./").lstrip("/")
        found = next((rule for rule in reversed(self.rules) if rule.fits(plain)), None)
        return found.owners if found else ()


def read_owners(lines: Iterable[str]) -> Owners:
    """The owners that the lines of a CODEOWNERS file name."""
    rules: list[Rule] = []
    ignored: list[int] = []
    for number, line in enumerate(lines, 1):
        words = _words(line)
        if not words:
            continue
        pattern, *owners = words
        if _is_valid(pattern) and all(_OWNER.fullmatch(owner) for owner in owners):
            rules.append(Rule(number, pattern, tuple(owners)))
        else:
            ignored.append(number)
    return Owners(tuple(rules), tuple(ignored))


def owners_in(folder: Path, file: Path | None = None) -> Owners:
    """The owners that `file` names, or the first of the usual places below `folder`; nobody when there is none.

    UsageError: `file` cannot be read, is no text, or is larger than GitHub reads.
    """
    place = file or next((folder / each for each in PLACES if (folder / each).is_file()), None)
    if place is None:
        return Owners()
    try:
        if place.stat().st_size > _LARGEST:
            raise UsageError(f"{place} is larger than 3 MiB; GitHub reads no CODEOWNERS larger than that")
        return read_owners(place.read_text("utf-8-sig").splitlines())
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}; name another file with --codeowners") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def _words(line: str) -> list[str]:
    """Pattern and owners of a line without its comment; a backslash keeps a space inside the pattern."""
    words = re.findall(r"(?:\\.|[^\s\\]|\\$)+", line)
    comment = next((place for place, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def _is_valid(pattern: str) -> bool:
    return not (pattern.startswith(("!", r"\#")) or "[" in pattern or "]" in pattern)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> "re.Pattern[str]":
    """A gitignore pattern as a regular expression for whole paths, without nested repetition.

    With a slash at the beginning or inside it begins at the top, else anywhere. One that ends in a name means the file
    or all of a folder; one that ends in `/` only a folder; `x/*` the files of a folder, but not below.
    """
    plain = re.sub(r"\\(.)", r"\1", pattern)
    folder_only = plain.endswith("/")
    anchored = "/" in plain.rstrip("/")
    parts = [part for part in plain.strip("/").split("/") if part]
    if not parts:
        return re.compile(r"(?s:.*)\Z" if plain in ("/", "") and plain else r"(?!)")
    written = "" if anchored else r"(?:.*/)?"
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == "**":
            written += ".+" if last else r"(?:.*/)?"
        else:
            written += _segment(part) + ("" if last else "/")
    return re.compile(f"(?s:{written}{_end(parts, folder_only, anchored)})\\Z")


def _segment(part: str) -> str:
    """One part of a path: `*` and `?` do not cross a slash."""
    collapsed = re.sub(r"\*+", "*", part)
    return "".join("[^/]*" if sign == "*" else "[^/]" if sign == "?" else re.escape(sign) for sign in collapsed)


def _end(parts: list[str], folder_only: bool, anchored: bool) -> str:
    if folder_only:
        return "/.+" if parts[-1] != "**" else ""
    if parts[-1] == "**" or (parts[-1] == "*" and anchored):
        return ""
    return "(?:/.+)?"
