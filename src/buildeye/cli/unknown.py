"""`build-eye unknown`: which failures nobody could explain, and how to look at them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, asked, say_why_nothing, written
from buildeye.cli.setup import now
from buildeye.cli.stages import CONFIG, TARGET

if TYPE_CHECKING:
    from buildeye.insight.unknowns import UnknownFailure


def unknown(
    since: str = typer.Option("7d", "--since", help="How far back: 12h, 7d, 4w, or a date such as 2026-11-01 (UTC)."),
    limit: int = typer.Option(20, "--limit", min=1, max=10_000, help="How many groups to show."),
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """List failures whose cause is unknown, those that look alike together, and how to look at the newest of them.

    \b
    Examples:
      build-eye unknown
      build-eye unknown --since 4w -o csv
    """
    from buildeye.insight.unknowns import COLUMNS, as_row, unknown_failures
    from buildeye.model.times import moment

    at = now()
    begin = moment("--since", since, at)
    with asked(target_repo, config) as (warehouse, settings):
        repository = settings.target_repository.full_name
        found = unknown_failures(warehouse, repository, begin, at, limit + 1)
        say_why_nothing(warehouse, repository, found)
    shown = found[:limit]
    if form is not AnswerForm.TABLE:
        typer.echo(written([as_row(each) for each in shown], COLUMNS, form))
    elif shown:
        typer.echo(unknown_table(shown))
    else:
        typer.echo(f"{repository}: every failure since {begin:%Y-%m-%d %H:%M} UTC that was judged has a cause")
    if len(found) > limit:
        typer.echo(f"only the first {limit} groups are shown; --limit shows more", err=True)


def unknown_table(found: "Sequence[UnknownFailure]") -> str:
    """Unexplained failures for a person, 100 columns at most; pages are in the other forms."""
    from buildeye.cli.tables import table
    from buildeye.insight.streakrows import brief
    from buildeye.logs.secrets import strip_controls

    head = ("job", "failed", "branches", "newest", "looks like", "look")
    rows = [
        (
            strip_controls(each.name),
            str(each.failures),
            str(each.branches),
            f"{each.newest:%m-%d %H:%M}",
            strip_controls(brief(each.signature)) or "nothing known in the log",
            strip_controls(each.look),
        )
        for each in found
    ]
    return table(head, rows)
