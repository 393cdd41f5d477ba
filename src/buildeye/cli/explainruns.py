"""`build-eye explain RUN`: a run from the warehouse, else from the logs of its failed jobs."""

import json
import os
import re
import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import settings_for, target_overrides
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.cli.face import Effort
    from buildeye.config import Settings
    from buildeye.github.runaddress import RunAddress
    from buildeye.logs.diagnose import LogReading
    from buildeye.logs.ruleset import RuleSet
    from buildeye.logs.source import LogFile
    from buildeye.model import Job
    from buildeye.pipeline.explainrun import ExplainedRun, Pick, Sources

_NUMBER = re.compile(r"[0-9]{1,18}")


def is_run(name: str) -> bool:
    """Does an argument mean a run: an address, or a plain number that is no file?"""
    return name.startswith(("https://", "http://")) or (bool(_NUMBER.fullmatch(name)) and not Path(name).exists())


@dataclass(frozen=True, slots=True)
class Wish:
    """How the answers are wanted: as JSON, in so many `tokens` (None: on a terminal), with a passing log to compare.

    `show` is how many lines of a log are read to be shown; `knowledge` are folders of rules.
    """

    as_json: bool
    tokens: int | None
    show: int
    knowledge: tuple[Path, ...] = ()
    baseline: Set[int] | None = None


def explain_runs(
    runs: Sequence[str], wish: Wish, *, job: str | None, target_repo: str | None, config: Path | None
) -> int:
    """Print what is known of each run; gives the exit code: 0, or the highest of what went wrong."""
    from buildeye.model import BuildEyeError, UsageError

    if job is not None and not job.strip():
        raise UsageError("--job is empty; give the name or number of a job, or leave it out for the whole run")
    settings = settings_for(config, target_overrides(target_repo))
    worst, first = 0, True
    for name in runs:
        reader = _Reader(settings, wish)
        try:
            run = _explained(name, settings, reader, job, named=target_repo is not None)
            typer.echo("" if first or wish.as_json else "\n", nl=False)
            first = False
            _answer(run, reader)
        except BuildEyeError as error:
            typer.echo(f"build-eye: {error}", err=True)
            worst = max(worst, error.exit_code)
    return worst


def _explained(name: str, settings: "Settings", reader: "_Reader", job: str | None, *, named: bool) -> "ExplainedRun":
    from buildeye.github.runaddress import run_address
    from buildeye.github.wire import NotFoundError
    from buildeye.model import OutsideError, UsageError
    from buildeye.pipeline.explainrun import explain_run

    address = run_address(name)
    meant = settings.target_repository.full_name
    if address.repository and address.repository.lower() != meant.lower():
        if named:
            raise UsageError(f"{name} is a run of {address.repository}, --target-repo says {meant}; leave one out")
        meant = address.repository
    certain = named or bool(address.repository)
    try:
        run = explain_run(reader.sources(), meant, address.run_id, _pick(address, job), named=certain)
    except NotFoundError as error:
        if certain:
            raise
        raise OutsideError(f"{error}; a run of another repository needs its address, or --target-repo") from None
    for trouble in run.troubles:
        warn(f"there is no verdict, for {trouble}")
    if reader.wish.baseline is not None and run.jobs and all(each.verdict for each in run.jobs):
        warn("--baseline was not used: the failed jobs were judged already, with what the warehouse knows")
    return run


def _pick(address: "RunAddress", job: str | None) -> "Pick":
    from buildeye.cli.vocabulary import job_among

    wanted = job if job is not None else str(address.job_id or "")

    def pick(jobs: "Sequence[Job]") -> "Job | None":
        return job_among(wanted, address.run_id, jobs) if wanted else None

    return pick


def _answer(run: "ExplainedRun", reader: "_Reader") -> None:
    """Print a run. OutsideError: some jobs failed and nothing could be said of any of them."""
    from buildeye.model import OutsideError
    from buildeye.pipeline.collect import GONE

    wish = reader.wish
    if wish.as_json:
        typer.echo(_json(run, wish.tokens))
    elif wish.tokens is not None:
        typer.echo(_brief(run, wish.tokens))
    else:
        from buildeye.cli.runface import show_explained
        from buildeye.cli.terminal import look_of

        look = look_of(sys.stdout, os.environ)
        typer.echo(show_explained(run, look, reader.efforts), color=look.color)
    if run.jobs and not any(each.verdict or each.diagnosis for each in run.jobs):
        notes = "; ".join(dict.fromkeys(each.note for each in run.jobs if each.note))
        hint = "; a re-run makes new logs, `build-eye sync` keeps logs before they expire" if GONE in notes else ""
        raise OutsideError(f"{run.repository} run {run.run_id}: no failed job could be explained: {notes}{hint}")


def _json(run: "ExplainedRun", tokens: int | None) -> str:
    from buildeye.logs.brief import brief
    from buildeye.pipeline.verdictjson import run_json

    said = run_json(run)
    if tokens is not None:
        for entry, each in zip(said["jobs"], run.jobs, strict=True):
            entry["context"] = brief(each.reading, tokens) if each.reading else ""
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(said, default=datetime.isoformat, ensure_ascii=not utf8)


def _brief(run: "ExplainedRun", tokens: int) -> str:
    from buildeye.logs.secrets import strip_controls
    from buildeye.pipeline.runwords import head_of, words_of

    said = "\n\n".join([head_of(run), *(words_of(each, tokens) for each in run.jobs)])
    return "\n".join(map(strip_controls, said.split("\n")))


@dataclass(slots=True)
class _Reader:
    """Reads logs of jobs, and keeps what that took by job."""

    settings: "Settings"
    wish: Wish
    efforts: "dict[int, Effort]" = field(default_factory=dict)
    _rules: "RuleSet | None" = None

    def read(self, log: "LogFile", job: "Job") -> "LogReading":
        """What a log says."""
        from buildeye.cli.face import Effort
        from buildeye.logs.diagnose import read_log
        from buildeye.logs.rules import Tier
        from buildeye.logs.ruleset import load_ruleset

        if self._rules is None:
            self._rules = load_ruleset([*self.wish.knowledge, *self.settings.storage.knowledge_dirs])
            _ = self._rules.matcher  # compiled now, so that the first log is not blamed for it
        begun = perf_counter()
        reading = read_log(log, self._rules, baseline=self.wish.baseline, job=job, show=self.wish.show)
        took = (perf_counter() - begun) * 1000
        causes = frozenset(rule.id for rule in self._rules.rules if rule.tier is Tier.CAUSE)
        self.efforts[job.id] = Effort(lines_of(log), took, causes)
        return reading

    def sources(self) -> "Sources":
        """Where a person is answered from: everything that the settings name."""
        from buildeye.pipeline.explainrun import Sources, github_of, log_store_of
        from buildeye.warehouse import open_filled

        store = self.settings.storage
        return Sources(
            lambda: open_filled(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days),
            lambda: log_store_of(self.settings),
            lambda: github_of(self.settings),
            self.read,
            again=self.wish.show > 0,
        )


def lines_of(log: "LogFile") -> int:
    """How many lines a log has; a last one without a line feed counts."""
    whole, open_end = 0, False
    for block in log.blocks():
        whole += block.data.count(b"\n")
        open_end = not block.data.endswith(b"\n")
    return whole + open_end
