"""One pass over a log: every hit at its line, in bounded memory, whatever the block boundaries."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye import knowledge
from buildeye.logs.engine import FIRST_HITS, LAST_HITS, LATE_BYTES, scan, scan_late, scan_short
from buildeye.logs.lines import Lines
from buildeye.logs.matcher import Matcher
from buildeye.logs.rules import load_packs
from buildeye.logs.source import Block, LogFile
from buildeye.logs.text import bare, clean
from buildeye.model import UsageError

PATTERNS = (r"^FAILED (\S+)", r"error: .+$", r"No space left on device")


class SmallBlocks(LogFile):
    """A log that comes in blocks of a given size."""

    __slots__ = ("step",)
    step: int

    def blocks(self, size: int = 0) -> "list[Block]":  # type: ignore[override]  # a list is an iterable too
        return list(super().blocks(self.step))


def small(data: bytes, step: int) -> SmallBlocks:
    log = SmallBlocks("x", len(data), lambda o, n: data[o : o + n], lambda: None)
    log.step = step
    return log


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher.compile(PATTERNS)


def test_a_pattern_anchored_at_the_start_matches_behind_the_stamp_of_the_runner(matcher: Matcher) -> None:
    log = LogFile.of("x", b"2026-05-12T08:14:02.1234567Z FAILED a.py::t\nnot FAILED_ here\n")
    assert scan_short(log, matcher).hits[0] == [1]


@given(
    st.lists(
        st.sampled_from(
            ["FAILED a", "fine", "x.c: error: bad", "No space left on device", "", "\x1b[31merror: y\x1b[0m"]
        ),
        max_size=30,
    ),
    st.integers(min_value=40, max_value=400),
)
def test_hits_do_not_depend_on_where_blocks_end(lines: list[str], step: int) -> None:
    matcher = Matcher.compile(PATTERNS)
    data = "\n".join(lines).encode()
    found = scan_short(small(data, step), matcher)
    for i, pattern in enumerate(PATTERNS):
        wanted = [
            n
            for n, text in enumerate(lines, 1)
            if re.search(pattern, text.replace("\x1b[31m", "").replace("\x1b[0m", ""))
        ]
        assert found.hits.get(i, []) == wanted
    assert found.lines == (len(data.split(b"\n")) if data and not data.endswith(b"\n") else data.count(b"\n"))


@given(
    st.lists(st.text(alphabet="ab \u00e9", max_size=20), min_size=1, max_size=30),
    st.integers(min_value=48, max_value=200),
)
def test_every_line_can_be_read_again_by_its_number(lines: list[str], step: int) -> None:
    data = ("\n".join(lines) + "\n").encode()
    log = small(data, step)
    again = Lines(log, scan(log, Matcher.compile(PATTERNS)))
    assert [again[n] for n in range(1, len(lines) + 1)] == [text.rstrip() for text in lines]


def test_a_line_longer_than_a_block_is_one_line(matcher: Matcher) -> None:
    data = b"first\n" + b"x" * 500 + b"\nFAILED last\n"
    log = small(data, 64)
    found = scan(log, matcher)
    assert found.lines == 3
    assert found.hits[0] == [3]
    assert Lines(log, found)[3] == "FAILED last"
    assert Lines(log, found)[2].startswith("xxxx")


def test_a_line_that_repeats_for_ever_is_kept_at_both_ends_only(matcher: Matcher) -> None:
    found = scan(LogFile.of("x", b"FAILED a\n" * 5000), matcher)
    assert len(found.hits[0]) <= FIRST_HITS + 2 * LAST_HITS
    assert found.hits[0][0] == 1
    assert found.hits[0][-1] == 5000


def test_a_compiled_database_is_kept_and_used_again(tmp_path: Path) -> None:
    Matcher.compile(PATTERNS, tmp_path)
    assert list(tmp_path.glob("*.hsdb"))
    again = Matcher.compile(PATTERNS, tmp_path)
    assert scan(LogFile.of("x", b"FAILED a\n"), again).hits[0] == [1]


def test_a_damaged_cache_is_compiled_anew(tmp_path: Path) -> None:
    Matcher.compile(PATTERNS, tmp_path)
    for kept in tmp_path.glob("*.hsdb"):
        kept.write_bytes(b"not a database")
    assert scan(LogFile.of("x", b"FAILED a\n"), Matcher.compile(PATTERNS, tmp_path)).hits[0] == [1]


def test_what_was_compiled_long_ago_goes_when_rules_change(tmp_path: Path) -> None:
    Matcher.compile(PATTERNS, tmp_path)
    for kept in tmp_path.glob("*.hsdb"):
        os.utime(kept, (1, 1))
    old = {kept.name for kept in tmp_path.glob("*.hsdb")}
    Matcher.compile([*PATTERNS, "one pattern more"], tmp_path)
    now = {kept.name for kept in tmp_path.glob("*.hsdb")}
    assert now
    assert not now & old
    assert scan(LogFile.of("x", b"FAILED a\n"), Matcher.compile(PATTERNS, tmp_path)).hits[0] == [1]


def test_a_pattern_that_cannot_be_compiled_is_named() -> None:
    with pytest.raises(UsageError, match=r"look\|ahead|a\(\?=b\)"):
        Matcher.compile([r"a(?=b)"])


LATE = (r"^panic: (\w+)$", r"^error: (\w+)$")
"""One pattern that asks for a rare text, one that asks for a common one."""


def test_what_too_many_lines_hold_is_looked_for_where_a_failure_is_told_only() -> None:
    matcher = Matcher.compile(LATE)
    filler = b"x" * 99 + b"\n"
    half = filler * (2 * LATE_BYTES // len(filler))
    log = LogFile.of("x", b"error: early\npanic: early\n" + half + b"error: ended\n" + half + b"error: last\n")
    lines = half.count(b"\n")
    found = scan(log, matcher)
    assert found.hits == {0: [2]}
    scan_late(log, matcher, {1}, [lines + 3], found)
    assert found.hits == {0: [2], 1: [lines + 3, 2 * lines + 4]}


def test_late_patterns_that_nobody_wants_are_not_looked_for() -> None:
    matcher = Matcher.compile(LATE)
    log = LogFile.of("x", b"error: last\n")
    found = scan(log, matcher)
    scan_late(log, matcher, set(), (), found)
    assert found.hits == {}


def test_every_pattern_finds_its_examples_in_raw_lines_as_re_does_in_cleaned_ones() -> None:
    rules = load_packs(knowledge.pack_files())
    patterns = list(dict.fromkeys(p for rule in rules for p in rule.any))
    examples = (x for rule in rules for x in (*rule.must_match, *rule.must_not_match))
    lines = list(dict.fromkeys(line for example in examples for line in example.split("\n")))
    cleaned = [(text, bare(text)) for text in (clean(line.encode()) for line in lines)]
    data = "".join(f"2026-05-12T08:14:02.1234567Z {line}\n" for line in lines).encode()
    hits = scan_short(LogFile.of("x", data), Matcher.compile(patterns)).hits
    for i, pattern in enumerate(patterns):
        search = re.compile(pattern).search
        wanted = [n for n, texts in enumerate(cleaned, 1) if any(map(search, texts))]
        assert hits.get(i, [])[:FIRST_HITS] == wanted[:FIRST_HITS], pattern


def test_a_class_of_characters_beyond_ascii_matches_each_of_them() -> None:
    matcher = Matcher.compile([r"no package called [‘’'\"](\w+)", r"^[^“]+ gave up on it$"])
    log = "there is no package called ‘shiny’\n… at last gave up on it\n".encode()
    assert scan_short(LogFile.of("x", log), matcher).hits == {0: [1], 1: [2]}
