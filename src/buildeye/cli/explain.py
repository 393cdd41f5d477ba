"""`build-eye explain`: why did the job of this log fail?"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from buildeye.model import Diagnosis, Job


def explain(
    logs: list[str] = typer.Argument(
        ..., metavar="LOG...", help="Log files (plain, .gz, .zst, GitHub's .zip); - is standard input."
    ),
    baseline: Path | None = typer.Option(None, help="A passing log of the same job, to compare with."),
    job: Path | None = typer.Option(None, help="The job as GitHub's REST API returns it (JSON)."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object a log, one a line (docs/diagnosis.md)."),
    knowledge: list[Path] = typer.Option(
        [], "--knowledge", exists=True, file_okay=False, help="A folder of your own rule packs (*.toml)."
    ),
) -> None:
    """Say why a job failed, from its log alone.

    \b
    Examples:
      build-eye explain job.log
      build-eye explain --baseline green.log red.log
      gh run view --log-failed 123 | build-eye explain -
      build-eye explain --json logs_123.zip
    """
    from buildeye.logs.diagnose import diagnose
    from buildeye.logs.ruleset import load_ruleset
    from buildeye.logs.source import open_logs
    from buildeye.model import BuildEyeError

    rules = load_ruleset(knowledge)
    facts = _read_job(job) if job else None
    known = _line_set(baseline) if baseline else None
    worst = 0
    for name in logs:
        try:
            for log in open_logs(name):
                with log:
                    _answer(diagnose(log, rules, baseline=known, job=facts), as_json=as_json)
        except BuildEyeError as e:
            typer.echo(f"build-eye: {e}", err=True)
            worst = max(worst, e.exit_code)
    if worst:
        raise typer.Exit(worst)


def _answer(diagnosis: "Diagnosis", *, as_json: bool) -> None:
    from buildeye.cli.face import show_diagnosis

    if as_json:
        utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        typer.echo(json.dumps(diagnosis.to_dict(), ensure_ascii=not utf8))
    else:
        typer.echo(show_diagnosis(diagnosis, color=sys.stdout.isatty()))


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
