"""`build-eye login` and `build-eye contexts`, from a `gh` in PATH to the file of contexts."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ask.grafana_place import TOKEN, Place, place
from tests.cli.program import build_eye

GITHUB = "gho_" + "h" * 36


@pytest.fixture
def found() -> Iterator[Place]:
    with place() as running:
        running.state.writers.add(GITHUB)
        yield running


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `gh` that is logged in."""
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho {GITHUB}\n")
    program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return program


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody without contexts and without a keyring; gives the file of contexts."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GCX_SERVER", "GCX_CONTEXT", "HUD_INTERNAL_BOT_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("buildeye.ask.contexts._keyring", lambda: None)
    return tmp_path / "config" / "build-eye" / "contexts.json"


@pytest.mark.usefixtures("gh")
def test_a_login_then_another_then_the_list(found: Place, person: Path) -> None:
    first = build_eye("login", "--context", "ci", "--server", found.url + "/", "--hud", found.url)
    assert (first.code, first.err) == (0, "")
    assert first.out == f"logged in: context ci asks {found.url}; its token is kept in {person}\n"
    second = build_eye("login")
    assert (second.code, second.out) == (0, f"context ci asks {found.url}; it was logged in already\n")
    listed = build_eye("contexts", "list")
    assert [line.split()[:2] for line in listed.out.splitlines()[1:]] == [["local", "this"], ["*", "ci"]]
    assert json.loads(build_eye("contexts", "list", "-o", "json").out)[1] == {
        "name": "ci", "current": True, "server": found.url, "hud": found.url, "namespace": "default", "token": "file",
    }  # fmt: skip
    token = json.loads(person.read_text())["contexts"]["ci"]["token"]
    assert token in found.state.tokens
    assert token not in first.out + second.out + listed.out and GITHUB not in first.out


def test_contexts_are_used_and_removed(found: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    given = build_eye("login", "--context", "ci", "--server", found.url, "--with-token", stdin=TOKEN.encode() + b"\n")
    assert given.code == 0
    assert build_eye("contexts", "use", "local").out == "context local is asked from now on\n"
    monkeypatch.setenv("GCX_CONTEXT", "local")
    used = build_eye("contexts", "use", "ci")
    assert used.code == 0 and "GCX_CONTEXT is set, so local is asked all the same" in used.err
    monkeypatch.delenv("GCX_CONTEXT")
    assert build_eye("contexts", "remove", "ci").out == "context ci and its token are forgotten\n"
    gone = build_eye("contexts", "use", "ci")
    assert gone.code == 2 and gone.err.startswith('build-eye: there is no context "ci"; there are local, pytorchci;')


def test_the_environment_names_server_and_context_as_the_guide_has_it(
    found: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCX_SERVER", found.url)
    monkeypatch.setenv("GCX_CONTEXT", "theirs")
    assert build_eye("login", "--with-token", stdin=TOKEN.encode()).out.startswith(
        f"logged in: context theirs asks {found.url}"
    )


@pytest.mark.parametrize(
    ("arguments", "script", "code", "said"),
    [
        ((), "exit 1", 2, "gh is not logged in; run gh auth login --hostname github.com --git-protocol ssh --web"),
        ((), None, 2, "gh is not installed: install it from https://cli.github.com, or set GITHUB_TOKEN"),
        ((), "echo gho_somebody_else", 3, "does not take the GitHub token; run gh auth refresh"),
        (("--context", "local"), "exit 0", 2, "context local is this machine, which needs no login"),
        (("--with-token",), "exit 0", 2, "--with-token reads the token from standard input, and there was none"),
        (("--server", "grafana"), "exit 0", 2, "the Grafana server is no http(s) address"),
        (("--hud", "http://hud.test"), f"echo {GITHUB}", 2, "is not asked over https"),
    ],
)
def test_what_is_wrong_is_one_line_and_the_right_code(
    found: Place, gh: Path, arguments: tuple[str, ...], script: str | None, code: int, said: str
) -> None:
    if script is None:
        gh.unlink()
    else:
        gh.write_text(f"#!/bin/sh\n{script}\n")
    answer = build_eye("login", "--server", found.url, "--hud", found.url, *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("build-eye: ") and answer.err.count("\n") == 1 and said in answer.err


def test_a_file_that_others_could_read_is_mended_with_a_warning(found: Place, person: Path) -> None:
    build_eye("login", "--context", "ci", "--server", found.url, "--with-token", stdin=TOKEN.encode())
    person.chmod(0o644)
    listed = build_eye("contexts", "list")
    assert listed.code == 0 and "could be read by others" in listed.err
    assert stat.S_IMODE(person.stat().st_mode) == 0o600
