"""What the documentation says is so: commands, settings, files, links and examples are those of the program."""

import dataclasses
import json
import re
import shlex
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from buildeye.cli.app import app
from buildeye.config.loading import PLAIN_VARIABLES, TOKENS, setting_keys
from buildeye.logs.lint import lint
from buildeye.logs.rules import Rule, Tier, load_pack
from buildeye.model import CATEGORIES, Cause, Cost, Determinism, Diagnosis
from buildeye.triage.weights import packaged_weights

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("skills/**/*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4,}(build-eye .+|make .+)$", re.MULTILINE)
QUOTED_FILE = re.compile(r"`((?:src|tests|docs|config|benchmarks)/[^`\s]*|[\w.-]+\.toml|Makefile|LICENSE)`")
MADE_BY_THE_PROGRAM = ("data/", "reports/", "my-rules/", "config/quarantine.yaml")


def commands(command: Any = None, name: str = "build-eye") -> Iterator[tuple[str, Any]]:
    """Every command that can be called, with its full name."""
    command = typer.main.get_command(app) if command is None else command
    inner = getattr(command, "commands", None)
    if inner is None:
        yield name, command
    for part, of_part in (inner or {}).items():
        yield from commands(of_part, f"{name} {part}")


COMMANDS = dict(commands())


def options(command: Any) -> set[str]:
    return {flag for p in command.params for flag in (*p.opts, *p.secondary_opts) if flag.startswith("--")}


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchors(text: str) -> set[str]:
    """Anchors as GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def shell_lines(text: str) -> Iterator[str]:
    """Commands of ours that a page tells people to type, also behind a pipe."""
    blocks = [body for language, body in FENCE.findall(text) if language in ("sh", "bash")]
    for line in [*(line for body in blocks for line in body.splitlines()), *INDENTED.findall(text)]:
        yield from (part.strip() for part in line.split("|") if part.strip().startswith("build-eye "))


def spelled_out(words: list[str]) -> list[str]:
    """The words of a command with the one that may be left out: `tests FILE` is `tests file FILE`."""
    is_short = words[:2] == ["build-eye", "tests"] and len(words) > 2 and " ".join(words[:3]) not in COMMANDS
    return [*words[:2], "file", *words[2:]] if is_short else words


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_that_names_its_options_and_no_others(name: str) -> None:
    said = sections((DOCS / "commands.md").read_text()).get(name, "")
    assert said, f"docs/commands.md has no section {name}"
    table = "".join(line.split(" | ")[0] for line in said.splitlines() if line.startswith("| `--"))
    assert set(re.findall(r"--[a-z][a-z-]*", table)) == options(COMMANDS[name])


def test_no_section_is_about_a_command_that_is_not_there() -> None:
    named = {s for s in sections((DOCS / "commands.md").read_text()) if s.startswith("build-eye ")}
    assert named == set(COMMANDS)


def test_the_options_of_the_program_itself_are_documented() -> None:
    text = (DOCS / "commands.md").read_text()
    assert [flag for flag in {"--help", *options(typer.main.get_command(app))} if f"{flag}`" not in text] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_that_are_documented_are_those_of_the_program(name: str) -> None:
    said = sections((DOCS / "commands.md").read_text())[name]
    given = [p for p in COMMANDS[name].params if p.default not in (None, False, (), []) and not p.required and p.opts]
    missing = [p.opts[0] for p in given if isinstance(p.default, str | int | Path) and f"{p.default}" not in said]
    assert missing == []


@pytest.mark.parametrize("code", range(4))
@pytest.mark.parametrize("page", ["README.md", "docs/commands.md"])
def test_every_exit_code_is_documented(page: str, code: int) -> None:
    assert f"| {code} |" in (ROOT / page).read_text()


def test_every_setting_and_variable_is_documented() -> None:
    text = (DOCS / "configuration.md").read_text()
    wanted = {".".join(map(str, path)) for path, _ in setting_keys()} | set(PLAIN_VARIABLES) | set(TOKENS.values())
    assert sorted(key for key in wanted if f"`{key}`" not in text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_relative_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    dead = []
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            dead.append(link)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    named = [f for f in QUOTED_FILE.findall(page.read_text()) if not f.startswith(MADE_BY_THE_PROGRAM)]
    missing = [f for f in named if not any(ROOT.glob(re.sub(r"[A-Z]{4,}(?=[_.])", "*", f).rstrip("/")))]
    assert missing == []


def test_every_page_is_reached_from_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    assert [p.name for p in DOCS.glob("*.md") if p.name != "index.md" and f"({p.name})" not in index] == []


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "".join(p.read_text() for p in PAGES)
    named = set(re.findall(r"`make ([a-z-]+)`|^ {4,}make ([a-z-]+)", text, re.MULTILINE))
    assert {a or b for a, b in named} - targets == set()


@pytest.mark.parametrize(
    ("page", "line"),
    [(p.name, line) for p in PAGES for line in shell_lines(p.read_text())],
)
def test_commands_to_type_are_commands_of_the_program(page: str, line: str) -> None:
    if "[" in line or "COMMAND" in line:
        return
    words = spelled_out(shlex.split(line, comments=True))
    name = next((n for n in COMMANDS if words[: len(n.split())] == n.split()), None)
    flags = {w.partition("=")[0] for w in words[1:] if w.startswith("--")}
    assert name or flags <= {"--help", "--version"}, f"{page}: {line}"
    assert flags - (options(COMMANDS[name]) if name else set()) <= {"--help", "--version"}


def test_the_diagnosis_page_shows_exactly_the_fields_that_are_printed() -> None:
    text = (DOCS / "diagnosis.md").read_text()
    shown = json.loads(next(body for language, body in FENCE.findall(text) if language == "json"))
    fields = [f.name for f in dataclasses.fields(Diagnosis)]
    assert sorted(shown) == sorted(fields)
    assert [f for f in fields if f"| `{f}` |" not in text] == []


def test_the_diagnosis_page_names_every_cause_and_its_categories() -> None:
    rows = sections((DOCS / "diagnosis.md").read_text())["Categories"].splitlines()
    told = {
        row.split("`")[1]: tuple(re.findall(r"`([\w-]+)`", row.split("|")[2])) for row in rows if row.startswith("| `")
    }
    assert told == {cause.value: categories for cause, categories in CATEGORIES.items()}
    causes = sections((DOCS / "diagnosis.md").read_text())["Causes"]
    assert [c for c in Cause if f"| `{c}` |" not in causes] == []


def test_the_rules_page_names_every_key_and_tier() -> None:
    text = sections((DOCS / "rules.md").read_text())
    assert set(re.findall(r"^\| `(\w+)` \|", text["Keys"], re.MULTILINE)) == {f.name for f in dataclasses.fields(Rule)}
    assert set(re.findall(r"^\| `([\w-]+)` \|", text["Tiers"], re.MULTILINE)) == {t.value for t in Tier}
    assert [w for w in (*Cost, *Determinism) if f"`{w}`" not in text["Keys"]] == []


def test_the_first_rule_of_the_rules_page_passes_lint(tmp_path: Path) -> None:
    text = (DOCS / "rules.md").read_text()
    pack = tmp_path / "acme.toml"
    pack.write_text(next(body for language, body in FENCE.findall(text) if language == "toml"))
    assert lint(load_pack(pack)) == []


def test_the_picture_is_plain_svg_that_runs_and_loads_nothing() -> None:
    root = ET.fromstring((DOCS / "pictures" / "pass.svg").read_text())
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "circle", "text", "tspan"}
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or a.endswith("href")]


def test_every_piece_of_evidence_that_is_weighed_is_documented() -> None:
    page = (DOCS / "verdicts.md").read_text()
    missing = {
        name
        for name in packaged_weights().evidence
        if f"`{name.removesuffix('-by-change')}`" not in page and not name.startswith("person-said-")
    }
    assert missing == set()
