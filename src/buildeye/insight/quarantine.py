"""The quarantine list: a YAML file in the repository that says which tests are known to be flaky, why, and until when.

    tests:
    - id: tests/test_a.py::TestB::test_c
      why: times out when the machine is busy
      since: 2026-11-20
      until: 2026-12-20

It is read by whoever runs the tests; Build-Eye shows it and never lets it change a verdict. Adding and removing leave
every other line of the file as it is, comments too.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import yaml

from buildeye.insight.caseids import SEPARATOR, file_in, is_exact, names_in
from buildeye.insight.flaky import FlakyCase, FlakySettings, FlakyState
from buildeye.model import OutsideError, UsageError

_KEYS: Final = ("id", "why", "since", "until")
_HEAD: Final = "# Tests known to be flaky; `build-eye quarantine check` tells which entries are due.\ntests:\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """One test in quarantine, from `since` to the end of the day `until`."""

    id: str
    why: str
    since: date
    until: date

    def is_expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.until


class Standing(StrEnum):
    """What is to be said of an entry. `gone`: the test has not run in the window."""

    EXPIRED = "expired"
    RECOVERED = "recovered"
    GONE = "gone"
    HOLDS = "holds"

    @property
    def is_due(self) -> bool:
        """Whether somebody should take the entry away or renew it."""
        return self in (Standing.EXPIRED, Standing.RECOVERED)


@dataclass(frozen=True, slots=True)
class Checked:
    """An entry, what is to be said of it, and the judgement of its test, None when it has not run."""

    entry: Entry
    standing: Standing
    case: FlakyCase | None = None


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The entries of a list, sorted by id; `text` is the file, empty when there is none."""

    entries: tuple[Entry, ...] = ()
    text: str = ""

    def of(self, id: str) -> Entry | None:
        """The entry of a test by its id; None when it is not in quarantine."""
        return next((entry for entry in self.entries if entry.id == id), None)

    def of_case(self, file: str, classname: str, name: str) -> Entry | None:
        """The entry that means this test, however its id is written."""
        return next((entry for entry in self.entries if is_exact(entry.id, file, classname, name)), None)


def read_quarantine(path: Path) -> Quarantine:
    """The list in a file; empty when there is no file. UsageError: it cannot be read or is no such list."""
    try:
        return parsed(path.read_text("utf-8"), path.name)
    except FileNotFoundError:
        return Quarantine()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; set tests.quarantine to another file") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def parsed(text: str, name: str = "the quarantine list") -> Quarantine:
    """The list that a text holds. UsageError says what is wrong with it, and on which line."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" line {mark.line + 1}" if mark is not None else ""
        raise UsageError(f"{name}{place} is not valid YAML; mend it, or take the file away") from None
    if data is None:
        return Quarantine(text=text)
    if not isinstance(data, dict) or set(data) != {"tests"} or not isinstance(data["tests"] or [], list):
        raise UsageError(f"{name} is no quarantine list: it has one key, tests, with a list of id, why, since, until")
    items = _items(root)
    entries = [
        _entry(item, f"{name} line {node.start_mark.line + 1}")
        for item, node in zip(data["tests"] or [], items, strict=True)
    ]
    seen: set[str] = set()
    for entry, node in zip(entries, items, strict=True):
        if entry.id in seen:
            raise UsageError(f"{name} line {node.start_mark.line + 1}: {entry.id} is there twice; leave one")
        seen.add(entry.id)
    return Quarantine(tuple(sorted(entries, key=lambda entry: entry.id)), text)


def added(known: Quarantine, entry: Entry) -> str:
    """The text of the file with one more entry, before the first whose id is greater.

    UsageError: it is there already, says no reason, or ends before it begins.
    """
    if known.of(entry.id):
        raise UsageError(f"{entry.id} is in quarantine already; remove it first to say something else")
    if not entry.id.strip() or not entry.why.strip():
        raise UsageError("say which test and why: an id and a --why that are not empty")
    if entry.until < entry.since:
        raise UsageError(f"--until {entry.until} is over already; give a day that is to come")
    entry = replace(entry, why=" ".join(entry.why.split()))
    written = _written(entry)
    if not known.entries:
        return _only(known.text, written)
    lines = known.text.splitlines(keepends=True)
    if not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    blocks = _blocks(known)
    after = next((block for block in blocks if block.id > entry.id), None)
    place = after.first if after else blocks[-1].last + 1
    indented = [" " * blocks[0].indent + line for line in written.splitlines(keepends=True)]
    return _same("".join([*lines[:place], *indented, *lines[place:]]), {*known.entries, entry})


def removed(known: Quarantine, id: str) -> str:
    """The text of the file without an entry and the comment right above it. UsageError: it is not there."""
    entry = known.of(id)
    if entry is None:
        near = [each.id for each in known.entries if each.id.endswith(SEPARATOR + id.rpartition(SEPARATOR)[2])]
        raise UsageError(f"{id} is not in quarantine" + (f"; did you mean {', '.join(near[:3])}?" if near else ""))
    lines = known.text.splitlines(keepends=True)
    block = next(block for block in _blocks(known) if block.id == id)
    return _same("".join([*lines[: block.first], *lines[block.last + 1 :]]), {*known.entries} - {entry})


def write_quarantine(path: Path, text: str) -> None:
    """Put the text in the place of the file, whole or not at all. OutsideError: the disk."""
    try:
        place = path.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(place.stat().st_mode & 0o777 if place.exists() else 0o644)
            Path(temporary).replace(place)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise OutsideError(f"{path} cannot be written: {error.strerror}; check its rights and free space") from None


def checked(
    entries: Iterable[Entry], cases: Sequence[FlakyCase], today: date, settings: FlakySettings
) -> tuple[Checked, ...]:
    """What is to be said of each entry, given the judgements of the tests that ran."""
    return tuple(_checked(entry, cases, today, settings) for entry in entries)


def wanted_cases(entries: Iterable[Entry]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files and the names under which the tests of entries may have been reported, '' for reports without file."""
    known = list(entries)
    files = {file_in(entry.id) for entry in known} | {""}
    return tuple(sorted(files)), tuple(sorted({name for entry in known for name in names_in(entry.id)}))


def _checked(entry: Entry, cases: Sequence[FlakyCase], today: date, settings: FlakySettings) -> Checked:
    case = next((each for each in cases if is_exact(entry.id, each.file, each.classname, each.name)), None)
    if entry.is_expired(today):
        return Checked(entry, Standing.EXPIRED, case)
    if case is None:
        return Checked(entry, Standing.GONE)
    told = case.flakiness
    steady = told.state is FlakyState.STEADY and told.clean >= settings.least_clean
    recovered = steady or told.state is FlakyState.RECOVERED
    return Checked(entry, Standing.RECOVERED if recovered else Standing.HOLDS, case)


@dataclass(frozen=True, slots=True)
class _Block:
    """The lines of one entry, both ends included, the comment right above it too; `indent` of its dash."""

    id: str
    first: int
    last: int
    indent: int


def _items(root: "yaml.Node | None") -> list[yaml.Node]:
    if not isinstance(root, yaml.MappingNode):
        return []
    (_, value), *_ = root.value
    return list(value.value) if isinstance(value, yaml.SequenceNode) else []


def _blocks(known: Quarantine) -> list[_Block]:
    """Where the entries stand. UsageError: the list is written in braces and brackets."""
    lines = known.text.splitlines()
    blocks: list[_Block] = []
    for node in _items(yaml.compose(known.text, Loader=yaml.SafeLoader)):
        start = node.start_mark.line
        if not lines[start].lstrip().startswith("- ") or not isinstance(node, yaml.MappingNode) or node.flow_style:
            raise UsageError("the quarantine list is not written one `- id:` a line; write it so, or change it by hand")
        first = start
        while first and lines[first - 1].lstrip().startswith("#") and _is_below(lines, first - 1):
            first -= 1
        last = max(value.end_mark.line - (value.end_mark.column == 0) for _, value in node.value)
        id = next(value.value for key, value in node.value if key.value == "id")
        blocks.append(_Block(id, first, last, len(lines[start]) - len(lines[start].lstrip())))
    return blocks


def _is_below(lines: Sequence[str], number: int) -> bool:
    """Whether a line stands below the line `tests:`."""
    return any(line.startswith("tests:") for line in lines[:number])


def _entry(item: Any, where: str) -> Entry:
    if not isinstance(item, Mapping) or set(item) != set(_KEYS):
        raise UsageError(f"{where}: an entry has id, why, since and until, and nothing else")
    for key in ("id", "why"):
        if not isinstance(item[key], str) or not item[key].strip():
            raise UsageError(f"{where}: {key} is a text that is not empty, in quotes if it looks like a number")
    for key in ("since", "until"):
        if not isinstance(item[key], date) or isinstance(item[key], datetime):
            raise UsageError(f"{where}: {key} is a day such as 2026-12-31")
    return Entry(item["id"], item["why"], item["since"], item["until"])


def _written(entry: Entry) -> str:
    fields = {"id": entry.id, "why": entry.why, "since": entry.since, "until": entry.until}
    return yaml.safe_dump([fields], sort_keys=False, allow_unicode=True, width=10_000)


def _only(text: str, written: str) -> str:
    """The text of a list that had no entry, with one; its comments stay."""
    kept = [line for line in text.splitlines() if not line.startswith("tests:")]
    above = "\n".join(kept).strip("\n")
    return f"{above}\ntests:\n{written}" if above else _HEAD + written


def _same(text: str, entries: set[Entry]) -> str:
    """The text, when it says what it should."""
    if set(parsed(text).entries) != entries:
        raise UsageError("the quarantine list is written in a way that cannot be changed here; change it by hand")
    return text
