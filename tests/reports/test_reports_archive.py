"""The archive, with the real git and a bare repository: one commit, no token in sight, no harm from a kill."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr

from buildeye.model import Finding, OutsideError, UsageError
from buildeye.reports import ArchiveResult, archive, write_reports
from buildeye.reports.deployment import write_deployment_report

from .deployment_samples import rolled_back

TOKEN = "ghp_not-a-real-token-0123456789"
AUTHOR = ("Build-Eye", "build-eye@example.org")
Make = Callable[..., Finding]


def git(folder: Path, *arguments: str) -> str:
    """What the real git says in a folder."""
    identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


class Archive:
    """A bare repository, a reports folder, and passes between them."""

    def __init__(self, root: Path, noon: datetime) -> None:
        self.root, self.noon = root, noon
        self.bare, self.reports, self.workdir = root / "bare.git", root / "reports", root / "work"
        git(root, "init", "--quiet", "--bare", str(self.bare))

    def write(self, *findings: Finding) -> None:
        """One pass over the reports folder."""
        write_reports(findings, self.reports, language="en", now=self.noon)

    def push(self, workdir: str = "work", *, dry_run: bool = False, **environment: str) -> ArchiveResult:
        """One archiving."""
        return archive(
            self.reports, str(self.bare), branch="main", token=None, author=AUTHOR, workdir=self.root / workdir,
            dry_run=dry_run, environment=os.environ | environment,
        )  # fmt: skip

    def files(self) -> list[str]:
        """The reports in the archive now."""
        names = git(self.bare, "ls-tree", "-r", "--name-only", "main").splitlines()
        return [name for name in names if name.endswith(".md")]

    def commits(self) -> int:
        """How many commits the archive's branch has."""
        return int(git(self.bare, "rev-list", "--count", "main"))


@pytest.fixture
def place(tmp_path: Path, noon: datetime) -> Archive:
    """An empty archive."""
    return Archive(tmp_path, noon)


def test_reports_reach_an_empty_archive_as_one_commit_and_only_once(place: Archive, finding_of: Make) -> None:
    place.write(finding_of(pr=1), finding_of(pr=2, run_id=502))
    first, second = place.push(), place.push()
    assert first.pushed
    assert first.commit == git(place.bare, "rev-parse", "main")
    assert "reports/2026/05/28/unknown-pr-1.md" in first.added
    assert second == ArchiveResult()
    assert place.commits() == 1
    assert git(place.bare, "log", "-1", "--format=%an <%ae> %s", "main") == (
        "Build-Eye <build-eye@example.org> Reports: 2 added, 0 updated, 0 removed"
    )


def test_a_dry_run_says_what_it_would_do_and_does_nothing(place: Archive, finding_of: Make) -> None:
    place.write(finding_of(pr=1))
    result = place.push(dry_run=True)
    assert (result.commit, result.pushed) == (None, False)
    assert "reports/2026/05/28/unknown-pr-1.md" in result.added
    assert git(place.bare, "branch", "--list") == ""


def test_what_else_is_in_the_archive_stays(place: Archive, finding_of: Make) -> None:
    clone = place.root / "clone"
    git(place.root, "clone", "--quiet", str(place.bare), str(clone))
    (clone / "README.md").write_text("archive\n")
    (clone / ".gitignore").write_text("reports/\n")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "start")
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    place.write(finding_of(pr=1))
    place.push()
    assert place.files() == ["README.md", "reports/2026/05/28/unknown-pr-1.md"]


def test_the_report_of_a_deployment_is_archived_like_any_other(place: Archive, finding_of: Make) -> None:
    place.write(finding_of(pr=1))
    path, _ = write_deployment_report(rolled_back(), place.reports, now=place.noon)
    assert f"reports/{path}" in place.push().added


def test_a_report_whose_cause_changed_is_replaced_in_the_archive(
    place: Archive, samples: dict[str, list[Finding]]
) -> None:
    older, newer = samples["several-runs"]
    place.write(older)
    place.push()
    place.write(newer)
    result = place.push()
    assert result.removed == ("reports/2026/05/28/infrastructure-pr-9822.md",)
    assert place.files() == ["reports/2026/05/28/code-pr-9822.md"]


def test_a_machine_that_starts_empty_adds_to_the_reports_of_the_day(
    place: Archive, samples: dict[str, list[Finding]]
) -> None:
    older, newer = samples["several-runs"]
    place.write(older)
    place.push()
    place.reports = place.root / "elsewhere"
    place.write(newer)
    place.push("other-work")
    text = git(place.bare, "show", "main:reports/2026/05/28/code-pr-9822.md")
    assert "run_ids: [500, 501]" in text


def _wrapped(root: Path, script: str) -> str:
    """A PATH on which `git` is a script that ends in the real one."""
    folder = root / "bin"
    folder.mkdir(exist_ok=True)
    real = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    (folder / "git").write_text(f'#!/bin/sh\nreal={real}\n{script}\nexec "$real" "$@"\n')
    (folder / "git").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_a_push_that_comes_second_is_done_again_on_top(place: Archive, finding_of: Make) -> None:
    place.write(finding_of(pr=1))
    place.push()
    other = place.root / "other"
    git(place.root, "clone", "--quiet", "--branch", "main", str(place.bare), str(other))
    (other / "note").write_text("x")
    git(other, "add", ".")
    git(other, "commit", "--quiet", "-m", "someone was faster")
    faster = f'[ -e {other}/done ] || (cd {other} && touch done && "$real" push -q origin main)'
    once = f'case "$*" in *" push "*) {faster};; esac'
    place.write(finding_of(pr=2))
    result = place.push(PATH=_wrapped(place.root, once))
    assert result.pushed
    assert place.commits() == 3
    assert "note" in git(place.bare, "ls-tree", "--name-only", "main")


def test_a_refused_push_is_one_sentence_without_trying_again(place: Archive, finding_of: Make) -> None:
    hook = place.bare / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\necho x >> {place.root}/asked\nexit 1\n")
    hook.chmod(0o755)
    place.write(finding_of(pr=1))
    with pytest.raises(OutsideError, match=r"refused the reports on branch main: \[remote rejected\].*; check that"):
        place.push()
    assert (place.root / "asked").read_text() == "x\n"


CHILD = """
import pathlib, sys
from buildeye.reports.archive import archive
reports, bare, work = sys.argv[1:]
author, workdir = ("B", "b@example.org"), pathlib.Path(work)
archive(pathlib.Path(reports), bare, branch="main", token=None, author=author, workdir=workdir)
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["init", "fetch", "add", "commit", "push"])
def test_an_archiving_killed_between_steps_is_finished_by_the_next(
    step: str, when: str, place: Archive, finding_of: Make
) -> None:
    place.write(finding_of(pr=1))
    if step == "fetch":
        place.push()
        place.write(finding_of(pr=2))
    run = '"$real" "$@"; ' if when == "after" else f"touch {place.root}/work/.git/index.lock 2>/dev/null; "
    path = _wrapped(place.root, f'case " $* " in *" {step} "*) {run}kill -9 $PPID; exit 1;; esac')
    command = [sys.executable, "-c", CHILD, str(place.reports), str(place.bare), str(place.workdir)]
    died = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True)
    assert died.returncode == -signal.SIGKILL
    place.push()
    assert place.push() == ArchiveResult()
    assert len(place.files()) == place.commits() == (2 if step == "fetch" else 1)


def test_a_damaged_working_copy_is_thrown_away(place: Archive, finding_of: Make) -> None:
    place.write(finding_of(pr=1))
    place.push()
    for file in (place.workdir / ".git").rglob("*"):
        if file.is_file() and file.name != "config":
            file.chmod(0o644)
            file.write_bytes(b"")
    place.write(finding_of(pr=2))
    assert place.push().pushed


@pytest.fixture
def web() -> Iterator[tuple[str, list[str]]]:
    """A web server that refuses everything and remembers what it was told to let someone in."""
    seen: list[str] = []

    class Refuse(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers.get("Authorization", ""))
            self.send_error(403)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refuse)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/archive.git", seen
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("token", [TOKEN, SecretStr(TOKEN)], ids=["text", "secret"])
def test_the_token_reaches_the_server_and_nothing_else(
    token: str | SecretStr, tmp_path: Path, web: tuple[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    url, seen = web
    path = _wrapped(tmp_path, f'echo "$@" >> {tmp_path}/arguments')
    with pytest.raises(OutsideError) as caught:
        archive(
            tmp_path / "reports", url, branch="main", token=token, author=AUTHOR, workdir=tmp_path / "work",
            environment=os.environ | {"PATH": path, "GIT_TRACE_CURL": "1", "GIT_TRACE_REDACT": "0"},
        )  # fmt: skip
    assert seen[-1].startswith("Basic ")
    encoded = seen[-1].removeprefix("Basic ")
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    shown = str(caught.value) + caplog.text + "".join(file.read_text(errors="replace") for file in files)
    assert "ls-remote" in shown
    assert TOKEN not in shown
    assert encoded not in shown
    assert "cannot be read" in str(caught.value)


@pytest.mark.parametrize(
    ("url", "token", "says"),
    [
        ("https://user:secret-word@github.com/a/b.git", None, "set ARCHIVE_TOKEN"),
        ("ext::sh -c true", None, "not an address git can use"),
        ("--upload-pack=x", None, "not an address git can use"),
        ("", None, "not an address git can use"),
        ("http://git.example/a.git", TOKEN, "over plain http"),
    ],
)
def test_an_address_that_would_leak_or_run_something_is_refused(
    url: str, token: str | None, says: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        archive(tmp_path, url, branch="main", token=token, author=AUTHOR, workdir=tmp_path / "work")
    assert "secret-word" not in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_branch_that_cannot_be_is_refused(place: Archive) -> None:
    with pytest.raises(UsageError, match="cannot be the name of the archive branch"):
        archive(place.reports, str(place.bare), branch="a..b", token=None, author=AUTHOR, workdir=place.workdir)


def test_without_git_the_user_is_told_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="git is not installed"):
        archive(
            tmp_path, "x", branch="main", token=None, author=AUTHOR, workdir=tmp_path / "work",
            environment={"PATH": str(tmp_path)},
        )  # fmt: skip
