"""`build-eye failures`: which jobs fail most on a branch, how often, and as what."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, asked, say_why_nothing, written
from buildeye.cli.setup import now
from buildeye.cli.stages import CONFIG, TARGET

if TYPE_CHECKING:
    from buildeye.insight.failures import FailingJob


def failures(
    branch: str = typer.Argument("", metavar="[BRANCH]", help="The branch; default that of the settings."),
    since: str = typer.Option("14d", "--since", help="How far back: 12h, 7d, 4w, or a date such as 2026-11-01 (UTC)."),
    limit: int = typer.Option(10, "--limit", min=1, max=10_000, help="How many jobs to show."),
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say which jobs failed most on a branch: how often, how sure that rate is, whose problem, and as what.

    \b
    Examples:
      build-eye failures
      build-eye failures main --since 4w --limit 20
      build-eye failures -o json
    """
    from buildeye.insight.failures import COLUMNS, as_row, top_failures
    from buildeye.model.times import moment

    at = now()
    begin = moment("--since", since, at)
    with asked(target_repo, config) as (warehouse, settings):
        repository = settings.target_repository.full_name
        meant = branch or settings.target_repository.branch
        found = top_failures(warehouse, repository, meant, begin, at, limit)
        say_why_nothing(warehouse, repository, found, meant)
    if form is not AnswerForm.TABLE:
        typer.echo(written([as_row(each) for each in found], COLUMNS, form))
    elif found:
        typer.echo(failure_table(found))
    else:
        typer.echo(f"{repository}: no job failed at {meant} since {begin:%Y-%m-%d %H:%M} UTC")


def failure_table(found: "Sequence[FailingJob]") -> str:
    """Failing jobs for a person, 100 columns at most; `rate` with the interval that holds the true one with 95 %."""
    from buildeye.cli.tables import table
    from buildeye.logs.secrets import strip_controls

    head = ("job", "failed", "of", "rate", "last", "whose", "fails as")
    rows = [
        (
            strip_controls(each.name),
            str(each.failures),
            str(each.runs),
            _rate(each),
            f"{each.last_failure:%m-%d %H:%M}",
            _whose(each),
            strip_controls(_fails_as(each)),
        )
        for each in found
    ]
    return table(head, rows)


def _rate(job: "FailingJob") -> str:
    low, high = job.rate_interval
    return f"{job.rate:.0%} ({low:.0%}-{high:.0%})"


def _whose(job: "FailingJob") -> str:
    """The leading cause with its count, where it is not that of all."""
    if not job.causes:
        return "not judged"
    cause, count = job.causes[0]
    return cause if count == job.failures else f"{cause} {count}"


def _fails_as(job: "FailingJob") -> str:
    from buildeye.insight.streakrows import brief

    if not job.signatures:
        return "not diagnosed"
    signature, count = job.signatures[0]
    more = len(job.signatures) - 1
    return f"{count}x {brief(signature)}" + (f" · {more} more" if more else "")
