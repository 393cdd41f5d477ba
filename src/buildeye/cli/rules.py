"""`build-eye rules`: the failure rules in force."""

from pathlib import Path

import typer

app = typer.Typer(help="The failure rules: list them, check packs.", no_args_is_help=True, rich_markup_mode=None)


@app.command()
def lint(
    packs: list[Path] = typer.Argument(None, help="Packs to check; without any, those that come with Build-Eye."),
) -> None:
    """Check rule packs: ids, linear-time patterns, examples, placeholders, shadowing.

    \b
    Examples:
      build-eye rules lint
      build-eye rules lint my-rules/*.toml
    """
    from buildeye import knowledge
    from buildeye.logs.lint import lint as check
    from buildeye.logs.rules import load_packs

    rules = load_packs(packs or knowledge.pack_files())
    problems = check(rules)
    for problem in problems:
        typer.echo(problem)
    typer.echo(f"{len(rules)} rules, {len(problems)} problems")
    raise typer.Exit(1 if problems else 0)


@app.command("list")
def list_rules(pack: str = typer.Argument("", help="Only ids that begin with this.")) -> None:
    """List the rules in force, in order: id, cause, category, tier, title.

    \b
    Examples:
      build-eye rules list
      build-eye rules list pytest
    """
    from buildeye.logs.ruleset import load_ruleset

    chosen = [r for r in load_ruleset().rules if r.id.startswith(pack)]
    for rule in chosen:
        typer.echo(f"{rule.id:36.36} {rule.category:22.22} {rule.tier:9.9} {rule.title[:30]}")
    typer.echo(f"{len(chosen)} rules")
