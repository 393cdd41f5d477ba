"""Rule packs: those that come with Build-Eye are sound, and a wrong one is told what is wrong."""

from pathlib import Path

import pytest

from buildeye import knowledge
from buildeye.logs.lint import lint, shadowed
from buildeye.logs.rules import Rule, load_pack, load_packs
from buildeye.logs.ruleset import load_ruleset
from buildeye.logs.source import LogFile
from buildeye.model import UsageError

GOOD = """
[[rule]]
id = "mine.disk"
title = "The disk is full"
category = "disk-full"
any = ['''No space left on device$''']
explanation = "Nothing more can be written."
advice = [{ title = "Free some space" }]
must_match = ["write: No space left on device"]
must_not_match = ["there is space left on the device"]
"""


@pytest.fixture(scope="module")
def shipped() -> list[Rule]:
    return load_packs(knowledge.pack_files())


def test_every_rule_that_comes_with_build_eye_passes_the_lint(shipped: list[Rule]) -> None:
    assert lint(shipped) == []


def test_no_rule_takes_away_the_example_of_another(shipped: list[Rule]) -> None:
    assert shadowed(load_ruleset(), shipped) == []


def test_the_packs_that_the_design_names_are_there(shipped: list[Rule]) -> None:
    named = set(knowledge.PACK_ORDER)
    assert {path.stem for path in knowledge.pack_files()} == named
    assert len(shipped) >= 100


def test_a_pack_of_a_user_is_read_before_ours(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD)
    rules = load_ruleset([tmp_path], tmp_path / "cache")
    assert rules.rules[0].id == "mine.disk"
    assert load_ruleset([tmp_path], tmp_path / "cache") == rules


WRONG = [
    ("not toml at all [", "cannot be read"),
    ("x = 1", r"no \[\[rule\]\]"),
    (GOOD.replace("title =", "titel ="), "unknown key 'titel'"),
    (GOOD.replace('id = "mine.disk"', 'id = ""'), "'id' is missing"),
    (GOOD.replace('"disk-full"', '"no-such-category"'), "must state its 'cause'"),
    (GOOD.replace("must_match = [", "must_match = 3 #"), "must be a list of strings"),
    (GOOD + 'select = "middle"', "'select' must be first or last"),
    (GOOD + 'tier = "guess"', "guess"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[s[:24] for _, s in WRONG])
def test_a_wrong_pack_is_refused_with_file_and_reason(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        load_pack(path)
    assert str(path) in str(caught.value)


LINTS = [
    ('any = ["""(?=x)y"""]', "look-around"),
    ("any = ['''a^b''']", "only at the very start"),
    ("any = ['''^a|b''']", "anchors only a"),
    ("any = ['''error: (.*)''']", "open repeat"),
    ("any = ['''x*''']", "empty line"),
    ("any = ['''(?:x+)+$''']", "take for ever"),
    ("any = ['''(''']", "not a regular expression"),
    ("any = ['''nothing like it''']", "does not match its own example"),
    ("any = ['''space left on''']", "matches what it must not"),
]


@pytest.mark.parametrize(("pattern", "said"), LINTS, ids=[s for _, s in LINTS])
def test_lint_says_what_is_wrong_with_a_pattern(pattern: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace("any = ['''No space left on device$''']", pattern))
    assert any(said in problem for problem in lint(load_pack(path)))


def test_lint_finds_an_id_that_is_taken_twice(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert any("taken twice" in problem for problem in lint(load_packs([path, path])))


ORDINARY = (
    "make: *** [all] Error 1",
    "There was 1 failure:",
    "Tests: 3, 1 failed",
    "   Compiling acme v1.0",
    "remote: Counting objects: 12, done.",
    "##[group]Run make test",
)


def test_every_example_is_found_by_all_rules_together_whatever_stands_before_it(shipped: list[Rule]) -> None:
    rules = load_ruleset()
    by_id = {rule.id for rule in shipped if not rule.all and not rule.absent and not rule.step}
    for number, rule in enumerate(shipped):
        if rule.id in by_id:
            for example in rule.must_match:
                before = ORDINARY[number % len(ORDINARY)]
                found = rules.find(LogFile.of("example", f"{before}\n{example}\n".encode()))
                assert rule.id in {hit.rule.id for hit in found.hits}, (rule.id, before, example)


def test_a_pack_with_a_pattern_that_could_hang_is_refused_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(GOOD.replace("No space left on device$", "(?:x+)+$"))
    with pytest.raises(UsageError, match=r"mine\.disk.*for ever.*rules lint"):
        load_ruleset([tmp_path], tmp_path / "cache")
