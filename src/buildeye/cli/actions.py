"""What GitHub Actions wants to hear of a pass: the job summary, outputs of the step, and an error on the run's page.

All of it only where the runner asks for it by its environment variables. What cannot be written there is a warning: the
pass itself is done.
"""

import json
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.voice import sentence, warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.pipeline.monitor import Pass

SUMMARY = "summary.md"
OUTPUTS = ("runs", "failed-runs", "causes", "reports", "reports-written", "archive-commit", "summary")
"""What a pass sets in `$GITHUB_OUTPUT`; `action.yml` hands on these."""


def report(environ: Mapping[str, str], settings: "Settings", done: "Pass", opening: str, closing: str) -> None:
    """Write the job summary and the outputs of a pass. `opening` and `closing` are its first and last line."""
    from buildeye.reports.jobsummary import job_summary

    if not (environ.get("GITHUB_STEP_SUMMARY") or environ.get("GITHUB_OUTPUT")):
        return
    text = job_summary(opening, done.findings, closing)
    copy = settings.storage.data_dir / SUMMARY
    _write(copy, text, mode="w")
    _append(environ, "GITHUB_STEP_SUMMARY", text)
    _append(environ, "GITHUB_OUTPUT", "".join(_output(*each) for each in outputs(settings, done, copy).items()))


def outputs(settings: "Settings", done: "Pass", summary: Path) -> dict[str, str]:
    """The outputs of a pass by name; `causes` is JSON, a count for each cause as it may be claimed."""
    from buildeye.reports.headline import claimed

    counted = Counter(str(claimed(finding)) for finding in done.findings)
    values = (
        len(done.runs),
        len(done.findings),
        json.dumps(dict(sorted(counted.items()))),
        settings.report.output_dir,
        len(done.reports.written) + len(done.reports.updated),
        done.archive.commit if done.archive and done.archive.commit else "",
        summary,
    )
    return dict(zip(OUTPUTS, map(str, values), strict=True))


@contextmanager
def failures_told(environ: Mapping[str, str]) -> Iterator[None]:
    """Show an error that ends the command on the run's page, too, and let it go on its way."""
    from buildeye.model import BuildEyeError

    try:
        yield
    except (BuildEyeError, OSError) as error:
        if environ.get("GITHUB_ACTIONS") == "true":
            typer.echo(f"::error title=Build-Eye::{_escaped(sentence(error))}")
            _append(environ, "GITHUB_STEP_SUMMARY", _failure(sentence(error)))
        raise


def _failure(message: str) -> str:
    from buildeye.reports.markdown import prose

    return f"### Build-Eye failed\n\n{prose(message)}\n"


def _escaped(message: str) -> str:
    return message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _output(name: str, value: str) -> str:
    """One output as the runner reads it; the mark is random, so that no value can end itself and begin another."""
    mark = f"end-{secrets.token_hex(16)}"
    return f"{name}<<{mark}\n{value}\n{mark}\n"


def _append(environ: Mapping[str, str], variable: str, text: str) -> None:
    if environ.get(variable):
        _write(Path(environ[variable]), text, mode="a")


def _write(path: Path, text: str, *, mode: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        warn(f"{path} cannot be written ({error.strerror})")
