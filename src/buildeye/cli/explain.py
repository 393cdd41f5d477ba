"""`build-eye explain`: why did the job of this log, or this run, fail?"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import typer

from buildeye.cli.explainruns import Wish, explain_runs, is_run, lines_of
from buildeye.cli.stages import CONFIG, TARGET

if TYPE_CHECKING:
    from buildeye.logs.diagnose import LogReading
    from buildeye.logs.ruleset import RuleSet
    from buildeye.logs.source import LogFile
    from buildeye.model import Job

SHOWN = 80
"""Lines of a log that are read for the terminal; it shows those that stand around the key line."""


def explain(
    logs: list[str] = typer.Argument(
        ...,
        metavar="LOG_OR_RUN",
        help="Log files (plain, .gz, .zst, GitHub's .zip; - is standard input), or runs: a number, or the address of "
        "a run's or job's page on GitHub.",
    ),
    baseline: Path | None = typer.Option(None, help="A passing log of the same job, to compare with."),
    job: str | None = typer.Option(
        None,
        metavar="FILE_OR_JOB",
        help="Of a log: a file with its job as GitHub's REST API has it (JSON). Of a run: one job by name or number.",
    ),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a log or run, one a line (docs/diagnosis.md)."),
    context: int | None = typer.Option(
        None, "--context-for-agent", min=50, metavar="TOKENS", help="Only what matters, in at most so many tokens."
    ),
    knowledge: list[Path] = typer.Option(
        [], "--knowledge", exists=True, file_okay=False, help="A folder of your own rule packs (*.toml)."
    ),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Say why a job failed, from its log alone; or a run, from what the warehouse knows, else from its logs on GitHub.

    \b
    Examples:
      build-eye explain job.log
      build-eye explain --baseline green.log red.log
      gh run view --log-failed 123 | build-eye explain -
      build-eye explain --json logs_123.zip
      build-eye explain --context-for-agent 800 job.log
      build-eye explain 26690112009
      build-eye explain https://github.com/OWNER/REPO/actions/runs/26690112009/job/77123456789
    """
    from buildeye.logs.diagnose import read_log
    from buildeye.logs.source import open_logs
    from buildeye.model import BuildEyeError, UsageError

    if any(map(is_run, logs)):
        wish = Wish(
            as_json, context, _lines_shown(as_json=as_json, tokens=context), tuple(knowledge),
            _line_set(baseline) if baseline else None,
        )  # fmt: skip
        _only_runs(logs)
        raise typer.Exit(explain_runs(logs, wish, job=job, target_repo=target_repo, config=config))
    if target_repo is not None or config is not None:
        raise UsageError("--target-repo and --config are for runs; a log is explained from itself")
    rules = _rules(knowledge)
    facts = _read_job(Path(job)) if job else None
    known = _line_set(baseline) if baseline else None
    answer = _answer_as(rules, as_json=as_json, tokens=context, several=len(logs) > 1)
    show = _lines_shown(as_json=as_json, tokens=context)
    worst = 0
    for name in logs:
        try:
            for log in open_logs(name):
                with log:
                    begun = perf_counter()
                    reading = read_log(log, rules, baseline=known, job=facts, show=show)
                    answer(log, reading, perf_counter() - begun, log.name != name)
        except BuildEyeError as e:
            typer.echo(f"build-eye: {e}", err=True)
            worst = max(worst, e.exit_code)
    if worst:
        raise typer.Exit(worst)


def _only_runs(names: list[str]) -> None:
    """UsageError: one of them is a log. The options mean other things for a log than for a run."""
    from buildeye.model import UsageError

    if log := next((name for name in names if not is_run(name)), None):
        raise UsageError(f"{log} is no run, but others are; ask about logs and about runs in two calls")


def _rules(knowledge: list[Path]) -> "RuleSet":
    from buildeye.cli.voice import listen
    from buildeye.logs.ruleset import load_ruleset

    if knowledge:
        listen()
    rules = load_ruleset(knowledge)
    _ = rules.matcher  # compiled now, so that the first log is not blamed for it
    return rules


Answer = Callable[["LogFile", "LogReading", float, bool], None]
"""Prints what was read of a log; also told the seconds that took and whether the log is one of an archive."""


def _lines_shown(*, as_json: bool, tokens: int | None) -> int:
    from buildeye.logs.brief import lines_for

    if tokens is not None:
        return lines_for(tokens)
    return 0 if as_json else SHOWN


def _answer_as(rules: "RuleSet", *, as_json: bool, tokens: int | None, several: bool) -> Answer:
    if as_json:
        return lambda _log, reading, _seconds, _packed: typer.echo(_json(reading, tokens))
    if tokens is not None:
        return lambda _log, reading, _seconds, packed: _say_brief(reading, tokens, named=several or packed)
    return _Face(rules, several=several)


def _json(reading: "LogReading", tokens: int | None) -> str:
    from buildeye.logs.brief import brief

    said = reading.diagnosis.to_dict() | ({} if tokens is None else {"context": brief(reading, tokens)})
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(said, ensure_ascii=not utf8)


def _say_brief(reading: "LogReading", tokens: int, *, named: bool) -> None:
    from buildeye.cli.face import name_line
    from buildeye.cli.terminal import Look
    from buildeye.logs.brief import brief

    if named:
        typer.echo(name_line(reading.diagnosis.log, Look()))
    typer.echo(brief(reading, tokens), nl=False)


class _Face:
    """Shows one log after another, each under its name when there are several."""

    def __init__(self, rules: "RuleSet", *, several: bool) -> None:
        from buildeye.cli.terminal import look_of
        from buildeye.logs.rules import Tier

        self._look = look_of(sys.stdout, os.environ)
        self._causes = frozenset(rule.id for rule in rules.rules if rule.tier is Tier.CAUSE)
        self._several = several
        self._first = True

    def __call__(self, log: "LogFile", reading: "LogReading", seconds: float, packed: bool) -> None:
        from buildeye.cli.face import Effort, name_line, show_diagnosis

        if self._several or packed:
            typer.echo(("" if self._first else "\n") + name_line(log.name, self._look), color=self._look.color)
        self._first = False
        effort = Effort(lines_of(log), seconds * 1000, self._causes)
        typer.echo(show_diagnosis(reading, self._look, effort), nl=False, color=self._look.color)


def _line_set(baseline: Path) -> set[int]:
    from buildeye.logs.baseline import line_set
    from buildeye.logs.source import open_logs

    known: set[int] = set()
    for log in open_logs(str(baseline)):
        with log:
            known |= line_set(log)
    return known


def _read_job(path: Path) -> "Job":
    from buildeye.github.convert import job_from
    from buildeye.model import OutsideError, UsageError

    try:
        return job_from(json.loads(path.read_text(encoding="utf-8")), "")
    except OSError as e:
        raise UsageError(
            f"{path}: cannot be read ({e.strerror}); --job takes the job as GitHub's REST API returns it"
        ) from e
    except (ValueError, RecursionError, OutsideError) as e:
        raise UsageError(f"{path}: not a job as GitHub's REST API returns it ({e})") from e
