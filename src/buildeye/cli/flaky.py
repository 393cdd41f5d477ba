"""`build-eye flaky`: which tests pass and fail at the same commit, the surest first."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, asked, say_why_nothing, written
from buildeye.cli.setup import now
from buildeye.cli.stages import CONFIG, TARGET
from buildeye.cli.testcases import begin_of, say_cut
from buildeye.cli.testnotes import CODEOWNERS, Notes, flaky_settings, notes_of

if TYPE_CHECKING:
    from buildeye.insight.flaky import FlakyCase

COLUMNS: Final = (
    "id", "state", "score", "rate", "flaky_commits", "commits", "failed_commits", "broken_commits", "clean_commits",
    "needed_commits", "first_flaky", "last_flaky", "last_flaky_at", "runs", "pull_requests", "people", "minutes",
    "owners", "quarantine", "file", "classname", "name",
)  # fmt: skip
_SCORE: Final = 7
_SUGGESTED: Final = 3
_SUGGESTED_FROM: Final = 2
"""Flaky commits from which on quarantine is suggested: one may have been the machine."""
_QUARANTINE_DAYS: Final = 30


def flaky(
    since: str = typer.Option("14d", "--since", metavar="TIME", help="From when on: 12h, 14d, 4w or a date."),
    limit: int = typer.Option(50, "--limit", min=1, help="How many tests to show."),
    codeowners: Path | None = CODEOWNERS,
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say which tests are flaky: they passed and failed at the same commit, in jobs of the same name.

    \b
    Examples:
      build-eye flaky
      build-eye flaky --since 30d --limit 10 -o json
    """
    from buildeye.insight.flaky import flaky_cases

    end = now()
    begin = begin_of(since, end)
    with asked(target_repo, config) as (warehouse, settings):
        notes = notes_of(settings, codeowners)
        repository = settings.target_repository.full_name
        found = flaky_cases(warehouse, repository, begin, end, settings=flaky_settings(settings))
        say_why_nothing(warehouse, repository, found)
    shown = found[:limit]
    if form is not AnswerForm.TABLE:
        typer.echo(written([as_row(each, notes) for each in shown], COLUMNS, form))
    elif found:
        typer.echo(flaky_list(shown, notes))
        _suggest(shown, notes)
    else:
        typer.echo(f"{repository}: no test passed and failed at the same commit since {begin:%Y-%m-%d %H:%M}")
    say_cut(len(found) - len(shown), "tests")


def as_row(case: "FlakyCase", notes: Notes) -> dict[str, Any]:
    """A flaky test as JSON and CSV have it, by COLUMNS."""
    from buildeye.cli.testpage import flakiness_row

    entry = notes.entry_of(case.file, case.classname, case.name)
    return {
        "id": case.id,
        "state": str(case.flakiness.state),
        **flakiness_row(case.flakiness),
        "runs": case.runs,
        "pull_requests": list(case.pull_requests),
        "people": list(case.people),
        "minutes": round(case.minutes, 1),
        "owners": list(notes.owners_of(case.file, case.classname)),
        "quarantine": notes.shown(entry) or None,
        "file": case.file,
        "classname": case.classname,
        "name": case.name,
    }


def flaky_list(found: "Sequence[FlakyCase]", notes: Notes) -> str:
    """Flaky tests for a person, 100 columns at most: the score and the name, then what is known of each."""
    from textwrap import wrap

    from buildeye.cli.tables import WIDTH
    from buildeye.logs.secrets import strip_controls

    lines = [f" {'score':{_SCORE}}test"]
    for case in found:
        named = f" {case.flakiness.score:<{_SCORE}.3f}{strip_controls(case.id)}"
        below = " " * (_SCORE + 1)
        lines += wrap(named, WIDTH, subsequent_indent=below, drop_whitespace=False, break_on_hyphens=False)
        for fact in (_judged(case), _around(case, notes)):
            lines += wrap(strip_controls(fact), WIDTH, initial_indent=below, subsequent_indent=below)
    return "\n".join(lines)


def _judged(case: "FlakyCase") -> str:
    """What it did: `flaky at 5 of 40 commits, last 2026-12-01; since then clean at 9, 28 make it recovered`."""
    from buildeye.insight.flaky import FlakyState

    told = case.flakiness
    last = f", last {told.last_flaky.at:%Y-%m-%d}" if told.last_flaky else ""
    did = f"flaky at {told.flaky} of {told.commits} commits{last}"
    if told.state is FlakyState.BROKEN:
        return f"broken: it only fails now; before, {did}"
    if told.state is FlakyState.RECOVERED:
        return f"recovered: {did}; since then clean at {told.clean}"
    return f"{did}; since then clean at {told.clean}, {told.needed} make it recovered"


def _around(case: "FlakyCase", notes: Notes) -> str:
    """What it hit, whose it is, and whether it is in quarantine."""
    parts = [
        _number(case.runs, "run", "runs"), _number(len(case.people), "person", "people"),
        _number(len(case.pull_requests), "pull request", "pull requests"), f"{case.minutes:.0f} min lost",
    ]  # fmt: skip
    entry = notes.shown(notes.entry_of(case.file, case.classname, case.name))
    owners = " ".join(notes.owners_of(case.file, case.classname)) or "nobody"
    return f"hit {', '.join(parts)}; owned by {owners}" + (f"; quarantine {entry}" if entry else "")


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _suggest(found: "Sequence[FlakyCase]", notes: Notes) -> None:
    """The commands that would put the surest of them in quarantine, where they are not."""
    import shlex

    from buildeye.insight.flaky import FlakyState

    wanted = [
        case
        for case in found
        if case.flakiness.state is FlakyState.FLAKY
        and case.flakiness.flaky >= _SUGGESTED_FROM
        and not notes.entry_of(case.file, case.classname, case.name)
    ]
    if not wanted:
        return
    until = notes.today + timedelta(days=_QUARANTINE_DAYS)
    typer.echo("\nTo put them in quarantine until somebody has mended them:")
    for case in wanted[:_SUGGESTED]:
        why = f"flaky at {case.flakiness.flaky} of {case.flakiness.commits} commits"
        typer.echo(shlex.join(["build-eye", "quarantine", "add", case.id, "--why", why, "--until", str(until)]))
