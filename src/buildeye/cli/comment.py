"""`build-eye comment`: whose are the failures of a pull request, told on its page."""

import json
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from buildeye.cli.setup import settings_for, target_overrides
from buildeye.cli.stages import CONFIG, TARGET
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.config import Settings
    from buildeye.model import PullRequestFinding
    from buildeye.pipeline.comment import Deed, Told


class Form(StrEnum):
    """How the answer is printed."""

    TEXT = "text"
    JSON = "json"


def comment(
    number: int = typer.Argument(..., metavar="PR", min=1, help="The number of the pull request."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Print the comment and what would be done; post nothing."),
    no_check: bool = typer.Option(False, "--no-check", help="Write no check run on the commit, only the comment."),
    form: Form = typer.Option(Form.TEXT, "--format", "-o", help="Text to read, or one JSON object."),
    target_repo: str | None = TARGET,
    config: Path | None = CONFIG,
) -> None:
    """Tell on a pull request which failures look like its change, in one comment edited in place.

    Tells what the warehouse holds (`build-eye monitor` fills it), of the newest commit that ran. Posts nothing when
    nothing changed, and no comment when nothing failed.

    \b
    Examples:
      build-eye comment 9829 --dry-run
      build-eye comment 9829
      build-eye comment 9829 --no-check --target-repo vllm-project/vllm-ascend
      build-eye comment 9829 -o json
    """
    from buildeye.cli import actions

    with actions.failures_told(os.environ):
        settings = settings_for(config, target_overrides(target_repo))
        finding, told = _told(settings, number, check=not no_check, dry_run=dry_run)
    if form is Form.JSON:
        typer.echo(_json(finding, told, dry_run=dry_run))
        return
    if dry_run:
        typer.echo(told.body)
    typer.echo(_said(f"{settings.target_repository.full_name}#{number}", finding, told, dry_run=dry_run))


def _told(settings: "Settings", number: int, *, check: bool, dry_run: bool) -> "tuple[PullRequestFinding, Told]":
    from buildeye.github import GitHub
    from buildeye.pipeline.comment import tell_pull_request
    from buildeye.pipeline.pullrequests import finding_of_pull_request
    from buildeye.warehouse import open_to_ask

    store, target = settings.storage, settings.target_repository
    with open_to_ask(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days) as warehouse:
        finding = finding_of_pull_request(warehouse, settings, number, without_run=_this_run(target.full_name))
    with GitHub.of(settings) as github:
        posting = github.posting(target.owner, target.repo)
        return finding, tell_pull_request(posting, settings, finding, check=check, dry_run=dry_run, warn=warn)


def _this_run(repository: str) -> int:
    """The run of GitHub Actions that this process is part of, when it is one of `repository`; else 0."""
    run = os.environ.get("GITHUB_RUN_ID", "")
    return int(run) if run.isdecimal() and os.environ.get("GITHUB_REPOSITORY") == repository else 0


def _json(finding: "PullRequestFinding", told: "Told", *, dry_run: bool) -> str:
    checked = told.checked
    said = {
        "pull_request": finding.pull_request.number,
        "head_sha": finding.head_sha,
        "dry_run": dry_run,
        "conclusion": told.check.conclusion,
        "headline": told.check.title,
        "comment": {"action": told.commented.did, "url": told.commented.url or None},
        "check": {"action": checked.did, "url": checked.url or None} if checked else None,
        "body": told.body,
    }
    utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    return json.dumps(said, ensure_ascii=not utf8)


def _said(name: str, finding: "PullRequestFinding", told: "Told", *, dry_run: bool) -> str:
    from buildeye.pipeline.comment import has_run

    if not has_run(finding):
        return f"{name}: no run of it is known, so there is nothing to tell"
    parts = [_deed("comment", told.commented, dry_run=dry_run)]
    if told.checked:
        parts.append(_deed(f"check run ({told.check.conclusion})", told.checked, dry_run=dry_run))
    return f"{name}: {told.check.title} · {' · '.join(parts)}"


def _deed(what: str, deed: "Deed", *, dry_run: bool) -> str:
    from buildeye.pipeline.comment import Did

    match deed.did:
        case Did.CREATED | Did.EDITED:
            done = f"{what} {'would be ' if dry_run else ''}{deed.did}"
            return f"{done} {deed.url}".rstrip()
        case Did.UNCHANGED:
            return f"{what} says so already, nothing posted"
        case Did.NOTHING:
            return f"no {what}"
        case Did.REFUSED:
            return f"no {what}, see the warning"
