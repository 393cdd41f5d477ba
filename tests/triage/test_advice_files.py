"""Files of advice: ours are good, a user's come first, and a mistake in one is told with file, entry and field."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from buildeye import knowledge
from buildeye.logs.rules import load_pack
from buildeye.logs.ruleset import load_ruleset
from buildeye.model import Cause, Cost, UsageError
from buildeye.triage.advice import advise
from buildeye.triage.advicelint import OF_A_REASON, lint_templates
from buildeye.triage.situation import PLACES
from buildeye.triage.templates import Template, When, load_file, load_templates, packaged_templates
from tests.triage.cases import job
from tests.triage.test_advice import finding, verdict

OWN = """
[[advice]]
id = "acme.disk"
title = "Page the owners of {pool}"
cost = "low"
order = 1
command = "acme page {runner}"
[advice.when]
category = "disk-full"
"""
RULE = """
[[rule]]
id = "acme.quota"
title = "t"
category = "runner-contention"
any = ['''^acme: quota''']
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "advice").mkdir()
    return tmp_path


def test_our_templates_have_nothing_wrong() -> None:
    assert lint_templates(packaged_templates()) == []
    assert len(knowledge.advice_files()) >= 5


def test_a_user_s_advice_comes_before_ours(folder: Path) -> None:
    (folder / "advice" / "acme.toml").write_text(OWN.replace("Page the owners of {pool}", "Page the owners"))
    templates = load_templates([folder])
    assert templates[0].id == "acme.disk"
    assert templates[1:] == packaged_templates()
    advice = advise(finding(verdict(Cause.INFRASTRUCTURE, "disk-full")), templates)
    assert (advice[0].title, advice[0].command) == ("Page the owners", "acme page runner-1")


def test_a_user_s_advice_with_an_id_of_ours_takes_its_place(folder: Path) -> None:
    (folder / "advice" / "acme.toml").write_text(OWN.replace("acme.disk", "unknown.look"))
    templates = load_templates([folder])
    assert len(templates) == len(packaged_templates())
    assert templates[0].title == "Page the owners of {pool}"


def test_a_user_s_advice_is_the_one_of_its_group(folder: Path) -> None:
    text = OWN.replace('cost = "low"', 'cost = "low"\ngroup = "disk-full"').replace("of {pool}", "")
    (folder / "advice" / "acme.toml").write_text(text)
    advice = advise(finding(verdict(Cause.INFRASTRUCTURE, "disk-full")), load_templates([folder]))
    assert not any("Free the disk" in suggestion.title for suggestion in advice)


def test_advice_may_stand_beside_rules_or_alone_in_a_pack(folder: Path) -> None:
    (folder / "both.toml").write_text(RULE + OWN)
    (folder / "only.toml").write_text(OWN.replace("acme.disk", "acme.alone"))
    (folder / "rules.toml").write_text(RULE.replace("acme.quota", "acme.more"))
    assert [t.id for t in load_templates([folder])[:2]] == ["acme.disk", "acme.alone"]
    assert load_pack(folder / "only.toml") == []
    assert [rule.id for rule in load_ruleset([folder], folder / "cache").rules[:2]] == ["acme.quota", "acme.more"]


def test_a_folder_without_advice_adds_none(folder: Path) -> None:
    assert load_templates([folder]) == packaged_templates()


def test_a_folder_that_is_none_is_said(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere: no such folder of advice"):
        load_templates([folder / "nowhere"])


WRONG = [
    ('id = "acme.disk"', "", "advice number 1: field 'id' is missing"),
    ('cost = "low"', 'cost = "cheap"', "advice acme.disk: field 'cost' is wrong (input should be 'low'"),
    ('cost = "low"', 'cots = "low"', "advice acme.disk: field 'co"),
    ("order = 1", 'order = "first"', "advice acme.disk: field 'order' is wrong"),
    ('category = "disk-full"', "category = 3", "advice acme.disk: field 'when.category' is wrong"),
    ('category = "disk-full"', 'cause = "fate"', "advice acme.disk: field 'when.cause.0' is wrong"),
    (
        'category = "disk-full"',
        'kategory = "x"',
        "advice acme.disk: field 'when.kategory' is not known; known: ",
    ),
    ("order = 1", 'steps = "one"', "advice acme.disk: field 'steps' is wrong"),
    ("order = 1", "from_quote = '(a+)+$'", "advice acme.disk: field 'from_quote' repeats a repeat"),
    ("order = 1", "from_quote = '('", "advice acme.disk: field 'from_quote' is not a regular expression"),
    ("[[advice]]", "[advice]", "'advice' is not a list of [[advice]] tables"),
    (OWN, "x = 1", "no [[advice]] in this file"),
    (OWN, "x = ", "this file of advice cannot be read"),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_a_mistake_is_told_with_file_entry_and_field(folder: Path, old: str, new: str, said: str) -> None:
    path = folder / "advice" / "acme.toml"
    text = OWN.replace(old, new) if old != "[[advice]]" else OWN.replace(old, new).replace("[advice.when]", "[when]")
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        load_templates([folder])
    assert str(path) in str(raised.value)
    assert said in str(raised.value)
    assert "docs/advice.md" in str(raised.value)
    assert "\n" not in str(raised.value)


GOOD = load_file(knowledge.FOLDER / "advice" / "other.toml")[0]
LINT = [
    ({"id": "Own Advice"}, "an id is written in lower case"),
    ({"title": "Do it."}, "a title ends without a full stop"),
    ({"title": "Do {it}"}, "nothing fills {it}"),
    ({"title": "See {quote}"}, "nothing fills {quote}"),
    ({"steps": ("See {nothing}",)}, "nothing fills {nothing}"),
    ({"command": ("echo '{run_id}",)}, "a quote is left open"),
    ({"title": "A {brace"}, "a brace that is no placeholder"),
    ({"place": "step"}, "what is told as a step is its title alone"),
    ({"from_quote": "(?P<x>a)"}, "name it in 'from_reason'"),
]


@pytest.mark.parametrize(("given", "said"), LINT, ids=[said for _, said in LINT])
def test_lint_finds_what_would_say_something_wrong(given: dict[str, object], said: str) -> None:
    assert any(said in problem for problem in lint_templates([replace(GOOD, **given)]))  # type: ignore[arg-type]


WHEN = [
    ({"category": ("bad-luck",)}, "category 'bad-luck' is not known"),
    ({"has": ("luck",)}, "'luck' is none"),
    ({"has": ("test",), "lacks": ("test",)}, "'test' cannot be both known and not"),
]


@pytest.mark.parametrize(("given", "said"), WHEN, ids=[said for _, said in WHEN])
def test_lint_finds_conditions_that_never_hold(given: dict[str, object], said: str) -> None:
    when = replace(GOOD.when, **given)  # type: ignore[arg-type]
    assert any(said in problem for problem in lint_templates([replace(GOOD, when=when)]))


def test_lint_knows_the_categories_that_rules_add_and_ids_taken_twice() -> None:
    odd = replace(GOOD, when=replace(GOOD.when, category=("bad-luck",)))
    assert lint_templates([odd], {"bad-luck"}) == []
    assert lint_templates([GOOD, GOOD]) == [f"advice {GOOD.id}: this id is taken twice"]


def test_what_a_reason_fills_may_be_used() -> None:
    template = Template(
        "a.b", "Pin {package}: {why}", Cost.LOW, from_reason=("moved",), from_quote=r"(?P<package>\w+) moved"
    )
    assert lint_templates([template]) == []


PAGE = (Path(__file__).parents[2] / "docs" / "advice.md").read_text()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("fields", {f.name for f in fields(Template)}),
        ("conditions", {f.name for f in fields(When)}),
        ("placeholders", {f"{{{name}}}" for name in PLACES | OF_A_REASON}),
    ],
)
def test_the_page_names_all_there_are_and_no_others(kind: str, names: set[str]) -> None:
    section = PAGE.split(f"## {kind.capitalize()}\n")[1].split("\n## ")[0]
    first = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert {name for cell in first for name in re.findall(r"`([^`]+)`", cell)} == names


def test_the_example_of_the_page_is_good_advice(folder: Path) -> None:
    path = folder / "advice" / "page.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0])
    assert lint_templates(load_file(path)) == []
    held = verdict(Cause.INFRASTRUCTURE, "disk-full")
    one = finding(held)
    there = replace(one, jobs=(replace(one.jobs[0], job=job(runner_name="a3-4-07")),))
    assert advise(there, load_templates([folder]))[0].command == "acme page --runner a3-4-07 --run 1"
