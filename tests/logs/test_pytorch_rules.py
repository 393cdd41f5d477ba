"""PyTorch's ruleset.toml form: loaded as it is, in its order, with what cannot be taken over told."""

import logging
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.diagnose import diagnose
from buildeye.logs.joined import joined
from buildeye.logs.lint import lint
from buildeye.logs.pytorch_rules import as_toml, converted, import_rules, read_tables
from buildeye.logs.rules import Tier, load_pack
from buildeye.logs.ruleset import load_ruleset
from buildeye.logs.source import LogFile
from buildeye.model import Cause, Diagnosis, UsageError

SAMPLE = r"""
# The first rule that matches decides.
[[rule]]
name = 'Widget linter'
pattern = '^widget-lint: .*'

[[rule]]
name = '''The gear's teeth'''
pattern = '''gear '(\w+)' lost (\d+) teeth'''

[[rule]]
name = 'Suite failure'
pattern = '(^\[ BROKEN \].*) after \d+ ms'

[[rule]]
name = 'Left of its brother'
pattern = 'gear(?= box)'

[[rule]]
name = 'Anything marked'
pattern = '^##\[error\](.*)'
"""
Explain = Callable[[str], Diagnosis]
ORDER = ["widget-linter", "the-gear-s-teeth", "suite-failure", "anything-marked"]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    folder = tmp_path / "knowledge"
    folder.mkdir()
    (folder / "ruleset.toml").write_text(SAMPLE)
    return folder / "ruleset.toml"


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Explain:
    """Diagnoses a text with the sample before the rules that come with Build-Eye."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "ruleset.toml").write_text(SAMPLE)
    rules = joined(load_pack(folder / "ruleset.toml"), load_ruleset())
    return lambda text: diagnose(LogFile.of("a.log", text.encode()), rules)


def test_a_ruleset_is_a_pack_as_it_is(sample: Path) -> None:
    rules = load_pack(sample)
    assert [rule.id for rule in rules] == [f"imported.ruleset.{name}" for name in ORDER]
    assert {rule.select for rule in rules} == {"last"}


def test_a_folder_of_knowledge_may_hold_one(sample: Path) -> None:
    rules = load_ruleset([sample.parent], sample.parent / "cache")
    assert [rule.id for rule in rules.rules[:4]] == [f"imported.ruleset.{name}" for name in ORDER]
    assert load_ruleset([sample.parent], sample.parent / "cache") == rules


def test_what_cannot_be_taken_over_is_told_with_the_reason(sample: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load_pack(sample)
    assert [m for m in caplog.messages if "Left of its brother" in m and "look-around is not matched" in m]


MARKED = "##[error]widget-lint: bent\n"
TEETH = "gear 'b' lost 3 teeth\n"
LINT = "widget-lint: bent\n"
BROKEN = "[ BROKEN ] Gears.Turn after 12 ms\n"
STEP = "##[group]Run make\n##[endgroup]\n"
EXIT = "##[error]Process completed with exit code 2.\n"


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        (LINT + TEETH, "widget-linter", 1),
        (TEETH + LINT, "widget-linter", 2),
        (TEETH + LINT + TEETH, "widget-linter", 2),
        (TEETH + TEETH + BROKEN, "the-gear-s-teeth", 2),
        (LINT + "quiet\n" * 400 + BROKEN, "widget-linter", 1),
        (LINT + STEP + TEETH + EXIT, "widget-linter", 1),
        (LINT + STEP + "error: no such gear\n" + EXIT, "widget-linter", 1),
        (BROKEN + EXIT, "suite-failure", 1),
    ],
)
def test_the_earliest_rule_decides_by_its_last_line(explained: Explain, text: str, rule: str, line: int) -> None:
    d = explained(text)
    assert d.evidence[0].id == f"imported.ruleset.{rule}"
    assert d.key_line is not None
    assert d.key_line.number == line


def test_a_pattern_for_every_failure_decides_nothing(sample: Path, explained: Explain) -> None:
    assert [rule.tier for rule in load_pack(sample)] == [Tier.CAUSE] * 3 + [Tier.CATCH_ALL]
    assert explained("all quiet\n" + EXIT).evidence[0].id != "imported.ruleset.anything-marked"


def test_what_was_captured_is_in_summary_and_signature(explained: Explain) -> None:
    d = explained(TEETH)
    assert d.summary.startswith("The gear's teeth: b")
    assert d.signature.startswith("imported.ruleset.the-gear-s-teeth|b")


def test_a_name_without_a_category_says_unknown_and_shows_the_line(explained: Explain) -> None:
    d = explained(TEETH)
    assert (d.cause, d.category) == (Cause.UNKNOWN, "unknown")
    assert d.key_line is not None


CATEGORIES = [
    ("Widget linter", "lint"), ("pytest failure", "test-failure"), ("MSVC compiler error", "compile"),
    ("CUDA out of memory", "out-of-memory"), ("Test file timed out", "timeout"), ("docker pull", "image-pull"),
    ("undefined reference", "link"), ("the gear", "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "category"), CATEGORIES)
def test_a_category_is_guessed_from_the_name(name: str, category: str) -> None:
    (rule,) = import_rules(Path("p.toml"), [{"name": name, "pattern": "some text"}]).rules
    assert rule.category == category
    assert (rule.confidence < 0.5) == (category == "unknown")


def test_imported_rules_pass_lint_without_examples(sample: Path) -> None:
    assert lint(load_pack(sample)) == []


def test_what_is_written_out_is_what_was_imported(sample: Path, tmp_path: Path) -> None:
    pack = tmp_path / "pack.toml"
    pack.write_text(as_toml(load_pack(sample)))
    assert load_pack(pack) == load_pack(sample)


NAMES = st.text(min_size=1, max_size=20).filter(str.strip)


@given(st.lists(st.tuples(NAMES, st.sampled_from(["a'b", 'a"b', r"\d+ x", "'''", "größer", "a\\\\b", "tab\there"]))))
def test_any_name_and_pattern_can_be_written_out(rows: list[tuple[str, str]]) -> None:
    rules = import_rules(Path("p.toml"), [{"name": n, "pattern": p} for n, p in rows]).rules
    assert len({rule.id for rule in rules}) == len(rules)
    written = tomllib.loads(as_toml(rules)).get("rule", [])
    assert [(w["id"], w["title"], tuple(w["any"]), w["weight"]) for w in written] == [
        (rule.id, rule.title, rule.any, rule.weight) for rule in rules
    ]


CONVERTED = [
    (r"^gear .*", r"^(?P<what>gear .*)$", True),
    (r"gear", r"(?P<what>gear)", True),
    (r"lost$", r"(?P<what>lost)$", True),
    (r"costs 5\$", r"(?P<what>costs 5\$)", True),
    (r"(?i)^gear (\w+)", r"(?i)^gear (?P<what>\w+)", True),
    (r"(^gear) (\d)", r"^(?P<what>gear) (?P<what2>\d)", True),
    (r"gear (a)? (b)", r"gear (?P<what>a)? (?P<what2>b)", False),
    (r"gear (?:a|(b))", r"gear (?:a|(?P<what>b))", False),
    (r"gear [(] (\d)", r"gear [(] (?P<what>\d)", True),
    (r"gear [])(] (\d)", r"gear [])(] (?P<what>\d)", True),
    (r"gear \(lost\) (\d)", r"gear \(lost\) (?P<what>\d)", True),
    (r"(?<gear>\w+) lost", r"(?P<gear>\w+) lost", False),
]


@pytest.mark.parametrize(("pattern", "ours", "always"), CONVERTED)
def test_a_pattern_is_rewritten_for_both_matchers(pattern: str, ours: str, always: bool) -> None:
    assert converted(pattern) == (ours, always)


REFUSED = [
    (r"gear(?=s)", "look-around"),
    (r"gear(?!s)", "look-around"),
    (r"(?<=a)gear", "look-around"),
    (r"(\w)gear\1", "back-reference"),
    (r"^[[:alpha:]]+ lost", "another meaning"),
    (r"gear(", "no regular expression"),
    (r"\p{Greek} lost", "no regular expression"),
    (r".*", "every line"),
    (r"(gear)?", "every line"),
    (r"^gear|lost", "one branch"),
    (r"gear|lost$", "one branch"),
    (r"(^gear|lost) teeth", "one branch"),
    (r"gear (?:^lost)", "elsewhere than at the very start"),
    (r"gear{1,40000}teeth", "linear-time matcher refuses"),
    (r"(?>gear)s", "linear-time matcher refuses"),
]


@pytest.mark.parametrize(("pattern", "reason"), REFUSED)
def test_a_pattern_that_is_not_taken_over_says_why(pattern: str, reason: str) -> None:
    done = import_rules(Path("p.toml"), [{"name": "a", "pattern": pattern}])
    assert done.rules == ()
    assert reason in done.refused[0].reason


PIECES = ["gear", " ", "lost", "[ BROKEN ]", "\\d+", "(\\w+)", "(?:a|b)", ".*", "x?", "^", "$", "[ab]", "(g.*)"]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), st.text("gear lost[BOKEN]ab12 x"))
def test_a_rewritten_pattern_matches_the_same_lines(pattern: str, line: str) -> None:
    done = import_rules(Path("p.toml"), [{"name": "a", "pattern": pattern}])
    for rule in done.rules:
        assert bool(re.search(rule.any[0], line)) == bool(re.search(pattern, line))


WRONG = [
    ("[[rule]]\nname = 'a'\npattern = 3", "'pattern' must be a text"),
    ("[[rule]]\npattern = 'gear'", "'name' must be a text"),
    ("[[rule]]\nname = 'a'\npattern = 'b(?=c)'", "none of its 1 patterns"),
]


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_ruleset_is_refused_with_file_and_reason(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "ruleset.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        load_pack(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["x = 1", "[[rule]]\nid = 'a.b'\npattern = 'x'", "rule = [1]", "[[", "rule = 'x'"])
def test_a_file_of_another_form_is_no_ruleset(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ruleset.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(str(path))):
        read_tables(path)


def test_rules_of_one_name_get_ids_of_their_own(tmp_path: Path) -> None:
    tables = [{"name": "Gear", "pattern": p} for p in ("one gear", "two gears", "three")]
    assert [rule.id.rpartition(".")[2] for rule in import_rules(Path("p.toml"), tables).rules] == [
        "gear", "gear-2", "gear-3",
    ]  # fmt: skip
