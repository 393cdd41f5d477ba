"""`build-eye streaks`: which jobs of a branch fail since when, and as what."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, asked, say_why_nothing, written
from buildeye.cli.stages import CONFIG, TARGET

if TYPE_CHECKING:
    from buildeye.insight.grid import Commit
    from buildeye.insight.streaks import Streak

SHORT: Final = 7
"""Characters of a commit's name that are shown, and the fewest that name one."""
_SHA: Final = re.compile(r"[0-9a-fA-F]{7,40}")
_NAMED: Final = 3


def streaks(
    ref: str = typer.Argument(
        "", metavar="[REF]", help="A branch, or a commit of the branch of the settings; default that branch."
    ),
    at: str = typer.Option("", "--at", metavar="SHA", help="As if this commit of the branch were its newest."),
    commits: int = typer.Option(100, "--commits", min=1, max=5000, help="How many of its newest commits to look at."),
    job: str = typer.Option("", "--job", metavar="TEXT", help="Jobs whose name has this text, or fits this pattern."),
    least: int = typer.Option(1, "--min", min=1, help="Failures in a row from which on a streak is shown."),
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say which jobs of a branch fail since when: failures in a row from the newest commit that has a result.

    \b
    Examples:
      build-eye streaks
      build-eye streaks main --commits 200 --job nightly --min 3
      build-eye streaks 3d91e02
      build-eye streaks release --at 3d91e02 -o csv
    """
    from buildeye.insight.streakrows import COLUMNS, as_row, named
    from buildeye.insight.streaks import streaks_of

    with asked(target_repo, config) as (warehouse, settings):
        repository = settings.target_repository.full_name
        branch, ending = meant(ref, at, settings.target_repository.branch)
        wanted = named(job)
        found = streaks_of(warehouse, repository, branch, commits, least, ending)
        shown = [each for each in found if wanted(each.job)]
        say_why_nothing(warehouse, repository, found, branch)
    if form is not AnswerForm.TABLE:
        typer.echo(written([as_row(each) for each in shown], COLUMNS, form))
    elif shown:
        typer.echo(streak_table(shown))
    else:
        where = f"{ending} of {branch}" if ending else branch
        typer.echo(f"{repository}: no job is on a streak at {where} (newest {commits} commits)")


def meant(ref: str, at: str, usual: str) -> tuple[str, str]:
    """The branch and the commit the window ends with, '' for its newest: what looks like a commit's name is one.

    UsageError: a commit is named twice, or its name is too short to be one.
    """
    from buildeye.model import UsageError

    if not at:
        return (usual, ref.lower()) if _SHA.fullmatch(ref) else (ref or usual, "")
    if not _SHA.fullmatch(at):
        raise UsageError(f'--at is "{at}"; write the name of a commit, or at least its first {SHORT} characters')
    if _SHA.fullmatch(ref):
        raise UsageError(f"{ref} and --at {at} both name a commit; give one")
    return ref or usual, at.lower()


def streak_table(found: "Sequence[Streak]") -> str:
    """Streaks for a person, 100 columns at most."""
    from buildeye.cli.tables import table
    from buildeye.logs.secrets import strip_controls

    head = ("job", "streak", "since", "first bad", "failed", "fails as")
    rows = [
        (
            strip_controls(each.job),
            f"{each.length}+" if each.clipped else str(each.length),
            "before this window" if each.clipped else f"{each.first_bad.at:%Y-%m-%d} {each.first_bad.sha[:SHORT]}",
            "?" if each.clipped else _suspects(each.between),
            f"{each.failure_rate:.0%}",
            strip_controls(_fails_as(each)),
        )
        for each in found
    ]
    return table(head, rows)


def _suspects(between: "Sequence[Commit]") -> str:
    """The first bad commit, and how many it shares the suspicion with."""
    first = between[-1]
    name = f"#{first.pull_request}" if first.pull_request else first.sha[:SHORT]
    return name if len(between) == 1 else f"{name} (1 of {len(between)})"


def _fails_as(streak: "Streak") -> str:
    from buildeye.insight.streakrows import brief

    told = [f"{count}x {brief(signature)}" for signature, count in streak.signatures[:_NAMED]]
    if len(streak.signatures) > _NAMED:
        told.append(f"{len(streak.signatures) - _NAMED} more")
    if streak.undiagnosed:
        told.append(f"{streak.undiagnosed}x not diagnosed")
    return " · ".join(told)
