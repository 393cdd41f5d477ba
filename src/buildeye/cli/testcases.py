"""`build-eye tests`: what the tests of a file did, and the history of one test."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperGroup

from buildeye.cli.asked import ANSWER, AnswerForm, asked, written
from buildeye.cli.setup import now
from buildeye.cli.stages import CONFIG, TARGET
from buildeye.cli.testnotes import CODEOWNERS, Notes, flaky_settings, notes_of

if TYPE_CHECKING:
    from buildeye.insight.testruns import CaseCounts

COLUMNS: Final = (
    "id", "runs", "successful", "fails", "skipped", "flaky", "pass_rate", "seconds", "last_failed", "quarantine",
    "file", "classname", "name",
)  # fmt: skip
DEFAULT: Final = "file"
"""The command that is meant when none is named."""


class FileGroup(TyperGroup):
    """A group that takes what is no command of it as the FILE of its command `file`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See click; `-h` and `--help` alone are for the group."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=FileGroup,
    help="What tests did: of a file (build-eye tests FILE), or the history of one.",
    no_args_is_help=True,
    rich_markup_mode=None,
    subcommand_metavar="FILE | COMMAND [ARGS]...",
)


@app.command(DEFAULT)
def of_file(
    file: str = typer.Argument(..., metavar="FILE", help="A file of tests, as its reports name it."),
    since: str = typer.Option("7d", "--since", metavar="TIME", help="From when on: 12h, 7d, 4w or a date."),
    limit: int | None = typer.Option(None, "--limit", min=1, help="How many tests to show; default all."),
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say how each test of a file fared: runs, passes, failures, skips, flaky ones. The word `file` may be left out.

    \b
    Examples:
      build-eye tests lazy/test_ts_opinfo.py
      build-eye tests file lazy/test_ts_opinfo.py --since 2w -o csv
    """
    from buildeye.insight.testruns import file_week, files_like

    end = now()
    begin = begin_of(since, end)
    with asked(target_repo, config) as (warehouse, settings):
        notes = notes_of(settings, owners=False)
        repository = settings.target_repository.full_name
        found = file_week(warehouse, repository, file, begin, end)
        if not found:
            raise missing(file, "no test", repository, begin, files_like(warehouse, repository, file, begin, end))
    shown = found[:limit]
    if form is AnswerForm.TABLE:
        typer.echo(f"{file} of {repository} since {begin:%Y-%m-%d %H:%M}\n{_summed(found)}\n")
        typer.echo(case_table(shown, notes))
    else:
        typer.echo(written([as_row(each, notes) for each in shown], COLUMNS, form))
    say_cut(len(found) - len(shown), "tests")


@app.command()
def history(
    id: str = typer.Argument(..., metavar="ID", help="FILE::Class::name or FILE::name; the end of it if unique."),
    since: str = typer.Option("30d", "--since", metavar="TIME", help="From when on: 12h, 30d, 4w or a date."),
    codeowners: Path | None = CODEOWNERS,
    form: AnswerForm = ANSWER,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Show the history of one test: days, last pass and failure, messages, jobs, owners, whether it is flaky.

    \b
    Examples:
      build-eye tests history tests/test_a.py::TestB::test_c
      build-eye tests history test_c --since 14d -o json
    """
    from buildeye.cli.testpage import DAY_COLUMNS, PAGE_COLUMNS, day_rows, page, page_row
    from buildeye.insight.testruns import NoSuchCase, case_history
    from buildeye.model import UsageError

    end = now()
    begin = begin_of(since, end)
    with asked(target_repo, config) as (warehouse, settings):
        notes = notes_of(settings, codeowners)
        repository = settings.target_repository.full_name
        found = case_history(warehouse, repository, id, begin, end, flaky_settings(settings))
    if isinstance(found, NoSuchCase):
        if found.several:
            raise UsageError(f"{id} may be {_listed(found.instead)}; give more of its id")
        raise missing(id, "no run", repository, begin, found.instead)
    if form is AnswerForm.TABLE:
        typer.echo(page(found, notes, repository))
    elif form in (AnswerForm.CSV, AnswerForm.WIDE):
        typer.echo(written(day_rows(found), DAY_COLUMNS, form))
    else:
        typer.echo(written([page_row(found, notes)], PAGE_COLUMNS, form))


def begin_of(since: str, end: datetime) -> datetime:
    """When a window begins, given as `7d`, `12h` or a date. UsageError: it is none, or not before the end."""
    from buildeye.model import UsageError
    from buildeye.model.times import moment

    begin = moment("--since", since, end)
    if begin > end - timedelta(seconds=1):
        raise UsageError(f'--since is "{since}", which is not over yet; give a time before now')
    return begin


def missing(asked_for: str, what: str, repository: str, begin: datetime, instead: Sequence[str]) -> typer.Exit:
    """Say in one sentence that there is nothing of that name; the exit to raise."""
    from buildeye.logs.secrets import strip_controls
    from buildeye.model.errors import EXIT_BAD

    hint = f"; did you mean {_listed(instead)}?" if instead else "; look at an earlier --since, or ingest its reports"
    told = f"build-eye: {what} of {asked_for} in {repository} since {begin:%Y-%m-%d %H:%M}{hint}"
    typer.echo(strip_controls(told), err=True)
    return typer.Exit(EXIT_BAD)


def say_cut(left_out: int, what: str) -> None:
    """Say that a limit cut the answer."""
    from buildeye.cli.voice import warn

    if left_out > 0:
        warn(f"{left_out} more {what} are left out by --limit")


def as_row(case: "CaseCounts", notes: Notes) -> dict[str, Any]:
    """A test of a file as JSON and CSV have it, by COLUMNS."""
    counts, rate = case.counts, case.counts.pass_rate
    entry = notes.entry_of(case.file, case.classname, case.name)
    return {
        "id": case.id, "runs": counts.runs, "successful": counts.successful, "fails": counts.fails,
        "skipped": counts.skipped, "flaky": counts.flaky, "pass_rate": None if rate is None else round(rate, 4),
        "seconds": None if case.seconds is None else round(case.seconds, 3), "last_failed": case.last_failed,
        "quarantine": notes.shown(entry) or None, "file": case.file, "classname": case.classname, "name": case.name,
    }  # fmt: skip


def case_table(cases: "Sequence[CaseCounts]", notes: Notes) -> str:
    """Tests of a file for a person, 100 columns at most; a test in quarantine has a `Q` behind its name."""
    from buildeye.cli.tables import table
    from buildeye.logs.secrets import strip_controls

    head = ("test", "runs", "passed", "failed", "skipped", "flaky", "pass rate", "seconds")
    rows = []
    for case in cases:
        mark = " (Q)" if notes.entry_of(case.file, case.classname, case.name) else ""
        counts = case.counts
        rows.append(
            (
                strip_controls(case.id.removeprefix(f"{case.file}::")) + mark,
                str(counts.runs), str(counts.successful), str(counts.fails), str(counts.skipped), str(counts.flaky),
                percent(counts.pass_rate), "-" if case.seconds is None else f"{case.seconds:.2f}",
            )
        )  # fmt: skip
    return table(head, rows)


def percent(rate: float | None) -> str:
    """A share of 0 to 1 for a person; 100 % only when it is whole, `-` for none."""
    if rate is None:
        return "-"
    return f"{min(rate, 0.999) if rate < 1 else 1:.1%}"


def _summed(cases: "Sequence[CaseCounts]") -> str:
    from buildeye.cli.testpage import counted
    from buildeye.insight.testruns import Counts

    total = Counts()
    for case in cases:
        total = total.plus(case.counts)
    tests = "1 test" if len(cases) == 1 else f"{len(cases):,} tests"
    return f"{tests}, {counted(total)}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
