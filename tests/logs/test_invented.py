"""Invented logs: what tools print when they fail, written from knowledge of the tools and read as any log is.

Each file states its truth in lines that begin with `#`, then a blank line, then the log. A truth names several causes
or categories, split by `|`, only where one log alone cannot say which.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildeye.logs.diagnose import read_log
from buildeye.logs.matcher import compiled
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.logs.text import bare, clean
from buildeye.model import CATEGORIES, Cause

INVENTED = Path(__file__).parent / "invented"
FILES = sorted(INVENTED.glob("*/*.txt"))
SURE = 0.9


@dataclass(frozen=True, slots=True)
class Truth:
    """What a reader of the log should say; `key` holds the first and last line that may be the key, or None."""

    causes: tuple[str, ...]
    categories: tuple[str, ...]
    key: tuple[int, int] | None
    tests: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def split(path: Path) -> tuple[Truth, bytes]:
    """The truth and the log of one file."""
    head, _, log = path.read_text(encoding="utf-8").partition("\n\n")
    said = dict(re.findall(r"^# (\w+): (.*)$", head, flags=re.MULTILINE))

    def words(name: str) -> tuple[str, ...]:
        return tuple(word.strip() for word in said.get(name, "").split("|") if word.strip())

    key = None
    if said["key"] != "none":
        first, _, last = said["key"].partition("-")
        key = int(first), int(last or first)
    return Truth(words("cause"), words("category"), key, words("tests"), words("files")), log.encode()


def in_range(number: int | None, key: tuple[int, int] | None) -> bool:
    """Whether the key line found is one of those that are right."""
    return number is None if key is None else number is not None and key[0] <= number <= key[1]


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_ruleset()


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_invented_log_is_read_as_its_truth_says(path: Path, rules: RuleSet) -> None:
    truth, log = split(path)
    found = read_log(LogFile.of(path.stem, log), rules).diagnosis
    said = f"{found.cause.value}/{found.category} at {found.key_line}, {found.confidence:.2f}: {found.evidence[:3]}"
    right = found.cause.value in truth.causes and found.category in truth.categories
    assert right or found.confidence < SURE, f"sure and wrong: {said}"
    assert right, said
    assert in_range(found.key_line.number if found.key_line else None, truth.key), said
    for test in truth.tests:
        assert any(test in listed for listed in found.tests), f"{test} is not among {found.tests}"
    for file in truth.files:
        assert any(f"/{listed}".endswith(f"/{file}") for listed in found.files), f"{file} is not among {found.files}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_truth_of_an_invented_log_uses_the_words_of_the_contract(path: Path) -> None:
    truth, log = split(path)
    assert set(truth.causes) <= {cause.value for cause in Cause}
    assert set(truth.categories) <= {name for names in CATEGORIES.values() for name in names}
    assert truth.key is None or 1 <= truth.key[0] <= truth.key[1] <= log.count(b"\n")


@pytest.mark.parametrize("path", FILES[::6], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_fast_matcher_finds_what_plain_regular_expressions_find(path: Path, rules: RuleSet) -> None:
    _, log = split(path)
    found = rules.find(LogFile.of(path.stem, log))
    hits = {(hit.rule.id, hit.line) for hit in found.hits}
    free = [rule for rule in rules.rules if not rule.all and not rule.absent and not rule.start]
    for number, raw in enumerate(log.split(b"\n"), 1):
        text = clean(raw)
        for rule in free:
            if any(compiled(p).search(text) or compiled(p).search(bare(text)) for p in rule.any):
                assert (rule.id, number) in hits
