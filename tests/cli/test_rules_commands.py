"""`build-eye rules`: examples run, rules tried on a log, rulesets imported, and answers for programs."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from buildeye.cli.terminal import cells
from buildeye.logs.rules import load_pack
from tests.cli.program import build_eye
from tests.cli.test_explain import RED

PACK = """
[[rule]]
id = "acme.quota"
title = "The quota of team {team} is used up"
category = "runner-contention"
any = ['''^acme: quota of team (?P<team>[\\w-]+) is used up$''']
explanation = "None was free."
advice = [{ title = "Wait" }]
must_match = ["acme: quota of team payments is used up"]
must_not_match = ["acme: quota of team payments is 80 % used"]
"""
RULESET = """
[[rule]]
name = 'Widget linter'
pattern = '^widget-lint: .*'

[[rule]]
name = 'Gear lost'
pattern = 'gear lost'

[[rule]]
name = 'Gear box'
pattern = 'gear(?= box)'
"""


@pytest.fixture
def acme(folder: Path) -> Path:
    (folder / "acme.toml").write_text(PACK)
    return folder / "acme.toml"


@pytest.fixture
def ruleset(folder: Path) -> Path:
    (folder / "ruleset.toml").write_text(RULESET)
    return folder / "ruleset.toml"


def test_every_example_is_run_and_the_rule_that_takes_it_named(acme: Path) -> None:
    answer = build_eye("rules", "test", str(acme))
    rows = [line.split() for line in answer.out.splitlines()]
    assert answer.code == 0
    assert rows[1][:4] == ["acme.quota", "must", "ok", "itself"]
    assert rows[2][:5] == ["acme.quota", "must", "not", "ok", "nobody"]
    assert answer.out.splitlines()[-1] == "1 rules, 2 examples, 0 problems"


WRONG = [
    ("must_match = [", 'must_match = ["acme: all is well", ', "not matched"),
    ("must_not_match = [", 'must_not_match = ["acme: quota of team x is used up", ', "matched"),
]


@pytest.mark.parametrize(("old", "new", "said"), WRONG, ids=[said for *_, said in WRONG])
def test_an_example_that_goes_wrong_is_told_and_ends_with_1(acme: Path, old: str, new: str, said: str) -> None:
    acme.write_text(PACK.replace(f"\n{old}", f"\n{new}"))
    answer = build_eye("rules", "test", "--failed", str(acme))
    rows = answer.out.splitlines()
    assert answer.code == 1
    assert len(rows) == 3
    assert f" {said} " in rows[1]
    assert rows[-1] == "1 rules, 3 examples, 1 problems"


def test_an_example_that_a_rule_of_another_cause_takes_is_lost(acme: Path) -> None:
    acme.write_text(PACK.replace("any = [", "tier = 'symptom'\nany = ['''device''', ").replace(
        'must_match = ["', 'must_match = ["write failed: No space left on device", "'))  # fmt: skip
    answer = build_eye("rules", "test", "--failed", str(acme))
    assert answer.code == 1
    assert "lost to infrastructure" in answer.out


def test_nothing_to_complain_of_is_one_line(acme: Path) -> None:
    assert build_eye("rules", "test", "--failed", str(acme)).out == "1 rules, 2 examples, 0 problems\n"


def test_imported_rules_have_no_examples_to_run(ruleset: Path) -> None:
    answer = build_eye("rules", "test", str(ruleset))
    assert (answer.code, answer.out) == (0, "2 rules, 0 examples, 0 problems; 2 without examples\n")


def test_lint_reports_imported_rules_as_such(ruleset: Path) -> None:
    answer = build_eye("rules", "lint", str(ruleset))
    assert (answer.code, answer.out) == (0, "2 rules, 0 problems, 2 imported without examples\n")
    assert 'rule "Gear box" is left out: look-around' in answer.err


def tried(*arguments: str) -> dict[str, Any]:
    answer = build_eye("rules", "try", "-o", "json", *arguments)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found


def test_the_rule_that_decided_is_the_one_of_explain() -> None:
    Path("job.log").write_text(RED)
    d = json.loads(build_eye("explain", "--json", "job.log").out)
    (chosen,) = [hit for hit in tried("job.log")["hits"] if hit["chosen"]]
    assert (chosen["rule"], chosen["line"]) == (d["evidence"][0]["id"], d["key_line"]["number"])
    assert chosen["text"] == d["key_line"]["text"]


def test_hits_come_with_tier_points_and_why_they_lost_some() -> None:
    Path("job.log").write_text("warning: No space left on device\n" + RED)
    hits = tried("job.log")["hits"]
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert {"cause", "symptom", "wrapper"} <= {hit["tier"] for hit in hits}
    assert "only a warning" in {hit["demoted"] for hit in hits}


def test_a_table_of_hits_marks_what_decided_and_fits() -> None:
    Path("job.log").write_text("warning: No space left on device\n" + RED * 30)
    answer = build_eye("rules", "try", "job.log")
    marked = [line for line in answer.out.splitlines() if line.startswith(" ▶ ")]
    assert len(marked) == 1
    assert "(only a warning)" in " ".join(answer.out.split())
    assert "verdict: code / test-failure" in answer.out
    assert all(cells(line) <= 120 for line in answer.out.splitlines())
    assert all(cells(line) <= 100 for line in answer.out.splitlines()[:-1])


def test_a_pack_is_tried_before_it_is_used(acme: Path) -> None:
    Path("job.log").write_text("acme: quota of team payments is used up\n")
    (chosen,) = [hit for hit in tried("--pack", str(acme), "job.log")["hits"] if hit["chosen"]]
    assert chosen["rule"] == "acme.quota"
    assert chosen["captures"] == {"team": "payments"}


def test_a_pack_in_place_of_one_of_ours_takes_the_rules_it_names(acme: Path) -> None:
    acme.write_text(PACK.replace("acme.quota", "generic.error"))
    Path("job.log").write_text("acme: quota of team payments is used up\nerror: other\n")
    hits = tried("--pack", str(acme), "job.log")["hits"]
    assert [hit["line"] for hit in hits if hit["rule"] == "generic.error"] == [1]


def test_a_ruleset_is_tried_as_it_is(ruleset: Path) -> None:
    Path("job.log").write_text("gear lost\nwidget-lint: a\nwidget-lint: b\ngear lost\n")
    hits = tried("--pack", str(ruleset), "job.log")["hits"]
    assert [hit["line"] for hit in hits if hit["chosen"]] == [3]


def test_a_log_that_no_rule_hits_says_so() -> None:
    Path("job.log").write_text("all is quiet\n")
    assert build_eye("rules", "try", "job.log").out.startswith("no rule hits one of the 1 lines; verdict: ")


def test_each_job_of_an_archive_is_tried_under_its_name() -> None:
    with zipfile.ZipFile("logs.zip", "w") as archive:
        archive.writestr("0_unit.txt", RED)
        archive.writestr("1_lint.txt", RED)
    out = build_eye("rules", "try", "logs.zip").out.splitlines()
    assert [line.split()[1] for line in out if line.startswith("── ")] == ["logs.zip:unit", "logs.zip:lint"]


def test_secrets_are_masked_in_what_was_hit() -> None:
    token = "ghp_" + "a1B2" * 9
    Path("job.log").write_text(RED.replace("assert 3 == 2", f"assert '{token}' == 2"))
    for form in ("table", "json"):
        answer = build_eye("rules", "try", "-o", form, "job.log")
        assert answer.code == 0
        assert token not in answer.out


def test_a_ruleset_becomes_a_pack_that_reads_back(ruleset: Path) -> None:
    answer = build_eye("rules", "import", str(ruleset), "--output", "packs/imported.toml")
    assert (answer.code, answer.out) == (0, "")
    assert load_pack(Path("packs/imported.toml")) == load_pack(ruleset)
    said = answer.err.splitlines()
    assert said[0] == f"{ruleset}: 2 of 3 rules imported to packs/imported.toml"
    assert said[1] == "1 have no category yet; 1 got one that their name suggests"
    assert said[2].startswith("left out: \"Gear box\" 'gear(?= box)': look-around")


def test_without_an_output_the_pack_is_printed(ruleset: Path) -> None:
    assert build_eye("rules", "import", str(ruleset)).out.count("[[rule]]") == 2


def test_an_import_of_nothing_ends_with_1_and_writes_nothing(ruleset: Path) -> None:
    ruleset.write_text("[[rule]]\nname = 'a'\npattern = 'b(?=c)'\n")
    assert build_eye("rules", "import", str(ruleset), "--output", "pack.toml").code == 1
    assert not Path("pack.toml").exists()


def test_a_file_of_another_form_is_no_import(acme: Path) -> None:
    answer = build_eye("rules", "import", str(acme))
    assert answer.code == 2
    assert answer.err.startswith(f"build-eye: {acme}: not PyTorch's ruleset.toml form")


def test_rules_are_listed_for_programs(acme: Path) -> None:
    Path("own").mkdir()
    acme.rename("own/acme.toml")
    (rule,) = json.loads(build_eye("rules", "list", "acme.", "--knowledge", "own", "-o", "json").out)
    assert (rule["id"], rule["category"], rule["cause"]) == ("acme.quota", "runner-contention", "interference")
    assert rule["advice"] == [{"title": "Wait", "cost": "low", "steps": [], "command": ""}]


@pytest.mark.parametrize("tokens", ["50", "300"])
def test_the_text_for_an_agent_alone_and_as_a_field_is_the_same(tokens: str) -> None:
    Path("job.log").write_text(RED)
    text = build_eye("explain", "--context-for-agent", tokens, "job.log").out
    d = json.loads(build_eye("explain", "--json", "--context-for-agent", tokens, "job.log").out)
    assert d["context"] == text
    assert text.startswith("code/test-failure, ")
    assert "context" not in json.loads(build_eye("explain", "--json", "job.log").out)


def test_too_few_tokens_are_wrong_use() -> None:
    Path("job.log").write_text(RED)
    assert build_eye("explain", "--context-for-agent", "49", "job.log").code == 2


ADVICE = """
[[advice]]
id = "acme.quota"
title = "Look at the queue of {pool}"
cost = "low"
[advice.when]
category = "runner-contention"
"""


def test_a_file_of_advice_is_checked_as_a_pack_is(acme: Path, folder: Path) -> None:
    (folder / "advice.toml").write_text(ADVICE)
    answer = build_eye("rules", "lint", str(acme), "advice.toml")
    assert (answer.code, answer.out) == (0, "1 rules, 1 pieces of advice, 0 problems\n")
    (folder / "advice.toml").write_text(ADVICE.replace("{pool}", "{queue}"))
    answer = build_eye("rules", "lint", "advice.toml")
    assert answer.code == 1
    assert "advice acme.quota: nothing fills {queue}" in answer.out
    (folder / "advice.toml").write_text(ADVICE.replace("cost =", "prize ="))
    answer = build_eye("rules", "lint", "advice.toml")
    assert answer.code == 2
    assert "advice.toml: advice acme.quota: field " in answer.err
