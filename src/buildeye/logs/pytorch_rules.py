"""Rule packs in the form of PyTorch's log classifier, a `ruleset.toml` of `[[rule]]` tables with `name` and `pattern`.

There the earliest rule of the file that matches any line decides, by the last line it matches. Here hits get points, so
an imported rule gets a weight that no difference of place in the log outweighs: the order of the file holds, and a file
that is loaded speaks before the rules that come with Build-Eye. A pattern that the runner's own "Process completed with
exit code 1" matches becomes a catch-all, which never decides.

Those rules have no category. One is guessed from the words of the name; a rule without a guess answers `unknown` with
its name and line. `build-eye rules import` writes the pack out, to set right what was guessed.
"""

import json
import logging
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]  # the parser of `re` has no public name
from re import _parser as parser  # type: ignore[attr-defined]  # the parser of `re` has no public name
from typing import Any

from buildeye.logs.matcher import hyperscan_problem
from buildeye.logs.rules import IMPORTED, Rule, Tier
from buildeye.model import Cause, Suggestion, UsageError, home_cause

_LOG = logging.getLogger(__name__)

STEP = 200
"""Points between two rules of a file: more than all that a hit can gain or lose by where it stands."""
CONFIDENCE = 0.6
"""Of a rule whose category was guessed; one without a guess stays below what decides."""
UNSURE = 0.4
CAPTURE = "what"

_ANY_FAILURE = "##[error]Process completed with exit code 1."
_KEYS = {"name", "pattern"}
_CATEGORIES: tuple[tuple[str, str], ...] = (
    (r"time ?d? ?out", "timeout"),
    (r"cancel", "by-user"),
    (r"out of memory|\boom\b", "out-of-memory"),
    (r"out of space|no space|disk", "disk-full"),
    (r"rate ?limit", "rate-limit"),
    (r"graph breaks?|benchmark|regression", "benchmark-regression"),
    (r"lint|flake8|trailing spaces", "lint"),
    (r"asan|sanitizer", "sanitizer"),
    (r"sig(?:segv|abrt|nal)?\b|segfault|segmentation|crash", "test-crash"),
    (r"unit ?test|pytest|gtest|\btests?\b", "test-failure"),
    (r"undefined reference|linker|\blink\b|library not loaded", "link"),
    (r"compil", "compile"),
    (r"module ?not ?found|import ?error", "import"),
    (r"regenerate|dirty checkout", "generated-files"),
    (r"merge conflict|cherry.?pick|rebase", "merge-conflict"),
    (r"runner|shutdown", "runner-host"),
    (r"artifact", "artifact-service"),
    (r"docker|image|manifest", "image-pull"),
    (r"apt|conda|pip\b|packages?\b|dependency", "package-index"),
    (r"nvidia|driver|rocm|cuda|gpu", "driver"),
    (r"curl|download|fetch|response status|connection|network", "network"),
    (r"credential|access denied|login|permission", "permission"),
    (r"build|make\b|ninja|cmake|bazel", "build-script"),
)
"""Words of a name and the category that they speak for, the first that fits."""

_ADVICE = (
    Suggestion(
        "Read the line and what stands around it",
        steps=("The rule was imported; give it a category and advice of its own in a pack (docs/rules.md).",),
    ),
)


@dataclass(frozen=True, slots=True)
class Refused:
    """A rule that cannot be imported, and why."""

    name: str
    pattern: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import gave: the rules in the order of the file, and those that were left out."""

    rules: tuple[Rule, ...]
    refused: tuple[Refused, ...] = ()


def load_tables(path: Path, tables: Sequence[Mapping[str, Any]]) -> list[Rule]:
    """The rules of a file in that form; those that must be left out are told in a warning.

    Raises UsageError when none is left.
    """
    found = import_rules(path, tables)
    for one in found.refused:
        _LOG.warning('%s: rule "%s" is left out: %s', path, one.name, one.reason)
    if not found.rules:
        raise UsageError(f"{path}: none of its {len(tables)} patterns can be imported; see `build-eye rules import`")
    return list(found.rules)


def read_tables(path: Path) -> list[dict[str, Any]]:
    """The `[[rule]]` tables of a file in that form; raises UsageError when it is none."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        what = e.strerror if isinstance(e, OSError) else e
        raise UsageError(f"{path}: this ruleset cannot be read ({what}); give PyTorch's ruleset.toml form") from e
    tables = data.get("rule", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(t, dict) and set(t) <= _KEYS for t in tables):
        raise UsageError(f"{path}: not PyTorch's ruleset.toml form, which is [[rule]] tables of `name` and `pattern`")
    return tables


def import_rules(path: Path, tables: Sequence[Mapping[str, Any]]) -> Imported:
    """Turn tables of that form into rules; `path` names the pack in ids and errors.

    A pattern that is not linear-time, or has another meaning here, is refused with the reason. Raises UsageError for a
    table that lacks one of both keys or holds something else than text.
    """
    rules: list[Rule] = []
    refused: list[Refused] = []
    taken: set[str] = set()
    for i, table in enumerate(tables):
        name, pattern = _texts(path, i, table)
        try:
            rule = _rule(path, name, pattern, STEP * (len(tables) - i))
        except _UnfitError as e:
            refused.append(Refused(name, pattern, str(e)))
            continue
        number, base = 2, rule.id
        while rule.id in taken:
            rule, number = replace(rule, id=f"{base}-{number}"), number + 1
        taken.add(rule.id)
        rules.append(rule)
    return Imported(tuple(rules), tuple(refused))


def _texts(path: Path, i: int, table: Mapping[str, Any]) -> tuple[str, str]:
    for key in ("name", "pattern"):
        if not isinstance(table.get(key), str):
            raise UsageError(f"{path}: rule {i + 1} ({table.get('name', 'without name')}): {key!r} must be a text")
    name = "".join(c for c in " ".join(table["name"].split()) if c.isprintable())
    return name or f"rule {i + 1}", table["pattern"]


class _UnfitError(Exception):
    """A pattern that cannot be taken over, with the reason."""


def _rule(path: Path, name: str, pattern: str, weight: int) -> Rule:
    ours, captured = converted(pattern)
    broad = re.search(ours, _ANY_FAILURE) is not None
    category = _category(name)
    braces = name.replace("{", "(").replace("}", ")")
    return Rule(
        id=".".join((IMPORTED, _slug(path.stem, "pack"), _slug(name, "rule"))),
        title=f"{braces}: {{{CAPTURE}}}" if captured else braces,
        category=category,
        cause=home_cause(category) or Cause.UNKNOWN,
        any=(ours,),
        tier=Tier.CATCH_ALL if broad else Tier.CAUSE,
        select="last",
        confidence=UNSURE if category == "unknown" else CONFIDENCE,
        weight=0 if broad else weight,
        explanation=f'The imported rule "{braces}" matches this line.',
        advice=_ADVICE,
    )


def _slug(text: str, otherwise: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or otherwise


def _category(name: str) -> str:
    """The category that the name of a rule speaks for; `unknown` when none."""
    return next((category for words, category in _CATEGORIES if re.search(words, name.lower())), "unknown")


def converted(pattern: str) -> tuple[str, bool]:
    """The same pattern as our matchers read it, and whether the group `what` is captured by every match of it.

    Groups get names (the first is `what`; without any the whole match is), since captures are what makes two failures
    equal there too. Raises an error with the reason for a pattern that both matchers do not read alike.
    """
    ours = re.sub(r"\\z$", "$", re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern))
    _check(ours)
    ours = _anchor_first(ours)
    if _splits_at_top(ours) and ("^" in _outside_classes(ours) or "$" in _outside_classes(ours)):
        raise _UnfitError("an anchor holds in one branch only; split the pattern in two")
    ours = _closed(_named(ours))
    _check(ours)
    if re.search(ours, "") is not None:
        raise _UnfitError("it matches an empty line, so every line")
    if "^" in _outside_classes(ours.removeprefix("(?i)").removeprefix("^")):
        raise _UnfitError("'^' stands elsewhere than at the very start; split the pattern in two")
    if problem := hyperscan_problem(ours):
        raise _UnfitError(problem)
    return ours, CAPTURE in _always_captured(ours)


def _check(pattern: str) -> None:
    """Refuse what is not matched in linear time, and what `re` reads differently from the tool it was written for."""
    if re.search(r"\(\?(?:=|!|<=|<!)", pattern):
        raise _UnfitError("look-around is not matched in linear time")
    if re.search(r"(?<!\\)(?:\\\\)*\\[1-9]|\(\?P=", pattern):
        raise _UnfitError("a back-reference is not matched in linear time")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern)
    except FutureWarning:
        raise _UnfitError("a character class with classes inside has another meaning here") from None
    except (re.error, OverflowError, RecursionError) as e:
        raise _UnfitError(f"it is no regular expression of Python ({e})") from None


def _signs(pattern: str) -> Iterator[tuple[int, str, bool]]:
    """Every unescaped sign outside the text of a class: (position, sign, is it inside a class?)."""
    in_class, i = False, 0
    while i < len(pattern):
        sign = pattern[i]
        if sign == "\\":
            i += 2
            continue
        if in_class and sign == "]":
            in_class = False
        elif not in_class and sign == "[":
            in_class = True
            i += 2 if pattern[i + 1 : i + 2] == "^" else 1
            i += pattern[i : i + 1] == "]"
            continue
        yield i, sign, in_class
        i += 1


def _outside_classes(pattern: str) -> str:
    return "".join(sign for _, sign, in_class in _signs(pattern) if not in_class)


def _splits_at_top(pattern: str) -> bool:
    depth = 0
    for sign in _outside_classes(pattern):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "|" and depth == 0:
            return True
    return False


def _anchor_first(pattern: str) -> str:
    """`(^a)b` as `^(a)b`, and `^` before all branches that begin with it."""
    begin = re.match(r"((?:\(\?i\))?)(\((?:\?:|\?P<\w+>)?)\^", pattern)
    if not begin:
        return pattern
    depth, inside = 0, pattern[len(begin[1]) :]
    for _, sign, in_class in _signs(inside):
        depth += 0 if in_class else {"(": 1, ")": -1}.get(sign, 0)
        if sign == "|" and not in_class and depth == 1:
            raise _UnfitError("'^' stands in one branch of a group; split the pattern in two")
        if depth == 0:
            break
    return begin[1] + "^" + begin[2] + pattern[begin.end() :]


def _named(pattern: str) -> str:
    """Every capturing group with a name; the whole pattern as one group where there is none."""
    opens = [
        i for i, sign, in_class in _signs(pattern) if sign == "(" and not in_class and pattern[i + 1 : i + 2] != "?"
    ]
    if not opens and "(?P<" not in pattern:
        flags, body = ("(?i)", pattern[4:]) if pattern.startswith("(?i)") else ("", pattern)
        start = "^" if body.startswith("^") else ""
        end = "$" if re.search(r"(?<!\\)(?:\\\\)*\$$", body) else ""
        body = body[len(start) : len(body) - len(end)]
        return f"{flags}{start}(?P<{CAPTURE}>{body}){end}"
    for number, i in reversed(list(enumerate(opens, 1))):
        name = CAPTURE if number == 1 else f"{CAPTURE}{number}"
        pattern = f"{pattern[:i]}(?P<{name}>{pattern[i + 1 :]}"
    return pattern


def _closed(pattern: str) -> str:
    """An open repeat of anything at the end, up to the end of the line: what it matches stays the same."""
    return pattern + "$" if re.search(r"(?<!\\)(?:\\\\)*\.[*+]\)*$", pattern) else pattern


def _always_captured(pattern: str) -> set[str]:
    """Names of groups that every match fills: not in a branch, not optional."""
    parsed = parser.parse(pattern)
    names = {number: name for name, number in parsed.state.groupdict.items()}

    def filled(items: Any) -> Iterator[int]:
        for kind, value in items:
            if kind is kinds.SUBPATTERN:
                yield from [value[0]] if value[0] else []
                yield from filled(value[-1])

    return {names[number] for number in filled(parsed) if number in names}


def as_toml(rules: Sequence[Rule]) -> str:
    """Rules as the text of a pack that `load_pack` reads back as they are; for rules that were imported."""
    tables = ["# Imported rules: set category, cause and advice right, then add must_match and must_not_match."]
    for rule in rules:
        values = {
            "id": json.dumps(rule.id),
            "title": _quoted(rule.title),
            "category": json.dumps(rule.category),
            "any": f"[{', '.join(map(_quoted, rule.any))}]",
            "tier": json.dumps(rule.tier.value),
            "select": json.dumps(rule.select),
            "confidence": str(rule.confidence),
            "weight": str(rule.weight),
            "explanation": _quoted(rule.explanation),
            "advice": f"[{', '.join(map(_advice_table, rule.advice))}]",
        }
        tables.append("[[rule]]\n" + "\n".join(f"{key} = {value}" for key, value in values.items()))
    return "\n\n".join(tables) + "\n"


def _advice_table(advice: Suggestion) -> str:
    steps = ", ".join(map(_quoted, advice.steps))
    command = f", command = {_quoted(advice.command)}" if advice.command else ""
    return f'{{ title = {_quoted(advice.title)}, cost = "{advice.cost}", steps = [{steps}]{command} }}'


def _quoted(text: str) -> str:
    """A TOML string: as written where TOML allows that, else with escapes."""
    if "'" not in text and text.isprintable():
        return f"'{text}'" if "\\" in text or '"' in text else f'"{text}"'
    if "'''" not in text and not text.endswith("'") and text.isprintable():
        return f"'''{text}'''"
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")
