"""Logging in, with a `gh` that is a program, a HUD and a Grafana that run: one line for all that can be wrong."""

import os
import socket
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from buildeye.ask.contexts import Context, Contexts, contexts
from buildeye.ask.login import GH_LOGIN, Login, github_token, hud_token, login
from buildeye.model import BuildEyeError, OutsideError, UsageError

from .grafana_place import TOKEN, Place, place

GITHUB = "gho_" + "h" * 36
READER = "gho_" + "r" * 36


@pytest.fixture
def found() -> Iterator[Place]:
    """A Grafana and its HUD; nothing is behind it."""
    with place(namespace="stacks-99") as running:
        running.state.writers.add(GITHUB)
        running.state.readers.add(READER)
        yield running


class Nowhere:
    """No keyring."""

    def get(self, key: str) -> str | None:
        return None

    def put(self, key: str, token: str) -> bool:
        return False

    def drop(self, key: str) -> bool:
        return True


@pytest.fixture
def known(tmp_path: Path) -> Contexts:
    return contexts(tmp_path / "contexts.json", {}, Nowhere())


def gh(folder: Path, script: str) -> dict[str, str]:
    """An environment in whose PATH `gh` is this script; it writes its arguments beside itself."""
    program = folder / "bin" / "gh"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/asked"\n{script}\n')
    program.chmod(stat.S_IRWXU)
    return {"PATH": f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(folder)}


def context_of(found: Place) -> Context:
    return Context("ci", found.url, found.url)


def test_a_login_shows_githubs_token_to_the_hud_and_keeps_grafanas(
    found: Place, known: Contexts, tmp_path: Path
) -> None:
    done = login(known, context_of(found), environ=gh(tmp_path, f"echo {GITHUB}"), host="my laptop/1")
    assert done == Login(replace(context_of(found), namespace="stacks-99"), True, "file")
    again = contexts(tmp_path / "contexts.json", {}, Nowhere())
    context = again.current()
    assert context == done.context and context is not None
    assert again.token(context) in found.state.tokens - {TOKEN}
    assert found.state.names == ["my-laptop-1"]
    assert (tmp_path / "asked").read_text() == "auth token --hostname github.com\n"


def test_a_token_that_is_still_good_is_not_asked_for_again(found: Place, known: Contexts, tmp_path: Path) -> None:
    known.keep(context_of(found), TOKEN)
    known.select("local")
    done = login(known, context_of(found), environ=gh(tmp_path, "exit 9"), host="h")
    assert not done.is_new and known.selected == "ci"
    assert found.state.asked == ["GET /api/health", "GET /api/datasources"] and not (tmp_path / "asked").exists()


def test_a_token_that_is_no_longer_taken_is_replaced(found: Place, known: Contexts, tmp_path: Path) -> None:
    known.keep(context_of(found), TOKEN)
    found.state.tokens.clear()
    assert login(known, context_of(found), environ=gh(tmp_path, f"echo {GITHUB}"), host="h").is_new
    assert known.token(context_of(found)) in found.state.tokens


def test_a_token_in_the_environment_goes_before_gh(found: Place, known: Contexts, tmp_path: Path) -> None:
    environ = gh(tmp_path, "exit 9") | {"GITHUB_TOKEN": GITHUB}
    assert login(known, context_of(found), environ=environ, host="h").is_new
    assert not (tmp_path / "asked").exists()


def test_a_token_that_one_has_already_needs_no_hud(found: Place, known: Contexts) -> None:
    done = login(known, context_of(found), environ={"PATH": ""}, host="h", given=TOKEN)
    assert done.is_new and known.token(done.context) == TOKEN
    assert "GET /api/gcx-token" not in found.state.asked


@pytest.mark.parametrize(
    ("script", "kind", "said"),
    [
        ("echo 'no oauth token' >&2; exit 1", UsageError, f"gh is not logged in; run {GH_LOGIN}"),
        ("exit 0", UsageError, f"gh is not logged in; run {GH_LOGIN}"),
        (f"echo {READER}", OutsideError, "gives no token: it is for people with write access to the repository; ask"),
        (
            "echo gho_unknown_to_all",
            OutsideError,
            f"does not take the GitHub token; run gh auth refresh, or {GH_LOGIN}",
        ),
        ("echo two words", UsageError, f"the GitHub token is none; mend GITHUB_TOKEN, or run {GH_LOGIN}"),
        ("printf '\\377'", OutsideError, "gh cannot be run: it does not print text"),
    ],
)
def test_what_is_wrong_with_github_is_one_line_that_mends_it(
    found: Place, known: Contexts, tmp_path: Path, script: str, kind: type[BuildEyeError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        login(known, context_of(found), environ=gh(tmp_path, script), host="h")
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert READER not in str(caught.value) and known.all == ()


def test_without_gh_its_installation_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gh is not installed: install it from .*, or set GITHUB_TOKEN"):
        github_token({"PATH": str(tmp_path)})


def test_a_gh_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    environ = gh(tmp_path, "exit 0")
    (tmp_path / "bin" / "gh").write_bytes(b"\x7fELF nothing")
    with pytest.raises(OutsideError, match="gh cannot be run: "):
        github_token(environ)


def test_a_hud_behind_a_wall_needs_the_token_of_a_bot(found: Place, known: Contexts) -> None:
    found.state.bot = "let-me-pass"
    environ = {"GITHUB_TOKEN": GITHUB}
    with pytest.raises(OutsideError, match="lets no programs pass; set HUD_INTERNAL_BOT_TOKEN"):
        login(known, context_of(found), environ=environ, host="h")
    assert login(known, context_of(found), environ=environ | {"HUD_INTERNAL_BOT_TOKEN": "let-me-pass"}, host="h").is_new


def test_a_hud_that_is_down_is_named(found: Place, known: Contexts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("buildeye.ask.login._PAUSE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    away = replace(context_of(found), hud=f"http://127.0.0.1:{port}")
    with pytest.raises(OutsideError, match=f"the HUD at 127.0.0.1:{port} cannot be reached: .*; check the network"):
        login(known, away, environ={"GITHUB_TOKEN": GITHUB}, host="h")


def test_a_grafana_that_is_down_is_named_before_anybody_is_asked(found: Place, known: Contexts, tmp_path: Path) -> None:
    known.keep(context_of(found), TOKEN)
    found.faults.away = True
    with pytest.raises(OutsideError, match=r"Grafana at .* answered 503, 3 times in a row"):
        login(known, context_of(found), environ=gh(tmp_path, f"echo {GITHUB}"), host="h")
    assert not (tmp_path / "asked").exists()


def test_a_token_that_grafana_does_not_take_is_not_kept(found: Place, known: Contexts) -> None:
    found.faults.expired = True
    with pytest.raises(OutsideError, match=r"Grafana at .* does not take the token; is it one for this server?"):
        login(known, context_of(found), environ={"GITHUB_TOKEN": GITHUB}, host="h")
    assert known.all == ()


@pytest.mark.parametrize("given", ["two words", "<html>", "x", "line\nbreak-in-a-token"])
def test_what_is_no_token_is_not_kept(found: Place, known: Contexts, given: str) -> None:
    with pytest.raises(BuildEyeError):
        login(known, context_of(found), environ={}, host="h", given=given)
    assert known.all == ()


def test_a_token_of_one_grafana_is_not_shown_to_another(found: Place, known: Contexts) -> None:
    environ = {"GITHUB_TOKEN": GITHUB}
    with pytest.raises(
        UsageError, match=r"hands out tokens for https://pytorchci.grafana.net alone; name that of http"
    ):
        login(known, replace(context_of(found), hud="https://hud.pytorch.org"), environ=environ, host="h")
    assert found.state.asked == []
    found.state.server = "https://other.test/"
    with pytest.raises(
        OutsideError, match=r"hands out tokens for https://other.test, not for http://127.0.0.1:\d+; mend"
    ):
        login(known, context_of(found), environ=environ, host="h")
    assert known.all == () and "GET /api/health" not in found.state.asked


def asked_of(answer: httpx2.Response, environ: Mapping[str, str] | None = None, hud: str = "https://hud.test") -> str:
    return hud_token(
        Context("ci", "https://g.test", hud), GITHUB, environ or {}, "h",
        transport=httpx2.MockTransport(lambda _: answer),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx2.Response(200, text="<!doctype html><html>log in</html>"), "answered with a page, not with a token"),
        (httpx2.Response(200, text="<html>"), "answered with a page, not with a token"),
        (httpx2.Response(200, json={"token": ""}), "answered with a page, not with a token"),
        (httpx2.Response(200, json={"token": ["x"] * 9}), "answered with a page, not with a token"),
        (httpx2.Response(200, text=""), "answered with a page, not with a token"),
        (httpx2.Response(200, text="x" * 100_000), "answered with a page, not with a token; is --hud right"),
        (httpx2.Response(302, headers={"location": "https://evil.test/"}), "a redirect; name the HUD itself"),
        (httpx2.Response(404), "hands out no tokens; is --hud right"),
        (httpx2.Response(418), "answered 418 and gives no token"),
        (httpx2.Response(500, text=GITHUB), "answered 500, 3 times in a row; try again later"),
    ],
)  # fmt: skip
def test_every_answer_of_a_hud_that_is_no_token_is_one_line(
    answer: httpx2.Response, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("buildeye.ask.login._PAUSE", 0.0)
    with pytest.raises(OutsideError, match=said) as caught:
        asked_of(answer)
    assert GITHUB not in str(caught.value) and "\n" not in str(caught.value)


def test_githubs_token_does_not_go_unencrypted_over_a_network() -> None:
    with pytest.raises(UsageError, match=r"the HUD at hud.test is not asked over https"):
        asked_of(httpx2.Response(200, text=TOKEN), hud="http://hud.test")
    assert asked_of(httpx2.Response(200, text=TOKEN + "\n"), hud="http://127.0.0.1:9") == TOKEN
