"""`build-eye rules`: the failure rules in force; checking them, and seeing them at work on a log."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from buildeye.logs.choose import Hit
    from buildeye.logs.rules import Rule
    from buildeye.logs.ruleset import RuleSet
    from buildeye.logs.source import LogFile

app = typer.Typer(
    help="The failure rules: list, check, test, try and import them.", no_args_is_help=True, rich_markup_mode=None
)


class Form(StrEnum):
    """How an answer is written."""

    TABLE = "table"
    JSON = "json"


KNOWLEDGE = typer.Option([], "--knowledge", help="A folder of your own rule packs (*.toml), read before ours.")
PACKS = typer.Option([], "--pack", exists=True, dir_okay=False, help="A rule pack of your own, read before ours.")
FORM = typer.Option(Form.TABLE, "--format", "-o", help="A table to read, or JSON.")
ROWS = 40
"""Rows of a table of hits; JSON has all."""
LEAST_TEXT = 20
"""Cells that the last column of a table has in any case; else it takes what the others leave."""


@app.command()
def lint(
    packs: list[Path] = typer.Argument(
        None, help="Packs and files of advice to check; without any, those that come with Build-Eye."
    ),
) -> None:
    """Check rule packs (ids, linear-time patterns, examples, placeholders, shadowing) and advice.

    \b
    Examples:
      build-eye rules lint
      build-eye rules lint my-rules/disk.toml
      build-eye rules lint my-rules/advice/*.toml
    """
    from buildeye import knowledge
    from buildeye.cli.voice import listen
    from buildeye.logs.joined import joined
    from buildeye.logs.lint import is_imported, shadowed
    from buildeye.logs.lint import lint as check
    from buildeye.logs.rules import load_packs
    from buildeye.logs.ruleset import load_ruleset
    from buildeye.triage.advicelint import lint_templates
    from buildeye.triage.templates import load_file, packaged_templates

    listen()
    rules = load_packs(packs or knowledge.pack_files())
    problems = check(rules)
    if not problems:
        problems = shadowed(joined(rules, load_ruleset()) if packs else load_ruleset(), rules)
    templates = [t for path in packs for t in load_file(path)] if packs else packaged_templates()
    problems += lint_templates(templates, {rule.category for rule in rules})
    for problem in problems:
        typer.echo(problem)
    imported = sum(map(is_imported, rules))
    without = f", {imported} imported without examples" if imported else ""
    advice = f", {len(templates)} pieces of advice" if templates else ""
    typer.echo(f"{len(rules)} rules{advice}, {len(problems)} problems{without}")
    raise typer.Exit(1 if problems else 0)


@app.command("list")
def list_rules(
    pack: str = typer.Argument("", help="Only ids that begin with this."),
    knowledge: list[Path] = KNOWLEDGE,
    form: Form = FORM,
) -> None:
    """List the rules in force, in order: id, cause, category, tier, title.

    \b
    Examples:
      build-eye rules list
      build-eye rules list pytest
      build-eye rules list -o json
    """
    from buildeye.cli.tables import table
    from buildeye.cli.voice import listen
    from buildeye.logs.ruleset import load_ruleset

    listen()
    chosen = [r for r in load_ruleset(knowledge).rules if r.id.startswith(pack)]
    if form is Form.JSON:
        typer.echo(_json([_as_dict(rule) for rule in chosen]))
        return
    rows = [(r.id, r.cause.value, r.category, r.tier.value, r.title) for r in chosen]
    typer.echo(table(("id", "cause", "category", "tier", "title"), rows))
    typer.echo(f"{len(chosen)} rules")


def _as_dict(rule: "Rule") -> dict[str, Any]:
    """A rule in force; its examples are left out, since they are kept with the pack only."""
    import dataclasses

    row = dataclasses.asdict(rule)
    return {key: value for key, value in row.items() if key not in ("must_match", "must_not_match")}


def _json(value: object) -> str:
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(value, ensure_ascii=not utf8)


@dataclass(frozen=True, slots=True)
class _Tried:
    """One example of a rule, how it went, and which rule takes it; `problem` is empty when it went well."""

    rule: "Rule"
    example: str
    wanted: bool
    taken: str
    problem: str = ""


@app.command("test")
def test_rules(
    packs: list[Path] = typer.Argument(None, help="Packs to test; without any, those that come with Build-Eye."),
    failed: bool = typer.Option(False, "--failed", help="Show only the examples that do not go as they should."),
) -> None:
    """Run every example of the rules, and say which rule takes each.

    \b
    Examples:
      build-eye rules test my-rules/acme.toml
      build-eye rules test --failed
    """
    from buildeye import knowledge
    from buildeye.cli.voice import listen
    from buildeye.logs.joined import joined
    from buildeye.logs.rules import load_packs
    from buildeye.logs.ruleset import load_ruleset

    listen()
    rules = load_packs(packs or knowledge.pack_files())
    force = joined(rules, load_ruleset()) if packs else load_ruleset()
    tried = [one for rule in rules for one in _tried(rule, force)]
    bad = [one for one in tried if one.problem]
    shown = bad if failed else tried
    if shown:
        head = ("rule", "match", "result", "taken by", "example")
        typer.echo(_table(head, [_row_of(one) for one in shown]))
    typer.echo(_sum(rules, tried, bad))
    raise typer.Exit(1 if bad else 0)


def _row_of(one: _Tried) -> tuple[str, ...]:
    taken = "itself" if one.taken == one.rule.id else one.taken
    return (one.rule.id, "must" if one.wanted else "must not", one.problem or "ok", taken, _one_line(one.example))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose last column, of text from logs, is cut to what the others leave."""
    from buildeye.cli.tables import GAP, WIDTH, table
    from buildeye.cli.terminal import cut

    taken = sum(max(len(row[i]) for row in (head, *rows)) + GAP for i in range(len(head) - 1))
    room = max(LEAST_TEXT, WIDTH - taken - 1)
    return table(head, [(*row[:-1], cut(row[-1], room)) for row in rows])


def _sum(rules: Sequence["Rule"], tried: Sequence[_Tried], bad: Sequence[_Tried]) -> str:
    without = sum(not rule.must_match for rule in rules)
    elsewhere = sum(t.wanted and not t.problem and t.taken != t.rule.id for t in tried)
    parts = [f"{len(rules)} rules, {len(tried)} examples, {len(bad)} problems"]
    parts += [f"{elsewhere} taken by another rule of the same cause"] if elsewhere else []
    parts += [f"{without} without examples"] if without else []
    return "; ".join(parts)


def _tried(rule: "Rule", force: "RuleSet") -> Iterator[_Tried]:
    from buildeye.logs.lint import matches
    from buildeye.logs.rules import Tier

    for example in rule.must_match:
        best = _taker(example, force)
        problem = ""
        if not matches(rule, example):
            problem = "not matched"
        elif best and best.cause is not rule.cause and rule.tier in (Tier.CAUSE, Tier.SYMPTOM):
            problem = f"lost to {best.cause.value}"
        yield _Tried(rule, example, True, best.id if best else "nobody", problem)
    for example in rule.must_not_match:
        best = _taker(example, force)
        yield _Tried(rule, example, False, best.id if best else "nobody", "matched" if matches(rule, example) else "")


def _taker(example: str, force: "RuleSet") -> "Rule | None":
    """The rule with most points for an example that stands alone."""
    from buildeye.logs.choose import weigh
    from buildeye.logs.source import LogFile
    from buildeye.logs.structure import Structure

    found = force.find(LogFile.of("example", example.encode()))
    ranked = weigh(found.hits, Structure(found.lines.count), found.lines)
    return ranked[0].rule if ranked else None


def _one_line(text: str) -> str:
    from buildeye.logs.secrets import strip_controls

    return strip_controls(" ⏎ ".join(text.splitlines()).replace("\t", " "))


@app.command("try")
def try_rules(
    log: str = typer.Argument(..., metavar="LOG", help="A log as `explain` takes it; - is standard input."),
    packs: list[Path] = PACKS,
    knowledge: list[Path] = KNOWLEDGE,
    form: Form = FORM,
) -> None:
    """Show which rules hit which lines of a log, with their points, and which one was chosen.

    \b
    Examples:
      build-eye rules try job.log
      build-eye rules try --pack my-rules/acme.toml job.log
      build-eye rules try -o json job.log
    """
    from buildeye.cli.voice import listen
    from buildeye.logs.joined import joined
    from buildeye.logs.rules import load_packs
    from buildeye.logs.ruleset import load_ruleset
    from buildeye.logs.source import open_logs

    listen()
    rules = load_ruleset(knowledge)
    if packs:
        rules = joined(load_packs(packs), rules)
    for one in open_logs(log):
        with one:
            found = _found(one, rules)
            if form is Form.JSON:
                typer.echo(_json(found.as_dict()))
            else:
                typer.echo(found.as_table(named=one.name != log))


@dataclass(frozen=True, slots=True)
class _Found:
    """The hits in one log, best first, and the one that decided."""

    log: str
    lines: int
    hits: Sequence["Hit"]
    chosen: tuple[str, int | None]
    verdict: str

    def is_chosen(self, hit: "Hit") -> bool:
        return (hit.rule.id, hit.line) == self.chosen

    def as_dict(self) -> dict[str, Any]:
        return {
            "log": self.log,
            "verdict": self.verdict,
            "hits": [
                {
                    "chosen": self.is_chosen(hit),
                    "rule": hit.rule.id,
                    "line": hit.line,
                    "score": hit.score,
                    "tier": hit.rule.tier.value,
                    "cause": hit.rule.cause.value,
                    "category": hit.rule.category,
                    "demoted": hit.demoted,
                    "captures": {name: _safe(text) for name, text in hit.captures.items()},
                    "text": _safe(hit.text),
                }
                for hit in self.hits
            ],
        }

    def as_table(self, *, named: bool) -> str:
        from buildeye.cli.face import name_line
        from buildeye.cli.terminal import Look
        from buildeye.logs.choose import LEAST

        head = [name_line(self.log, Look())] if named else []
        if not self.hits:
            return "\n".join([*head, f"no rule hits one of the {self.lines:,} lines; verdict: {self.verdict}"])
        rows = [self._row(group) for group in self._groups()]
        foot = f"{len(self.hits)} hits, verdict: {self.verdict}. ▶ decided; under {LEAST} points, a wrapper or a "
        foot += "catch-all decides nothing."
        more = [f"and {len(rows) - ROWS} more rows; -o json has all"] if len(rows) > ROWS else []
        columns = ("", "score", "tier", "rule", "lines", "what it says")
        return "\n".join([*head, _table(columns, rows[:ROWS]), *more, foot])

    def _groups(self) -> list[list["Hit"]]:
        """Hits of one rule with equal points and reason together; the one that decided first, then by points."""
        groups: dict[tuple[str, int, str], list[Hit]] = {}
        for hit in sorted(self.hits, key=lambda h: not self.is_chosen(h)):
            groups.setdefault((hit.rule.id, hit.score, hit.demoted), []).append(hit)
        return list(groups.values())

    def _row(self, hits: Sequence["Hit"]) -> tuple[str, ...]:
        first = hits[0]
        numbers = ", ".join(str(h.line) for h in hits[:3]) + (f" +{len(hits) - 3}" if len(hits) > 3 else "")
        why = f"({first.demoted}) " if first.demoted else ""
        mark = "▶" if self.is_chosen(first) else ""
        text = why + " ".join(_safe(first.text).split())
        return (mark, f"{first.score}", first.rule.tier.value, first.rule.id, numbers, text)


def _found(log: "LogFile", rules: "RuleSet") -> _Found:
    from buildeye.logs.choose import weigh
    from buildeye.logs.diagnose import diagnose
    from buildeye.logs.structure import read_structure

    d = diagnose(log, rules)
    verdict = d.cause.value if d.cause.value == d.category else f"{d.cause.value} / {d.category}"
    found = rules.find(log)
    ranked = weigh(found.hits, read_structure(found.lines, found.marks), found.lines)
    first = d.evidence[0] if d.evidence else None
    chosen = (first.id, first.line) if first and first.kind == "rule" else ("", None)
    return _Found(log.name, found.lines.count, ranked, chosen, verdict)


def _safe(text: str) -> str:
    from buildeye.logs.secrets import mask, strip_controls

    return mask(strip_controls(text))


@app.command("import")
def import_rules(
    file: Path = typer.Argument(..., exists=True, dir_okay=False, help="A ruleset.toml of PyTorch's form."),
    output: Path | None = typer.Option(
        None, "--output", dir_okay=False, help="Where to write the pack; default standard output."
    ),
) -> None:
    """Turn a ruleset.toml of PyTorch's log classifier into a rule pack, and say what cannot be taken over.

    \b
    Examples:
      build-eye rules import ruleset.toml --output my-rules/imported.toml
    """
    from buildeye.logs.pytorch_rules import as_toml, read_tables
    from buildeye.logs.pytorch_rules import import_rules as turned

    done = turned(file, read_tables(file))
    if done.rules:
        _put(output, as_toml(done.rules))
    _tell(
        f"{file}: {len(done.rules)} of {len(done.rules) + len(done.refused)} rules imported"
        + (f" to {output}" if output and done.rules else "")
    )
    unknown = sum(rule.category == "unknown" for rule in done.rules)
    if unknown:
        _tell(f"{unknown} have no category yet; {len(done.rules) - unknown} got one that their name suggests")
    _tell(*(f'left out: "{one.name}" {one.pattern!r}: {one.reason}' for one in done.refused))
    raise typer.Exit(0 if done.rules else 1)


def _put(output: Path | None, text: str) -> None:
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, encoding="utf-8")


def _tell(*messages: str) -> None:
    for message in messages:
        typer.echo(message, err=True)
