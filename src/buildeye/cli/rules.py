"""`build-eye rules`: the failure rules in force."""

from pathlib import Path

import typer

app = typer.Typer(help="The failure rules: list them, check packs.", no_args_is_help=True, rich_markup_mode=None)
KNOWLEDGE = typer.Option([], "--knowledge", help="A folder of your own rule packs (*.toml), read before ours.")


@app.command()
def lint(
    packs: list[Path] = typer.Argument(None, help="Packs to check; without any, those that come with Build-Eye."),
) -> None:
    """Check rule packs: ids, linear-time patterns, examples, placeholders, shadowing.

    \b
    Examples:
      build-eye rules lint
      build-eye rules lint my-rules/disk.toml
    """
    from buildeye import knowledge
    from buildeye.logs.engine import cache_folder
    from buildeye.logs.lint import lint as check
    from buildeye.logs.lint import shadowed
    from buildeye.logs.rules import load_packs
    from buildeye.logs.ruleset import RuleSet

    rules = load_packs(packs or knowledge.pack_files())
    problems = check(rules)
    if not problems:
        ours = load_packs(knowledge.pack_files()) if packs else []
        problems = shadowed(RuleSet((*rules, *ours), "lint", cache_folder()), rules)
    for problem in problems:
        typer.echo(problem)
    typer.echo(f"{len(rules)} rules, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)


@app.command("list")
def list_rules(
    pack: str = typer.Argument("", help="Only ids that begin with this."),
    knowledge: list[Path] = KNOWLEDGE,
) -> None:
    """List the rules in force, in order: id, cause, category, tier, title.

    \b
    Examples:
      build-eye rules list
      build-eye rules list pytest
    """
    from buildeye.cli.tables import table
    from buildeye.logs.ruleset import load_ruleset

    chosen = [r for r in load_ruleset(knowledge).rules if r.id.startswith(pack)]
    rows = [(r.id, r.cause.value, r.category, r.tier.value, r.title) for r in chosen]
    typer.echo(table(("id", "cause", "category", "tier", "title"), rows))
    typer.echo(f"{len(chosen)} rules")
