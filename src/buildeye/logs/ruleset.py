"""All rules in force, ready to match: read once, compiled once, kept by content."""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from buildeye import knowledge
from buildeye.logs import marks
from buildeye.logs.choose import Hit, captured
from buildeye.logs.engine import Log, Scan, scan, scan_late
from buildeye.logs.lines import Lines
from buildeye.logs.literals import may_take_for_ever
from buildeye.logs.marks import Mark
from buildeye.logs.matcher import Matcher, cache_folder
from buildeye.logs.rules import Rule, Tier, load_packs
from buildeye.logs.spans import opened
from buildeye.model import Cause, Cost, Determinism, Suggestion, UsageError

_FORM = "3"
"""Raised when the cached form of rules changes."""
FAILED_STEPS = 2
"""Failed steps of a log before whose ends is looked for what is dear to look for."""


@dataclass(frozen=True)
class RuleSet:
    """Rules in order, with the hash that verdicts name; earlier rules win among equals."""

    rules: tuple[Rule, ...]
    hash: str
    cache: Path | None = field(default=None, compare=False)

    @cached_property
    def _table(self) -> list[tuple[str, str, int]]:
        """Every pattern with what it is for ("mark", or its key in the rule), and the index of its owner."""
        table = [("mark", pattern, i) for i, (_, pattern) in enumerate(marks.PATTERNS)]
        for i, rule in enumerate(self.rules):
            table += [("any", p, i) for p in rule.any]
            table += [("all", p, i) for p in rule.all]
            table += [("absent", p, i) for p in rule.absent]
            table += [("start", p, i) for p in rule.start]
            table += [("until", p, i) for p in rule.until]
        return table

    @cached_property
    def matcher(self) -> Matcher:
        """The compiled database, from the cache when these rules were compiled before."""
        once = frozenset(i for i, (kind, _, _) in enumerate(self._table) if kind in ("all", "absent"))
        return Matcher.compile([pattern for _, pattern, _ in self._table], self.cache, once)

    def find(self, log: Log) -> "Findings":
        """Read a log once; what comes back are confirmed hits and marks, not candidates."""
        found = scan(log, self.matcher)
        missing = self._missing(found, self.matcher.everywhere.patterns)
        late = {
            i for i in self.matcher.late.patterns if self._table[i][2] not in missing or self._table[i][0] == "mark"
        }
        scan_late(log, self.matcher, late, self._marks(found).get(Mark.EXIT, ())[:FAILED_STEPS], found)
        missing |= self._missing(found, self.matcher.late.patterns)
        lines = Lines(log, found)
        return Findings(lines, self._marks(found), self._hits(lines, found, missing))

    def _marks(self, found: Scan) -> dict[Mark, list[int]]:
        result: dict[Mark, set[int]] = {}
        for i, (mark, _) in enumerate(marks.PATTERNS):
            result.setdefault(mark, set()).update(found.hits.get(i, ()))
        return {mark: sorted(numbers) for mark, numbers in result.items() if numbers}

    def _missing(self, found: Scan, looked_for: Set[int]) -> set[int]:
        """Rules that cannot hold in this log: one of `all` is nowhere, or one of `absent` is somewhere."""
        return {
            owner
            for i, (kind, _, owner) in enumerate(self._table)
            if kind in ("all", "absent") and i in looked_for and bool(found.hits.get(i)) != (kind == "all")
        }

    def _hits(self, lines: Lines, found: Scan, missing: Set[int]) -> list[Hit]:
        numbers: dict[tuple[str, int], set[int]] = {}
        for i, (kind, _, owner) in enumerate(self._table):
            if kind in ("any", "start", "until") and (seen := found.hits.get(i)):
                numbers.setdefault((kind, owner), set()).update(seen)

        def of(kind: str, owner: int) -> list[int]:
            return sorted(numbers.get((kind, owner), ()))

        hits: list[Hit | None] = []
        for owner in (owner for kind, owner in numbers if kind == "any" and owner not in missing):
            rule = self.rules[owner]
            spans: Mapping[int, int | None] = dict.fromkeys(of("any", owner))
            if rule.start:
                spans = opened(of("any", owner), of("start", owner), of("until", owner))
            hits += [captured(rule, lines, number, start) for number, start in spans.items()]
        return [hit for hit in hits if hit is not None]


@dataclass(frozen=True, slots=True)
class Findings:
    """What one pass over a log gave."""

    lines: Lines
    marks: Mapping[Mark, Sequence[int]]
    hits: Sequence[Hit]


def load_ruleset(folders: Iterable[Path] = (), cache: Path | None = None) -> RuleSet:
    """The rules that come with Build-Eye and those of a user's folders (`*.toml`), which are read first.

    `cache` is the folder for compiled forms; None means the user's cache folder. Raises UsageError for a wrong pack and
    for a folder that is none.
    """
    folder = cache or cache_folder()
    own = [p for f in folders for p in _packs_in(f)]
    paths = own + knowledge.pack_files()
    digest = hashlib.sha256(_FORM.encode())
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    name = digest.hexdigest()[:24]
    kept = folder / f"{name}.rules.json"
    try:
        rules = [_from_json(row) for row in json.loads(kept.read_bytes())]
    except (OSError, ValueError, KeyError, TypeError):
        rules = [*_checked(load_packs(own)), *load_packs(knowledge.pack_files())]
        _keep(kept, rules)
    return RuleSet(tuple(rules), name[:12], folder)


def _checked(rules: Sequence[Rule]) -> Sequence[Rule]:
    """Rules of a user's packs, whose patterns nobody may have linted. UsageError: one of them could hang."""
    for rule in rules:
        for pattern in (*rule.any, *rule.all, *rule.absent, *rule.start, *rule.until):
            if _can_hang(pattern):
                raise UsageError(
                    f"rule {rule.id}: the pattern {pattern!r} repeats a repeat, which can take for ever; "
                    "check the pack with `build-eye rules lint`"
                )
    return rules


def _can_hang(pattern: str) -> bool:
    try:
        return may_take_for_ever(pattern)
    except re.error:
        return False


def _packs_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder of rule packs; give a folder that holds *.toml packs")
    return sorted(folder.glob("*.toml"))


def _keep(path: Path, rules: Sequence[Rule]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_suffix(f".{id(rules)}.part")
        part.write_text(json.dumps([_to_json(rule) for rule in rules]))
        part.replace(path)
    except OSError:
        return


def _to_json(rule: Rule) -> dict[str, Any]:
    row = {f.name: getattr(rule, f.name) for f in dataclasses.fields(rule)}
    row |= {"advice": [dataclasses.asdict(a) for a in rule.advice], "must_match": (), "must_not_match": ()}
    return row


_TUPLES = ("any", "all", "absent", "start", "until", "links", "must_match", "must_not_match")


def _from_json(row: dict[str, Any]) -> Rule:
    for key in _TUPLES:
        row[key] = tuple(row[key])
    row["signature"] = tuple(row["signature"]) if row["signature"] is not None else None
    row["advice"] = tuple(
        Suggestion(a["title"], Cost(a["cost"]), tuple(a["steps"]), a["command"]) for a in row["advice"]
    )
    row["cause"], row["tier"] = Cause(row["cause"]), Tier(row["tier"])
    row["determinism"] = Determinism(row["determinism"])
    return Rule(**row)
