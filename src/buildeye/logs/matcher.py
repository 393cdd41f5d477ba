"""Patterns of rules compiled for a fast search, kept on disk by content.

The plain texts that patterns ask for make one linear-time database for raw bytes. A line that holds such a text is
asked for the few patterns that could be in it, group by group, in linear time too; `re` confirms and takes captures.
So the cost hardly grows with the number of rules, and no pattern can hang.
"""

import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import hyperscan

from buildeye.logs.literals import Required, required
from buildeye.model import UsageError

_FORM = 25
"""Raised when the cached form changes, or what `literals` asks for."""
GROUP = 256
"""Patterns that are compiled together: fewer are dearer to compile, more are dearer to ask a line for."""
KEPT_SECONDS = 30 * 86_400
"""How long a compiled database that has become needless stays on disk at most, once rules change again."""
LOOSE = 8
"""A part that may be repeated up to so often or more is compiled as if it had no limit, which is far cheaper."""
_ANCHOR = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[$^]", re.DOTALL)
"""An anchor, or what may hold its sign and is none: an escaped sign, a class of characters."""
_ANY_CHARACTER = r"(?:[^\n]{1,4})"
"""Instead of a class that holds characters beyond ASCII: bytes are matched, and such a character is several."""
_LIMIT = re.compile(r"(?<=[\]).wWsSdD])\{(?P<least>\d+),(?P<most>\d+)\}")
_LEAST = {"0": "*", "1": "+"}


def hyperscan_pattern(pattern: str) -> bytes:
    """A pattern for raw lines between line feeds, which matches whatever `pattern` matches on a cleaned line, or more.

    `^` stands for what cleaning takes away before it, `$` for any space. Real anchors are not used: where many patterns
    have them, matches are lost that depend on the line before.
    """
    return _LIMIT.sub(_without_limit, _ANCHOR.sub(_without_anchor, pattern)).encode()


def _without_anchor(found: re.Match[str]) -> str:
    part = found[0]
    if part.startswith("[") and not part.isascii():
        return _ANY_CHARACTER
    return {"^": r"\W", "$": r"\s"}.get(part, part)


def _without_limit(found: re.Match[str]) -> str:
    least = found["least"]
    return found[0] if int(found["most"]) < LOOSE else _LEAST.get(least, f"{{{least},}}")


def hyperscan_problem(pattern: str) -> str | None:
    """Why the linear-time compiler refuses a pattern; None when it takes it."""
    try:
        hyperscan.Database().compile(expressions=[hyperscan_pattern(pattern)], flags=[0])
    except hyperscan.HyperscanError as e:
        return f"the linear-time matcher refuses it ({e})"
    return None


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """`re` form of a rule pattern, for captures on a cleaned line."""
    return re.compile(pattern)


class Database:
    """A compiled database that is taken from its file when it is first asked, and compiled when that is not there."""

    __slots__ = ("_caseless", "_ids", "_made", "_path", "_patterns", "_written")

    def __init__(
        self,
        patterns: Sequence[str],
        ids: Sequence[int],
        path: Path | None,
        written: Callable[[str], bytes] = str.encode,
        caseless: Sequence[bool] = (),
    ) -> None:
        """`ids` name the patterns in matches, `written` gives the form in which each is compiled.

        With `caseless`, one flag each, the patterns are plain texts.
        """
        self._patterns = patterns
        self._written = written
        self._ids = ids
        self._caseless = caseless
        self._path = path
        self._made: Any = None

    def __bool__(self) -> bool:
        return bool(self._ids)

    def scan(self, data: bytes, on_match: Any) -> None:
        """Call `on_match(id, start, end, flags, context)` for each match in `data`."""
        if self._made is None:
            self.prepare()
        self._made.scan(data, match_event_handler=on_match)

    def prepare(self) -> None:
        """Load or compile, and keep on disk what had to be compiled. UsageError names a pattern that is refused."""
        self._made = _loaded(self._path) or self._compile()

    def _compile(self) -> Any:
        database = hyperscan.Database()
        flags = [hyperscan.HS_FLAG_CASELESS if each else 0 for each in self._caseless] or [0] * len(self._ids)
        written = [self._written(pattern) for pattern in self._patterns]
        try:
            database.compile(expressions=written, ids=list(self._ids), flags=flags, literal=bool(self._caseless))
        except hyperscan.HyperscanError as e:
            raise UsageError(_refused(self._patterns, e)) from e
        if self._path:
            _put(self._path, hyperscan.dumpb(database))
        return database


@dataclass(frozen=True, slots=True)
class Plan:
    """What is looked for so that lines are found which some of the patterns may be in.

    `texts` are plain, each with whether case is ignored; `owners` says by text which `groups` of patterns ask for it.
    Patterns that ask for no text are in `shapes`.
    """

    texts: Sequence[tuple[str, bool]]
    owners: Sequence[Sequence[int]]
    groups: Sequence[Sequence[int]]
    shapes: Sequence[int]


class Finder:
    """The databases of a plan: `words` for its texts, `groups`, and `shapes` as raw lines have them."""

    __slots__ = ("groups", "owners", "patterns", "shapes", "words")

    def __init__(self, patterns: Sequence[str], plan: Plan, place: "_Place") -> None:
        """`patterns` are all that there are; `place` is where the databases are kept."""

        def database(ids: Sequence[int], part: str) -> Database:
            return Database([patterns[i] for i in ids], ids, place.of(part), hyperscan_pattern)

        texts, caseless = [text for text, _ in plan.texts], [each for _, each in plan.texts]
        self.words = Database(texts, range(len(texts)), place.of("words"), caseless=caseless)
        self.owners = plan.owners
        self.groups = [database(group, f"group{number}") for number, group in enumerate(plan.groups)]
        self.shapes = database(plan.shapes, "shapes")
        self.patterns = frozenset(i for group in (*plan.groups, plan.shapes) for i in group)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Compiled patterns; a pattern's id is its position in the list it was compiled from.

    The whole of a log is searched with `everywhere`; `late` holds patterns that are dear to look for, or that too many
    lines are like. Of the patterns in `once` only the first hit of a log is kept.
    """

    patterns: Sequence[str]
    everywhere: Finder
    late: Finder
    once: frozenset[int] = frozenset()

    @classmethod
    def compile(
        cls, patterns: Sequence[str], cache: Path | None = None, once: frozenset[int] = frozenset()
    ) -> "Matcher":
        """Compile, or take from the folder `cache` what was compiled from the same patterns before."""
        name = _name(patterns)
        kept = _kept_plans(cache, name)
        everywhere, late = kept or _plans(patterns)
        matcher = cls(
            patterns,
            Finder(patterns, everywhere, _Place(cache, f"{name}.all")),
            Finder(patterns, late, _Place(cache, f"{name}.late")),
            once,
        )
        if not kept:
            matcher.prepare()
            if cache:
                _drop_old(cache)
                _put(cache / f"{name}.plan.json", json.dumps([astuple(everywhere), astuple(late)]).encode())
        return matcher

    def prepare(self) -> None:
        """Load or compile all at once, on all cores."""
        finders = (self.everywhere, self.late)
        databases = [d for finder in finders for d in (finder.words, finder.shapes, *finder.groups)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in [pool.submit(database.prepare) for database in databases if database]:
                done.result()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the databases of one finder are kept; nowhere without a folder."""

    folder: Path | None
    name: str

    def of(self, part: str) -> Path | None:
        return self.folder / f"{self.name}.{part}.hsdb" if self.folder else None


def _plans(patterns: Sequence[str]) -> tuple[Plan, Plan]:
    """What to look for in the whole of a log, and what only where a failure is told."""
    wanted = [_wanted(pattern) for pattern in patterns]
    rare = [i for i, each in enumerate(wanted) if each and each.rare]
    return _plan(wanted, rare), _plan(wanted, sorted({*range(len(patterns))} - set(rare)))


def _wanted(pattern: str) -> Required | None:
    try:
        return required(pattern)
    except re.error:
        return None


def _plan(wanted: Sequence[Required | None], ids: Sequence[int]) -> Plan:
    """Patterns that ask for the same text come into one group, so that a line is asked for few groups."""
    askers: dict[tuple[str, bool], set[int]] = {}
    for i in ids:
        if each := wanted[i]:
            for text in each.texts:
                askers.setdefault((text, each.caseless), set()).add(i)
    _drop_longer(askers)
    texts = sorted(askers)
    order = list(dict.fromkeys(i for text in texts for i in sorted(askers[text])))
    group_of = {i: position // GROUP for position, i in enumerate(order)}
    return Plan(
        texts,
        [sorted({group_of[i] for i in askers[text]}) for text in texts],
        [order[start : start + GROUP] for start in range(0, len(order), GROUP)],
        [i for i in ids if not wanted[i]],
    )


def _drop_longer(askers: dict[tuple[str, bool], set[int]]) -> None:
    """Leave out each text that holds another, whose lines are found with the other; its askers go there."""
    texts = sorted(askers, key=lambda each: (len(each[0]), each))
    finder = Database([text for text, _ in texts], range(len(texts)), None, caseless=[each for _, each in texts])
    for i in range(len(texts) - 1, -1, -1):
        held: set[int] = set()
        finder.scan(texts[i][0].encode(), lambda text, *_: held.add(text))  # noqa: B023 - called before it returns
        shorter = [texts[k] for k in sorted(held) if k < i and (texts[k][1] or not texts[i][1])]
        if shorter:
            askers[shorter[0]] |= askers.pop(texts[i])


def _kept_plans(cache: Path | None, name: str) -> tuple[Plan, Plan] | None:
    if cache is None:
        return None
    try:
        everywhere, late = json.loads((cache / f"{name}.plan.json").read_bytes())
        return Plan(*everywhere), Plan(*late)
    except (OSError, ValueError, TypeError):
        return None


def _refused(patterns: Sequence[str], error: Exception) -> str:
    for pattern in patterns:
        if said := hyperscan_problem(pattern):
            return f"rule pattern {pattern!r}: {said}; check the pack with `build-eye rules lint`"
    return f"the failure rules do not compile together ({error}); check the packs with `build-eye rules lint`"


def _loaded(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        database = hyperscan.loadb(path.read_bytes(), hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except (OSError, hyperscan.HyperscanError):
        return None
    return database


def kept_database(patterns: Sequence[str], ids: Sequence[int], cache: Path) -> Database:
    """A small database, from the cache when the same was compiled before."""
    return Database(patterns, ids, cache / f"{_name(patterns)}.small.hsdb")


def _name(patterns: Sequence[str]) -> str:
    """The same for the same patterns, the same matcher and the same form of the cache."""
    version = f"{getattr(hyperscan, '__version__', '')}|{_FORM}"
    return hashlib.sha256("\0".join([version, *patterns]).encode()).hexdigest()[:24]


def _put(path: Path, data: bytes) -> None:
    """Keep what was compiled for the next call; a cache that cannot be written is no reason to fail."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as f:
            f.write(data)
        Path(f.name).replace(path)
    except OSError:
        return


def _drop_old(cache: Path) -> None:
    """Remove what was compiled long ago; whoever still needs it compiles it once more."""
    for path in cache.glob("*.hsdb"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - KEPT_SECONDS:
                path.unlink()


def cache_folder() -> Path:
    """Where compiled databases are kept: `$XDG_CACHE_HOME/build-eye`, by default under `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "build-eye"
