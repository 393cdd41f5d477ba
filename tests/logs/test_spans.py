"""Rules that hold between two lines only."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.diagnose import diagnose
from buildeye.logs.lint import lint, matches
from buildeye.logs.rules import load_pack
from buildeye.logs.ruleset import RuleSet, load_ruleset
from buildeye.logs.source import LogFile
from buildeye.logs.spans import opened
from buildeye.model import UsageError

PACK = """\
[[rule]]
id = "acme.quota"
title = "Team {team} may not have more {kind}"
category = "runner-contention"
start = ['''^acme: plan of team (?P<team>\\w+)$''']
any = ['''^  - quota of (?P<kind>\\w+) used up$''']
until = ['''^acme: end of plan$''']
confidence = 0.9
explanation = "Each team has so much."
advice = [{ title = "Ask for more {kind} for {team}", steps = [], command = "" }]
must_match = ["acme: plan of team blue\\n  - quota of disks used up"]
must_not_match = ["acme: plan of team blue\\nacme: end of plan\\n  - quota of disks used up"]
"""


@pytest.fixture
def rules(tmp_path: Path) -> RuleSet:
    (tmp_path / "acme.toml").write_text(PACK)
    return load_ruleset([tmp_path], tmp_path / "cache")


def test_a_line_counts_only_within_its_span_and_knows_what_opened_it(rules: RuleSet) -> None:
    log = (
        b"  - quota of wires used up\nacme: plan of team red\nacme: end of plan\n  - quota of lamps used up\n"
        b"acme: plan of team blue\nlooking\n  - quota of disks used up\nacme: end of plan\n"
    )
    found = diagnose(LogFile.of("x", log), rules)
    assert found.key_line is not None
    assert found.key_line.number == 7
    assert found.summary.startswith("Team blue may not have more disks")
    assert [e.line for e in found.evidence if e.id == "acme.quota"] == [7]


def test_lint_takes_a_rule_with_a_span_and_tries_its_examples_as_whole_texts(rules: RuleSet) -> None:
    rule = next(rule for rule in rules.rules if rule.id == "acme.quota")
    assert not matches(rule, "  - quota of disks used up")
    assert matches(rule, "acme: plan of team blue\n  - quota of disks used up")


def test_the_pack_passes_the_lint(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text(PACK)
    assert lint(load_pack(tmp_path / "acme.toml")) == []


def test_an_end_without_a_start_is_refused(tmp_path: Path) -> None:
    (tmp_path / "acme.toml").write_text("\n".join(x for x in PACK.splitlines() if not x.startswith("start")))
    with pytest.raises(UsageError, match=r"acme\.quota.*until"):
        load_pack(tmp_path / "acme.toml")


LINES = st.lists(st.integers(1, 40), unique=True).map(sorted)


@given(LINES, LINES, LINES)
def test_spans_are_those_that_a_walk_over_the_lines_finds(
    numbers: list[int], starts: list[int], untils: list[int]
) -> None:
    walked: dict[int, int] = {}
    start = 0
    for line in range(1, 41):
        if line in untils and line != start:
            start = 0
        if start and line in numbers:
            walked[line] = start
        if line in starts:
            start = line
    assert opened(numbers, starts, untils) == walked
