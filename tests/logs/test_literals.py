"""Texts that a pattern asks for: never one too many, or a failure would be overlooked."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye import knowledge
from buildeye.logs.literals import COMMON, required
from buildeye.logs.rules import load_packs
from buildeye.logs.text import clean

CASES = [
    (r"No space left on device", {"no space left on device"}),
    (r"^FAILED (?P<test>\S+::\S+) - AssertionError", {" - assertionerror"}),
    (r"(?:refused|reset by peer) while", {"refused while", "reset by peer while"}),
    (r"[Cc]ould not resolve host", {"could not resolve host"}),
    (r"modules? not found", {"module not found", "modules not found"}),
    (r"warning: .*", None),
    (r"\d+", None),
    (r"(?:abcdefgh)?", None),
    (r"(?:abcdefgh|.x)", None),
    (r"(?:connection lost)+", {"connection lost"}),
]


@pytest.mark.parametrize(("pattern", "texts"), CASES, ids=[p for p, _ in CASES])
def test_a_pattern_asks_for_its_rarest_plain_text(pattern: str, texts: set[str] | None) -> None:
    assert required(pattern) == texts


def test_every_example_of_every_rule_holds_a_text_that_its_pattern_asks_for() -> None:
    for rule in load_packs(knowledge.pack_files()):
        for pattern in (*rule.any, *rule.all):
            texts = required(pattern)
            for line in (clean(x.encode()) for example in rule.must_match for x in example.split("\n")):
                if texts and re.search(pattern, line):
                    assert any(text in line.lower() for text in texts), (rule.id, pattern, line)


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


@given(PARTS, st.text(alphabet="errolstdikfumn xou", max_size=40), st.lists(WORDS, max_size=4))
def test_whatever_a_pattern_matches_holds_a_text_it_asks_for(pattern: str, noise: str, words: list[str]) -> None:
    texts = required(pattern)
    line = noise + "".join(words)
    if texts and re.search(pattern, line):
        assert any(text in line.lower() for text in texts)


def test_common_words_are_written_as_they_are_looked_for() -> None:
    assert all(text == text.lower() for text in COMMON)
