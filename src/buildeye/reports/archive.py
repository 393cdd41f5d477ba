"""Carry the reports to the archive repository: one commit a pass, nothing when there is nothing new.

The working copy is disposable: each try starts from what the remote holds now and tells the reports into it as a pass
does. So a push that came second is done again on top of the first (a rebase that cannot conflict), and a pass killed at
any point leaves nothing the next one has to repair. The archive remembers findings as well: a runner with an empty disk
adds to the reports of the day instead of replacing them.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from buildeye.model import Cause, OutsideError, UsageError
from buildeye.reports.disk import only_writer, read_if_there, write_whole
from buildeye.reports.folder import kept_files, read_told, tell
from buildeye.reports.git import Git, Token, open_git, reason
from buildeye.reports.paths import report_file, store_file

TRIES = 5
FOLDER = "reports"
"""Where reports lie in the archive repository."""
_ANOTHER_WAS_FIRST = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "stale info")


@dataclass(frozen=True, slots=True)
class ArchiveResult:
    """What went to the archive, as paths in its repository; `commit` is None when nothing was new and in a dry run."""

    commit: str | None = None
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pushed: bool = False


def archive(
    reports: Path,
    repo: str,
    *,
    branch: str,
    token: Token,
    author: tuple[str, str],
    workdir: Path,
    dry_run: bool = False,
    environment: Mapping[str, str] | None = None,
) -> ArchiveResult:
    """Bring the reports folder into `reports/` of the repository at address `repo`, as one commit on `branch`.

    `workdir` belongs to this function: a working copy is kept there and thrown away when it is not sound. `author` is
    name and mail address. `environment` is the process's own unless given. A dry run says what a commit would hold.
    UsageError: no git, an address or branch that cannot be. OutsideError: the remote cannot be reached or refuses.
    """
    git = open_git(workdir, repo, token, author, os.environ if environment is None else environment)
    try:
        with only_writer(workdir.with_name(f"{workdir.name}.lock")):
            workdir.mkdir(parents=True, exist_ok=True)
            if git.ask("check-ref-format", "--branch", branch).returncode != 0:
                raise UsageError(f"{branch!r} cannot be the name of the archive branch: give one such as main")
            return _archive(git, reports, repo, branch, dry_run=dry_run)
    except OSError as error:
        raise OutsideError(
            f"the archive's working copy {workdir} cannot be written: {error.strerror or error}; "
            "check its rights and free space"
        ) from None


def _archive(git: Git, reports: Path, repo: str, branch: str, *, dry_run: bool) -> ArchiveResult:
    refusal = ""
    for _ in range(TRIES):
        _start_from_remote(git, repo, branch)
        _bring(reports, git.folder / FOLDER)
        changes = _changes(git)
        if not any(changes.values()):
            return ArchiveResult()
        added, updated, removed = (tuple(changes[kind]) for kind in "AMD")
        if dry_run:
            return ArchiveResult(None, added, updated, removed)
        git.run("-c", "commit.gpgSign=false", "commit", "--quiet", "--no-verify", "-m", _message(changes))
        commit = git.run("rev-parse", "HEAD").strip()
        done = git.ask("push", "--porcelain", "origin", f"HEAD:refs/heads/{branch}")
        if done.returncode == 0:
            return ArchiveResult(commit, added, updated, removed, pushed=True)
        refusal = _refusal(done.stdout) or reason(done)
        if not any(mark in done.stdout + done.stderr for mark in _ANOTHER_WAS_FIRST):
            break
    raise OutsideError(
        f"the archive {git.hide(repo)} refused the reports on branch {branch}: {refusal}; "
        "check that the token may write contents and that the branch is not protected"
    )


def _start_from_remote(git: Git, repo: str, branch: str) -> None:
    """Make the working copy what the remote branch is now, or empty when there is no such branch."""
    if not _is_sound(git, repo):
        _start_over(git, repo)
    for lock in (git.folder / ".git").rglob("*.lock"):
        lock.unlink(missing_ok=True)
    heads = git.ask("ls-remote", "--heads", "origin", f"refs/heads/{branch}")
    if heads.returncode != 0:
        raise OutsideError(
            f"the archive {git.hide(repo)} cannot be read: {reason(heads)}; check its address and the archive token"
        )
    exists = bool(heads.stdout.strip())
    try:
        _check_out(git, branch, exists=exists)
    except OutsideError:
        _start_over(git, repo)
        _check_out(git, branch, exists=exists)


def _start_over(git: Git, repo: str) -> None:
    shutil.rmtree(git.folder)
    git.folder.mkdir()
    git.run("init", "--quiet")
    git.run("remote", "add", "--", "origin", repo)


def _check_out(git: Git, branch: str, *, exists: bool) -> None:
    if exists:
        git.run("fetch", "--quiet", "--no-tags", "--depth=1", "origin", f"+refs/heads/{branch}:refs/archive/base")
        git.run("update-ref", "--no-deref", "HEAD", "refs/archive/base")
        git.run("reset", "--quiet", "--hard")
    else:
        git.run("symbolic-ref", "HEAD", "refs/heads/archive-start")
        git.run("update-ref", "-d", "refs/heads/archive-start")
        git.run("read-tree", "--empty")
    git.run("clean", "--quiet", "-ffdx")


def _is_sound(git: Git, repo: str) -> bool:
    """Whether the working copy is a repository of its own that belongs to this archive."""
    if not (git.folder / ".git").is_dir():
        return False
    url = git.ask("config", "--local", "--get", "remote.origin.url")
    checked = git.ask("rev-parse", "--show-toplevel")
    at_top = checked.returncode == 0 and Path(checked.stdout.rstrip("\n")) == git.folder.resolve()
    return at_top and url.stdout.rstrip("\n") == repo


def _bring(reports: Path, target: Path) -> None:
    """Tell everything the reports folder tells into the archive's, and copy what else lies there."""
    kept = kept_files(reports)
    target.mkdir(parents=True, exist_ok=True)
    new = {key: read_told(file) for key, file in kept.items() if not _is_there(key, reports, target)}
    tell({key: told for key, told in new.items() if told is not None}, target)
    ours = {Path(report_file(day, subject, cause)) for day, subject in kept for cause in Cause}
    for path in sorted(reports.rglob("*")):
        below = path.relative_to(reports)
        hidden = any(part.startswith(".") for part in below.parts)
        if not hidden and path.is_file() and not path.is_symlink() and below not in ours:
            data = path.read_bytes()
            there = target / below
            if not there.is_file() or there.read_bytes() != data:
                write_whole(there, data)


def _is_there(key: tuple[date, str], reports: Path, target: Path) -> bool:
    """Whether the archive tells this already, to the byte: most days of a long-lived folder, so worth not rendering."""
    files = [store_file(*key), *(report_file(*key, cause) for cause in Cause)]
    return all(read_if_there(reports / file) == read_if_there(target / file) for file in files) and any(
        (target / file).is_file() for file in files[1:]
    )


def _changes(git: Git) -> dict[str, list[str]]:
    """What is new, changed and gone in the archive's reports, staged for one commit."""
    git.run("add", "--all", "--force", "--", FOLDER)
    listed = git.run("diff", "--cached", "--no-renames", "--name-status", "-z", "--", FOLDER).split("\0")
    changes: dict[str, list[str]] = {"A": [], "M": [], "D": []}
    for kind, name in zip(listed[::2], listed[1::2], strict=False):
        changes.setdefault(kind, []).append(name)
    return changes


def _message(changes: Mapping[str, list[str]]) -> str:
    counts = [
        f"{sum(name.endswith('.md') for name in changes[kind])} {word}"
        for kind, word in (("A", "added"), ("M", "updated"), ("D", "removed"))
    ]
    return f"Reports: {', '.join(counts)}"


def _refusal(porcelain: str) -> str:
    """The reason in what `git push --porcelain` prints: `!<tab>HEAD:refs/heads/main<tab>[remote rejected] (hook)`."""
    refused = [line.split("\t")[-1] for line in porcelain.splitlines() if line.startswith("!")]
    return refused[0].strip() if refused else ""
