"""What a job ran in and with, read from its log: images with digests, the runner's image, packages, tools.

One pass in bounded memory. A linear-time search of raw bytes finds the few lines that can name something; only those
are cleaned and read. `changed` compares what two logs say.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from buildeye.logs.engine import Log
from buildeye.logs.matcher import Database, cache_folder, kept_database
from buildeye.logs.signs import GEMS, GEMS_RAW, OWN, OWN_RAW, SIGNS, TABLES, Sign, Table
from buildeye.logs.text import MAX_LINE, clean, looks_binary, strip_ansi
from buildeye.model.environment import Thing, ThingKind

MOST_THINGS = 400
"""Things of one log that are given; of more, packages give way first, those of the system before all."""
MOST_READ = 20_000
"""Things that are remembered of one log while it is read."""
LONGEST_LINE = 1 << 16
"""Bytes of a line that are looked at: pip names all that it installed in one."""
_LONGEST_NAME, _LONGEST_VALUE = 256, 100
"""Characters; what is longer is no name, or no version."""
_SAMPLE = 65536
_LIST = b"Successfully installed "
_FROM_COMMIT = re.compile(r"\+(?:.*\.)?g[0-9a-f]{7,40}\b|\.d20\d{6}$|^0\.0\.0$")
"""Versions that a build made up from its own commit or day: they differ whenever anything is built."""
_LOGGED = re.compile(r"^ *(?:INFO - {1,2}|INFO:[\w.]+:|\[INFO\] )")
"""What loggers put before lines of the tools that they run."""
_HUB = re.compile(r"^(?:index\.)?docker\.io/(?:library/)?")
_INNER = re.compile(r"(?<=[a-z0-9])[-_.]+(?=[a-z0-9])")


class EnvironmentReader:
    """Takes the cleaned lines of a log in order, or only those that may name something, and the lines below headings.

    `wants_more`: the next line may be the row of a table, whatever it is.
    """

    def __init__(self) -> None:
        self._found: dict[Thing, int] = {}
        self._gems: dict[Thing, int] = {}
        self._bundler = False
        self._own = ""
        self._halves: dict[str, dict[str, str]] = {}
        self._table: Table | None = None
        self._left = 0

    @property
    def wants_more(self) -> bool:
        """Whether the line that follows has to be given too."""
        return self._left > 0

    def feed(self, line: str, signs: Iterable[Sign] = SIGNS) -> None:
        """Read one cleaned line; `signs` are those that it can be."""
        line = _LOGGED.sub("", line)
        if self._left:
            self._row(line)
        if not self._own and (here := OWN.match(line)):
            self._own = here["own"]
        self._bundler = self._bundler or GEMS.match(line) is not None
        for sign in signs:
            if found := sign.line.search(line):
                self._take(sign, found)

    def things(self) -> tuple[Thing, ...]:
        """What was read so far: sorted, each once, without the job's own repository and what it builds."""
        found = {**self._found, **(self._gems if self._bundler else {})}
        kept = sorted(thing for thing in found if not self._is_own(thing))
        if len(kept) > MOST_THINGS:
            kept.sort(key=lambda thing: (thing.kind == "package", found[thing], thing))
            kept = sorted(kept[:MOST_THINGS])
        return tuple(kept)

    def _row(self, line: str) -> None:
        table = self._table
        self._left -= 1
        if table is None or line.startswith("##[endgroup]"):
            self._left = 0
            return
        for sign in table.rows:
            if found := sign.line.match(line):
                self._take(sign, found)
                self._left = table.gap + 1

    def _take(self, sign: Sign, found: re.Match[str]) -> None:
        if sign.opens:
            self._table = TABLES[sign.opens]
            self._left = self._table.start
        said = {key: text for key, text in found.groupdict().items() if key in ("name", "value") and text}
        if sign.pair:
            half = self._halves.setdefault(sign.pair, {})
            half.update(said)
            if len(half) == 2:
                self._add(sign, half["name"], half["value"])
                del self._halves[sign.pair]
        elif sign.read is not None:
            for name, value in sign.read(found):
                self._add(sign, name, value)
        elif said and not (sign.opens and len(said) < 2):
            self._add(sign, sign.name or said["name"], said.get("value", ""))

    def _add(self, sign: Sign, name: str, value: str) -> None:
        if sign.kind == "image":
            name = _HUB.sub("", name)
        elif sign.python:
            name = _python_name(name)
        if len(name) > _LONGEST_NAME or len(value) > _LONGEST_VALUE:
            return
        into = self._gems if sign.gems else self._found
        thing = Thing(sign.kind, name, value)
        if thing in into or len(into) < MOST_READ:
            into[thing] = min(sign.rank, into.get(thing, sign.rank))

    def _is_own(self, thing: Thing) -> bool:
        """Is it the job's repository, or what was built from it? Where that is not known, a made-up version tells."""
        if thing.kind in ("image", "runner-image"):
            return False
        own, name = _python_name(self._own), thing.name
        if thing.kind == "tool" and re.fullmatch(r"[0-9a-f]{40}", thing.value):
            return bool(own) and _python_name(name.partition("@")[0].rpartition("/")[2]) == own
        if own and _python_name(name) == own:
            return True
        return not own and _FROM_COMMIT.search(thing.value) is not None


def read_environment(log: Log) -> tuple[Thing, ...]:
    """What the job of a log ran in and with: sorted, each thing once, at most `MOST_THINGS`.

    Nothing is read from binary data. OutsideError when the log cannot be read.
    """
    reader = EnvironmentReader()
    if log.size and not looks_binary(log.read(0, _SAMPLE)):
        database = _finder()
        for block in log.blocks():
            data = block.data
            if block.continues:
                end = data.find(b"\n")
                data = data[end + 1 :] if end >= 0 else b""
            _read_block(reader, strip_ansi(data), database)
    return reader.things()


@lru_cache(maxsize=1)
def _finder() -> Database:
    raws = list(_asked())
    return kept_database(raws, range(len(raws)), cache_folder())


@lru_cache(maxsize=1)
def _asked() -> Mapping[str, tuple[Sign, ...]]:
    """The signs by what finds them."""
    signs: dict[str, tuple[Sign, ...]] = {OWN_RAW: (), GEMS_RAW: ()}
    for sign in SIGNS:
        signs[sign.raw] = (*signs.get(sign.raw, ()), sign)
    return signs


def _read_block(reader: EnvironmentReader, data: bytes, database: Database) -> None:
    """Give the reader the lines of a block that can name something, and those that it asks for."""
    signs = list(_asked().values())
    done = _more(reader, data, 0)
    for start, end, ids in _lines_hit(data, database):
        if start >= done:
            for text in _texts(data[start : min(end, start + LONGEST_LINE)]):
                reader.feed(text, [sign for i in sorted(ids) for sign in signs[i]])
            done = _more(reader, data, end + 1)


def _more(reader: EnvironmentReader, data: bytes, start: int) -> int:
    """Give the reader all lines from `start` on while it asks for more; returns where the next one starts."""
    while reader.wants_more and start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        for text in _texts(data[start : min(end, start + LONGEST_LINE)]):
            reader.feed(text)
        start = end + 1
    return start


def _lines_hit(data: bytes, database: Database) -> Iterator[tuple[int, int, set[int]]]:
    """The lines that something was found in, in order: start, end, and what."""
    seen: list[tuple[int, int]] = []
    add = seen.append
    database.scan(data + b"\n\n", lambda what, _start, end, _flags, _context: add((end - 1, what)))
    seen.sort()
    start, stop, ids = 0, -1, set[int]()
    for at, what in seen:
        if at > stop:
            if ids:
                yield start, stop, ids
            start = data.rfind(b"\n", 0, at) + 1
            stop = data.find(b"\n", at)
            stop = len(data) if stop < 0 else stop
            ids = set()
        ids.add(what)
    if ids:
        yield start, stop, ids


def _texts(raw: bytes) -> Iterator[str]:
    """A line, cleaned; pip's list of what it installed in several pieces, if it is longer than a line may be."""
    at = raw.find(_LIST) if len(raw) > MAX_LINE else -1
    if at < 0:
        yield clean(raw)
        return
    head, rest = raw[: at + len(_LIST)], raw[at + len(_LIST) :]
    most = MAX_LINE - len(head)
    while most > 0 and len(rest) > most and (cut := rest.rfind(b" ", 0, most)) > 0:
        yield clean(head + rest[:cut])
        rest = rest[cut + 1 :]
    if len(head) + len(rest) < MAX_LINE:
        yield clean(head + rest)


def _python_name(name: str) -> str:
    """A name as the Python index compares it."""
    return _INNER.sub("-", name.lower())


@dataclass(frozen=True, slots=True)
class Change:
    """Something that is not as it was: `before` and `after` are values, empty where it was or is not there."""

    kind: ThingKind
    name: str
    before: str
    after: str


def changed(before: Sequence[Thing], after: Sequence[Thing]) -> tuple[Change, ...]:
    """What moved between two logs of a job, what explains most first: images, then packages and tools, then the runner.

    A thing moved when each side has a value of it that the other has not. What appeared or vanished is told of images
    and packages where both logs name some; of packages only when the two lists are mostly the same, since a log that
    ended early, or found its packages in a cache, does not name them all.
    """
    old, new = _values(before), _values(after)
    moved = [
        Change(kind, name, _joined(old[kind, name] - new[kind, name]), _joined(new[kind, name] - old[kind, name]))
        for kind, name in sorted(old.keys() & new.keys())
        if old[kind, name] - new[kind, name] - {""} and new[kind, name] - old[kind, name] - {""}
    ]
    whole = max(len(before), len(after)) < MOST_THINGS
    others = [each for kind in _COMES_AND_GOES for each in _came_and_went(kind, old, new, whole)]
    return tuple(sorted(moved + others, key=_weight))


_Values = Mapping[tuple[ThingKind, str], set[str]]
_COMES_AND_GOES: tuple[ThingKind, ...] = ("image", "package", "runner-image")
_MOSTLY = 0.5
"""Share of the names of two lists that both have, from which on the lists are of the same kind."""


def _values(things: Sequence[Thing]) -> _Values:
    values: dict[tuple[ThingKind, str], set[str]] = {}
    for thing in things:
        values.setdefault((thing.kind, thing.name), set()).add(thing.value)
    return values


def _joined(values: set[str]) -> str:
    return ", ".join(sorted(values - {""}))


def _came_and_went(kind: ThingKind, old: _Values, new: _Values, whole: bool) -> Iterator[Change]:
    had = {name for each, name in old if each == kind}
    has = {name for each, name in new if each == kind}
    if not had or not has or had == has:
        return
    if kind == "package" and (not whole or len(had & has) < _MOSTLY * len(had | has)):
        return
    gone, come = sorted(had - has), sorted(has - had)
    if kind != "package":
        for name, successor in _succeeded(gone, come, kind):
            gone.remove(name)
            come.remove(successor)
            yield Change(kind, name, _full(name, old[kind, name]), _full(successor, new[kind, successor]))
    if kind == "runner-image":
        return
    yield from (Change(kind, name, "", _joined(new[kind, name]) or "?") for name in come)
    yield from (Change(kind, name, _joined(old[kind, name]) or "?", "") for name in gone)


def _succeeded(gone: Sequence[str], come: Sequence[str], kind: ThingKind) -> list[tuple[str, str]]:
    """Images of which only the tag is another one, and the one runner image that took the place of another."""
    if kind == "runner-image":
        return [(gone[0], come[0])] if len(gone) == len(come) == 1 else []
    pairs = []
    for place in sorted({_repository(name) for name in gone}):
        one, other = ([name for name in names if _repository(name) == place] for names in (gone, come))
        if len(one) == len(other) == 1:
            pairs.append((one[0], other[0]))
    return pairs


def _repository(image: str) -> str:
    return re.sub(r":[^:/]*$", "", image)


def _full(name: str, values: set[str]) -> str:
    return " ".join(filter(None, (name, _joined(values))))


def _weight(change: Change) -> tuple[int, int, str, str]:
    runner = change.kind == "runner-image" or change.name in ("actions-runner", "gitlab-runner")
    rank = 0 if change.kind == "image" else 2 if runner else 1
    manner = 0 if change.before and change.after else 1 if change.after else 2
    return rank, manner, change.kind, change.name
