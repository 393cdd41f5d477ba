"""`build-eye verdict`: our judgement of a run with its reasons, and a person's verdict, which wins over it."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.rules import FORM, Form
from buildeye.cli.setup import now, settings_for, target_overrides
from buildeye.cli.stages import CONFIG, TARGET

if TYPE_CHECKING:
    from buildeye.model import Job, PersonVerdict
    from buildeye.pipeline.verdicts import JobVerdict, RunVerdicts
    from buildeye.warehouse import Warehouse

app = typer.Typer(
    help="Whose problem a failed run is, why, and what a person says to it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

RUN = typer.Argument(..., metavar="RUN", help="The number of a run, or the address of its page or a job's page.")
JOB = typer.Option(None, "--job", metavar="NAME_OR_ID", help="One job of the run; default all that failed.")


@app.command("set")
def set_verdict(
    run: str = RUN,
    cause: str = typer.Option(
        ..., "--cause", help="Whose problem: code, configuration, infrastructure, interference, ..."
    ),
    why: str = typer.Option(..., "--why", help="What you know, in a sentence; reports show it."),
    category: str = typer.Option("", "--category", help="Which problem, such as disk-full."),
    job: str | None = JOB,
    by: str = typer.Option("", "--by", metavar="WHO", help="Who says so; default you."),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say whose problem a failed run, or one job of it, is: your word wins over Build-Eye's own judgement.

    Without --category it is Build-Eye's if that belongs to the cause. Reports say so after the next pass.

    \b
    Examples:
      build-eye verdict set 26690112009 --cause infrastructure --why "node 7 lost its disk"
      build-eye verdict set 26690112009 --job "unit (3.12)" --cause code --why "my typo" --by octocat
    """
    from buildeye.cli.speaker import speaker
    from buildeye.cli.vocabulary import category_named, cause_named
    from buildeye.model import WHOLE_RUN, PersonVerdict, UsageError
    from buildeye.pipeline.verdicts import say

    named = cause_named(cause)
    which = category_named(category, named)
    told = _one_line(why)
    if not told:
        raise UsageError("--why is empty; say in a sentence what you know")
    person = _one_line(by) or speaker(os.environ)
    with _asked(run, target_repo, config, job, to_write=True) as asked:
        job_id = asked.job.id if asked.job else WHOLE_RUN
        said = PersonVerdict(asked.run.repository, asked.run.run_id, job_id, named, which, told, person, now())
        kept = say(asked.warehouse, asked.run, said)
        typer.echo(_kept(asked, kept))


@app.command()
def show(run: str = RUN, job: str | None = JOB, form: Form = FORM, target_repo: str | None = TARGET,
         config: Path | None = CONFIG) -> None:  # fmt: skip
    """Show Build-Eye's judgement of a run with what was weighed, and a person's beside it.

    \b
    Examples:
      build-eye verdict show 26690112009
      build-eye verdict show https://github.com/OWNER/REPO/actions/runs/26690112009/job/77123456789
      build-eye verdict show 26690112009 -o json | jq -r '.jobs[] | [.name, .verdict.cause] | @tsv'
    """
    from buildeye.cli.terminal import look_of
    from buildeye.cli.verdictface import show_run
    from buildeye.pipeline.verdictjson import as_json

    with _asked(run, target_repo, config, job) as asked:
        known, chosen = replace(asked.run, said=asked.said), asked.judged
    if form is Form.JSON:
        typer.echo(_json(as_json(known, chosen)))
    else:
        typer.echo(show_run(known, chosen, look_of(sys.stdout, os.environ)))
    raise typer.Exit(0 if chosen or known.said else 1)


@app.command("list")
def list_verdicts(
    since: str = typer.Option("7d", "--since", help="How far back: 12h, 7d, 4w, or a date such as 2026-11-01 (UTC)."),
    form: Form = FORM,
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """List what people said lately, oldest first, beside what Build-Eye judged.

    \b
    Examples:
      build-eye verdict list
      build-eye verdict list --since 4w -o json
    """
    from buildeye.cli.verdictface import list_table
    from buildeye.model.times import moment

    begin = moment("--since", since, now())
    with _warehouse(target_repo, config) as (warehouse, repository):
        rows = warehouse.ask("person_verdicts_since", repository=repository, since=begin)
    if form is Form.JSON:
        typer.echo(_json(rows))
    else:
        typer.echo(list_table(rows) if rows else f"{repository}: nobody said anything since {begin:%Y-%m-%d %H:%M} UTC")


@app.command()
def clear(run: str = RUN, job: str | None = JOB, target_repo: str | None = TARGET,
          config: Path | None = CONFIG) -> None:  # fmt: skip
    """Take back what people said of a run and its jobs, or of one job: Build-Eye's own judgement counts again.

    \b
    Examples:
      build-eye verdict clear 26690112009
      build-eye verdict clear 26690112009 --job "unit (3.12)"
    """
    from buildeye.model import WHOLE_RUN
    from buildeye.pipeline.verdicts import take_back

    with _asked(run, target_repo, config, job, to_write=True) as asked:
        said = [each for each in asked.run.said if asked.job is None or each.job_id == asked.job.id]
        take_back(asked.warehouse, said, now())
    if not said:
        typer.echo(f"{asked.name}: nobody said anything that counts, so there is nothing to take back")
    for each in said:
        rest = [other for other in asked.run.said if other not in said and other.job_id == WHOLE_RUN]
        then = f"what {rest[0].person} said of the run counts" if rest else "our own judgement counts again"
        typer.echo(f"{asked.name_of(each)}: {each.cause}, said by {each.person}, is taken back; {then}")


@app.command()
def history(run: str = RUN, job: str | None = JOB, form: Form = FORM, target_repo: str | None = TARGET,
            config: Path | None = CONFIG) -> None:  # fmt: skip
    """Show how Build-Eye's own judgement of a run changed as evidence came in, oldest change first.

    \b
    Examples:
      build-eye verdict history 26690112009
      build-eye verdict history 26690112009 -o json
    """
    from buildeye.cli.verdictface import change_table
    from buildeye.pipeline.verdictjson import change_as_json

    with _asked(run, target_repo, config, job) as asked:
        changes = sorted(
            ((each.job.name or str(each.job.id), change) for each in asked.judged for change in each.changes),
            key=lambda pair: (pair[1].changed_at, pair[1].job_id),
        )
    if form is Form.JSON:
        typer.echo(_json([change_as_json(name, change) for name, change in changes]))
    else:
        typer.echo(change_table(changes) if changes else f"{asked.name}: our judgement has not changed")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A known run, and the one job that was asked about, if one was."""

    warehouse: "Warehouse"
    run: "RunVerdicts"
    job: "Job | None"

    @property
    def judged(self) -> "Sequence[JobVerdict]":
        """The judged jobs that were asked about."""
        return [each for each in self.run.jobs if self.job is None or each.job.id == self.job.id]

    @property
    def said(self) -> "tuple[PersonVerdict, ...]":
        """What people said of what was asked about; of a job that is also what they said of its run."""
        from buildeye.model import WHOLE_RUN

        about = (WHOLE_RUN, self.job.id) if self.job else None
        return tuple(each for each in self.run.said if about is None or each.job_id in about)

    @property
    def name(self) -> str:
        """What was asked about, for messages."""
        whole = f"{self.run.repository} run {self.run.run_id}"
        return f'{whole}, job "{_one_line(self.job.name) or self.job.id}"' if self.job else whole

    def name_of(self, said: "PersonVerdict") -> str:
        """What a person's word is about, for messages."""
        job = next((each for each in self.run.known if each.id == said.job_id), None)
        return _Asked(self.warehouse, self.run, job).name


def _kept(asked: _Asked, said: "PersonVerdict") -> str:
    """What is now held to be true, what that overrules, and when reports say so."""
    from buildeye.cli.verdictface import named
    from buildeye.triage.people import overruled, said_of

    words = [*asked.run.said, said]
    over = [each for each in asked.judged if said_of(each.job, words) == said]
    counts = [overruled(each.ours, said) for each in over]
    what = ", ".join(dict.fromkeys(named(each.cause, each.category) for each in counts))
    bare = "" if said.category or not over else " (no --category given)"
    first = f"{asked.name}: {what or named(said.cause, said.category or said.cause)}{bare}, says {said.person}"
    if not over:
        return f"{first}\nNo failed job of it was judged yet; it counts as soon as one is."
    ours = Counter(named(each.ours.cause, each.ours.category) for each in over)
    counted = ", ".join(f"{name} ({count} {'job' if count == 1 else 'jobs'})" for name, count in ours.most_common())
    return f"{first}\nBuild-Eye judged {counted}.\nReports say so after the next pass."


@contextmanager
def _warehouse(
    target_repo: str | None, config: Path | None, named: str = "", *, to_write: bool = False
) -> "Iterator[tuple[Warehouse, str]]":
    """The warehouse, and the repository that is meant; one that an address `named` wins over the settings'."""
    from buildeye.warehouse import open_to_ask, open_warehouse

    settings = settings_for(config, target_overrides(target_repo))
    store = settings.storage
    meant = settings.target_repository.full_name
    with (
        open_warehouse(store.warehouse_dsn, retention_days=store.retention_days, data_dir=store.data_dir)
        if to_write
        else open_to_ask(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days)
    ) as warehouse:
        yield warehouse, named if named and named.lower() != meant.lower() else meant


@contextmanager
def _asked(
    run: str, target_repo: str | None, config: Path | None, job: str | None, *, to_write: bool = False
) -> Iterator[_Asked]:
    """What is known of the run that is meant. UsageError when it is not known, or has no such job."""
    from buildeye.cli.vocabulary import job_named
    from buildeye.github.runaddress import run_address
    from buildeye.model import UsageError
    from buildeye.pipeline.verdicts import verdicts_of

    address = run_address(run)
    if job is not None and not job.strip():
        raise UsageError("--job is empty; give the name or number of a job, or leave it out for the whole run")
    with _warehouse(target_repo, config, address.repository, to_write=to_write) as (warehouse, repository):
        known = verdicts_of(warehouse, repository, address.run_id)
        if known is None:
            raise UsageError(
                f"the warehouse does not know run {address.run_id} of {repository}; bring it with `build-eye sync "
                f"--target-repo {repository}` (--lookback-hours says how far back), or check the number"
            )
        wanted = job if job is not None else str(address.job_id or "")
        yield _Asked(warehouse, known, job_named(wanted, known) if wanted else None)


def _one_line(text: str) -> str:
    """Text of a person in one line, masked: it goes into reports."""
    from buildeye.logs.secrets import mask, strip_controls

    return mask(strip_controls(" ".join(text.split()))).strip()


def _json(value: object) -> str:
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(value, default=datetime.isoformat, ensure_ascii=not utf8)
