"""Texts that a pattern asks for: never one too many, or a failure would be overlooked."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye import knowledge
from buildeye.logs.literals import Required, may_take_for_ever, required
from buildeye.logs.rules import load_packs
from buildeye.logs.text import clean

CASES = [
    (r"No space left on device", {"No space left on device"}, True),
    (r"(?i)No Space Left", {"no space left"}, True),
    (r"a (?i:No) space", {"a no space"}, True),
    (r"^FAILED (?P<test>\S+::\S+) - AssertionError", {" - AssertionError"}, True),
    (r"(?:refused|reset by peer) while", {"refused while", "reset by peer while"}, True),
    (r"[Cc]ould not resolve host", {"Could not resolve host", "could not resolve host"}, True),
    (r"modules? not found", {"module not found", "modules not found"}, True),
    (r"\s\[✖\] (\S+)", {"[✖] "}, True),
    (r"(?i)❌ bad ❌", None, False),
    (r"^_{3,} test", {"___ test"}, True),
    (r"warning: .*", {"warning: "}, False),
    (r"\d+", None, False),
    (r"(?:abcdefgh)?", None, False),
    (r"(?:abcdefgh|.x)", None, False),
    (r"(?:connection lost)+", {"connection lost"}, True),
]


@pytest.mark.parametrize(("pattern", "texts", "rare"), CASES, ids=[p for p, _, _ in CASES])
def test_a_pattern_asks_for_its_rarest_plain_text(pattern: str, texts: set[str] | None, rare: bool) -> None:
    asked = required(pattern)
    assert asked is None if texts is None else asked is not None and asked.texts == texts
    assert (asked is not None and asked.rare) is rare


def holds(line: str, asked: Required) -> bool:
    """Whether a line holds a text that is asked for."""
    return any(text in (line.lower() if asked.caseless else line) for text in asked.texts)


def test_every_example_of_every_rule_holds_a_text_that_its_pattern_asks_for() -> None:
    for rule in load_packs(knowledge.pack_files()):
        for pattern in (*rule.any, *rule.all):
            asked = required(pattern)
            for line in (clean(x.encode()) for example in rule.must_match for x in example.split("\n")):
                if asked and re.search(pattern, line):
                    assert holds(line, asked), (rule.id, pattern, line)


HANGING = [
    (r"(a+)+$", True),
    (r"^(?:\w+\s?)*$", True),
    (r"x(?:(?:ab)*)+y", True),
    (r"^(?:\w+\.)*[A-Z]\w*: ", False),
    (r"(?:\d+ \w+, )*done", False),
    (r"(?:a+){1,3}b", False),
]


@pytest.mark.parametrize(("pattern", "hangs"), HANGING, ids=[pattern for pattern, _ in HANGING])
def test_a_repeat_of_a_repeat_is_told_from_one_that_something_stands_between(pattern: str, hangs: bool) -> None:
    assert may_take_for_ever(pattern) is hangs


WORDS = st.sampled_from(["error", "lost", "disk full", "timeout", "no such", "x"])
PARTS = st.recursive(
    WORDS.map(re.escape),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: "(?:" + "|".join(parts) + ")"),
        st.lists(inner, min_size=2, max_size=3).map("".join),
        inner.map(lambda part: f"(?:{part})?"),
        inner.map(lambda part: f"({part})"),
    ),
    max_leaves=6,
)


@given(PARTS, st.text(alphabet="errolstdikfumn xou", max_size=40), st.lists(WORDS | WORDS.map(str.upper), max_size=4))
def test_whatever_a_pattern_matches_holds_a_text_it_asks_for(pattern: str, noise: str, words: list[str]) -> None:
    asked = required(pattern)
    line = noise + "".join(words)
    if asked and re.search(pattern, line):
        assert holds(line, asked)
