"""Failures that no rule knows, told by what their words are like: sometimes, and never as sure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.diagnose import LIKE, diagnose
from buildeye.logs.likeness import MOST_SURE, likeness
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.model import CATEGORIES, Cause

HEAD = "##[group]Run ./glorp\n##[endgroup]\nglorp 4.1 starting\n"
END = "\n##[error]Process completed with exit code 4.\n"
LIKE_OTHERS = [
    ("glorp: error: peer hung up, connection to mirror was reset while downloading", Cause.INFRASTRUCTURE),
    ("glorp error: assertion failed, expected 4 values but received 5", Cause.CODE),
]


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return load_ruleset()


def _read(line: str, rules: RuleSet) -> LogFile:
    return LogFile.of("x", f"{HEAD}{line}{END}".encode())


@pytest.mark.parametrize(("line", "cause"), LIKE_OTHERS, ids=[cause.value for _, cause in LIKE_OTHERS])
def test_an_unknown_failure_is_told_by_what_it_is_like(line: str, cause: Cause, rules: RuleSet) -> None:
    bare = RuleSet(tuple(r for r in rules.rules if r.tier == "wrapper"), "few", rules.cache)
    found = diagnose(_read(line, rules), bare)
    assert found.cause is cause
    assert LIKE <= found.confidence <= MOST_SURE
    assert found.evidence[0].id == f"like.{found.category}"
    assert "No rule knows this failure" in found.summary
    assert found.key_line is not None
    assert found.key_line.text == line


def test_a_line_that_does_not_sound_like_failure_is_like_nothing(rules: RuleSet) -> None:
    assert diagnose(_read("glorp: 14 mirrors, 3 connections, downloading", rules), rules).cause is Cause.UNKNOWN


@given(st.lists(st.text(max_size=60), min_size=1, max_size=12), st.data())
def test_a_likeness_is_never_sure_and_its_category_is_of_its_cause(lines: list[str], data: st.DataObject) -> None:
    like = likeness(lines, data.draw(st.integers(0, len(lines) - 1)))
    assert 0 < like.probability <= MOST_SURE < 0.9
    assert any(like.category in categories for categories in CATEGORIES.values())
    assert len(like.words) <= 4


def test_the_same_words_give_the_same_likeness_whatever_the_numbers(rules: RuleSet) -> None:
    one, other = (likeness([f"connect to 10.0.0.{n} failed after {n} s: timed out"], 0) for n in (3, 250))
    assert one == other
