"""`build-eye quarantine`: the list of tests known to be flaky, a file of the repository."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from buildeye.cli.asked import ANSWER, AnswerForm, asked, written
from buildeye.cli.setup import now, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, TARGET
from buildeye.cli.testcases import begin_of
from buildeye.cli.testnotes import flaky_settings

if TYPE_CHECKING:
    from buildeye.insight.quarantine import Checked, Entry

app = typer.Typer(
    help="The list of tests that are known to be flaky (tests.quarantine), each with a reason and a last day.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
COLUMNS: Final = ("id", "why", "since", "until", "expired")
CHECKED: Final = (*COLUMNS, "standing", "state", "clean_commits", "needed_commits")
ID = typer.Argument(..., metavar="ID", help="The test: FILE::Class::name or FILE::name.")
_SAID: Final = {
    "expired": "its last day is over: mend it, or remove and add it with a new --until",
    "recovered": "it has recovered: remove it",
    "gone": "it has not run in this window",
    "holds": "",
}


@app.command("list")
def list_entries(form: AnswerForm = ANSWER, target_repo: str | None = TARGET, config: Path | None = CONFIG) -> None:
    """List the tests in quarantine.

    \b
    Example:
      build-eye quarantine list
    """
    from buildeye.cli.tables import table
    from buildeye.insight.quarantine import read_quarantine
    from buildeye.logs.secrets import strip_controls

    settings = settings_for(config, target_overrides(target_repo))
    place = settings.tests.quarantine
    entries, today = read_quarantine(place).entries, now().date()
    if form is not AnswerForm.TABLE:
        typer.echo(written([_row(entry, today) for entry in entries], COLUMNS, form))
    elif entries:
        rows = [
            (strip_controls(each.id), str(each.since), f"{each.until}{' (over)' if each.is_expired(today) else ''}",
             strip_controls(each.why))
            for each in entries
        ]  # fmt: skip
        typer.echo(table(("test", "since", "until", "why"), rows))
    else:
        typer.echo(f"{place}: no test is in quarantine")


@app.command()
def add(
    id: str = ID,
    why: str = typer.Option(..., "--why", help="What is known of it, in a sentence."),
    until: str = typer.Option(..., "--until", metavar="DATE", help="The last day: 2026-12-31, or 30d from today."),
    config: Path | None = CONFIG,
) -> None:
    """Put a test in quarantine. It changes no verdict; whoever runs the tests may read the list.

    \b
    Examples:
      build-eye quarantine add tests/test_a.py::test_c --why "port taken, #12" --until 2026-12-31
      build-eye quarantine add tests/test_a.py::test_c --why "mended, watch it" --until 14d
    """
    from buildeye.insight.quarantine import Entry, added, read_quarantine, write_quarantine

    place = settings_for(config, {}).tests.quarantine
    today = now().date()
    entry = Entry(" ".join(id.split()), why, today, _day(until, today))
    write_quarantine(place, added(read_quarantine(place), entry))
    typer.echo(f"{place}: {entry.id} is in quarantine until {entry.until}")


@app.command()
def remove(id: str = ID, config: Path | None = CONFIG) -> None:
    """Take a test out of quarantine, with the comment above it.

    \b
    Example:
      build-eye quarantine remove tests/test_a.py::test_c
    """
    from buildeye.insight.quarantine import read_quarantine, removed, write_quarantine

    place = settings_for(config, {}).tests.quarantine
    write_quarantine(place, removed(read_quarantine(place), id))
    typer.echo(f"{place}: {id} is no longer in quarantine")


@app.command()
def check(
    since: str = typer.Option("30d", "--since", metavar="TIME", help="Runs from when on count: 12h, 30d, or a date."),
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say which entries are due: their last day is over, or the test has recovered. Exit code 1 when there are any.

    \b
    Example:
      build-eye quarantine check
    """
    from buildeye.insight.flaky import judged_cases
    from buildeye.insight.quarantine import checked, read_quarantine, wanted_cases
    from buildeye.model.errors import EXIT_BAD

    end = now()
    begin = begin_of(since, end)
    with asked(target_repo, config) as (warehouse, settings):
        entries = read_quarantine(settings.tests.quarantine).entries
        repository, judging = settings.target_repository.full_name, flaky_settings(settings)
        files, names = wanted_cases(entries)
        cases = (
            judged_cases(warehouse, repository, begin, end, judging, files=files, names=names) if entries else ()
        )  # fmt: skip
    told = checked(entries, cases, end.date(), judging)
    if form is not AnswerForm.TABLE:
        typer.echo(written([_checked_row(each, end.date()) for each in told], CHECKED, form))
    else:
        _say(told, settings.tests.quarantine)
    if any(each.standing.is_due for each in told):
        raise typer.Exit(EXIT_BAD)


def _say(told: "tuple[Checked, ...]", place: Path) -> None:
    from buildeye.cli.tables import table
    from buildeye.cli.testpage import told as judged
    from buildeye.logs.secrets import strip_controls

    if not told:
        typer.echo(f"{place}: no test is in quarantine")
        return
    rows = [
        (strip_controls(each.entry.id), str(each.standing), str(each.entry.until),
         _SAID[each.standing] or (judged(each.case.flakiness) if each.case else ""))
        for each in told
    ]  # fmt: skip
    typer.echo(table(("test", "", "until", "what is known"), rows))


def _row(entry: "Entry", today: date) -> dict[str, Any]:
    return {
        "id": entry.id, "why": entry.why, "since": str(entry.since), "until": str(entry.until),
        "expired": entry.is_expired(today),
    }  # fmt: skip


def _checked_row(told: "Checked", today: date) -> dict[str, Any]:
    flakiness = told.case.flakiness if told.case else None
    return {
        **_row(told.entry, today),
        "standing": str(told.standing),
        "state": str(flakiness.state) if flakiness else None,
        "clean_commits": flakiness.clean if flakiness else None,
        "needed_commits": flakiness.needed if flakiness else None,
    }


def _day(text: str, today: date) -> date:
    """The day that `2026-12-31` or `30d` (from today) means. UsageError: neither."""
    import re

    from buildeye.model import UsageError

    found = re.fullmatch(r"(\d{1,4})([dw])", text.strip().lower())
    if found:
        return today + timedelta(days=int(found[1]) * (7 if found[2] == "w" else 1))
    try:
        return datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise UsageError(f'--until is "{text}"; write a day such as 2026-12-31, or 30d from today') from None
