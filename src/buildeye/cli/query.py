"""`build-eye query`: a saved question of the warehouse, by its name."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.answers import LIMIT, show
from buildeye.cli.asked import ANSWER, AnswerForm
from buildeye.cli.setup import now, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, TARGET
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.ask.answer import Answer
    from buildeye.ask.saved import SavedQuery


def query(
    name: str = typer.Argument("", metavar="[NAME]", help="The name of a saved query."),
    param: list[str] = typer.Option([], "--param", metavar="NAME=VALUE", help="A parameter of it; may be given again."),
    listed: bool = typer.Option(False, "--list", help="Name all saved queries, who asks them, and their parameters."),
    described: bool = typer.Option(False, "--describe", help="Say what it asks, takes and answers; ask nothing."),
    form: AnswerForm = ANSWER,
    limit: int | None = LIMIT,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Ask a saved query. Left out, repository and branch are those of the settings, since 7d, until now.

    \b
    Examples:
      build-eye query --list
      build-eye query runs_since --describe
      build-eye query runs_since --param since=3d
      build-eye query job_runs --param job_name=lint --param since=2026-11-01 --param limit=20 -o csv
    """
    from buildeye.ask.parameters import named
    from buildeye.ask.routing import sql_source
    from buildeye.ask.saved import ask_saved, saved
    from buildeye.ask.sql import limits_of
    from buildeye.model import UsageError

    if listed:
        show(_list(), form, 0)
        return
    if not name:
        raise UsageError("which query? build-eye query --list names all")
    chosen = saved(name)
    if described:
        typer.echo(_description(chosen))
        return
    settings = settings_for(config, target_overrides(target_repo))
    with sql_source(settings, None, None, warn) as source:
        answer = ask_saved(source, chosen, named(param), settings, now(), limits_of(settings))
    show(answer, form, limit)


def _list() -> "Answer":
    from buildeye.ask.answer import Answer
    from buildeye.ask.saved import all_saved

    rows = tuple((each.name, each.asked_by, ", ".join(each.parameters)) for each in all_saved())
    return Answer(("name", "asked_by", "parameters"), ("String",) * 3, rows)


def _description(query: "SavedQuery") -> str:
    types = "\n".join(f"  --param {name}=...  {kind}" for name, kind in query.parameters.items())
    return f"{query.header}\n\n{types}"
