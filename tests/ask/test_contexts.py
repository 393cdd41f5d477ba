"""Contexts in a file of their own: who is asked, where tokens are, and who may read them."""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend

from buildeye.ask.contexts import PYTORCH, Context, Contexts, SystemKeyring, contexts, contexts_path
from buildeye.model import OutsideError, UsageError

TOKEN = "glsa_" + "k" * 32
MINE = Context("mine", "https://grafana.test", "https://hud.test", "stacks-7")


class Shelf:
    """A vault that works, or does not."""

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.kept: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self.kept.get(key)

    def put(self, key: str, token: str) -> bool:
        if self.works:
            self.kept[key] = token
        return self.works

    def drop(self, key: str) -> bool:
        self.kept.pop(key, None)
        return self.works


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "build-eye" / "contexts.json"


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def opened(path: Path, shelf: Shelf, **environ: str) -> Contexts:
    return contexts(path, environ, shelf)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_without_a_file_this_machine_is_asked(path: Path, shelf: Shelf) -> None:
    there = opened(path, shelf)
    assert (there.all, there.selected, there.current()) == ((), "local", None)
    assert not path.exists()


def test_what_was_kept_is_there_again_and_selected(path: Path, shelf: Shelf) -> None:
    assert opened(path, shelf).keep(MINE, TOKEN) == "keyring"
    again = opened(path, shelf)
    assert again.all == (MINE,) and again.current() == MINE
    assert again.token(MINE) == TOKEN and again.token_place(MINE) == "keyring"
    assert TOKEN not in path.read_text()


def test_without_a_keyring_the_token_is_in_the_file(path: Path) -> None:
    shelf = Shelf(works=False)
    assert opened(path, shelf).keep(MINE, TOKEN) == "file"
    again = opened(path, shelf)
    assert again.token(MINE) == TOKEN and again.token_place(MINE) == "file"
    assert mode(path) == 0o600 and mode(path.parent) == 0o700


def test_a_token_that_moves_into_the_keyring_leaves_the_file(path: Path, shelf: Shelf) -> None:
    opened(path, Shelf(works=False)).keep(MINE, TOKEN)
    opened(path, shelf).keep(MINE, TOKEN + "2")
    assert TOKEN not in path.read_text() and opened(path, shelf).token(MINE) == TOKEN + "2"


@pytest.mark.parametrize("works", [True, False])
def test_a_token_is_not_sent_to_another_server(path: Path, works: bool) -> None:
    shelf = Shelf(works=works)
    opened(path, shelf).keep(MINE, TOKEN)
    there = opened(path, shelf, GCX_SERVER="https://other.test/")
    context = there.current()
    assert context == Context("mine", "https://other.test", "https://hud.test", "stacks-7")
    assert context is not None and there.token(context) == "" and there.token_place(context) == ""
    same = opened(path, shelf, GCX_SERVER="https://grafana.test/")
    context = same.current()
    assert context is not None and same.token(context) == TOKEN


def test_a_context_that_moves_to_another_server_forgets_its_old_token(path: Path, shelf: Shelf) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    moved = Context("mine", "https://other.test/", "https://hud.test")
    opened(path, shelf).keep(moved, TOKEN + "2")
    assert list(shelf.kept.values()) == [TOKEN + "2"]
    assert opened(path, shelf).all == (Context("mine", "https://other.test", "https://hud.test"),)


@pytest.mark.parametrize(
    ("environ", "named", "meant"),
    [
        ({}, None, MINE),
        ({}, "local", None),
        ({}, "pytorchci", PYTORCH),
        ({"GCX_CONTEXT": "pytorchci"}, None, PYTORCH),
        ({"GCX_CONTEXT": "local"}, None, None),
        ({"GCX_CONTEXT": "local"}, "mine", MINE),
        ({"GCX_CONTEXT": ""}, None, MINE),
        ({"GCX_CONTEXT": "new", "GCX_SERVER": "https://new.test/g"}, None,
         Context("new", "https://new.test/g", PYTORCH.hud)),
    ],
)  # fmt: skip
def test_an_option_wins_over_the_environment_and_that_over_the_file(
    path: Path, shelf: Shelf, environ: Mapping[str, str], named: str | None, meant: Context | None
) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    assert contexts(path, environ, shelf).current(named) == meant


def test_a_server_of_the_environment_alone_means_pytorchs_context(path: Path, shelf: Shelf) -> None:
    there = opened(path, shelf, GCX_SERVER="https://g.test")
    assert there.current() == Context("pytorchci", "https://g.test", PYTORCH.hud)


def test_a_name_that_nobody_knows_is_refused_with_those_there_are(path: Path, shelf: Shelf) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    there = opened(path, shelf)
    for ask in (there.current, there.select, there.remove):
        with pytest.raises(UsageError, match='no context "other"; there are local, mine, pytorchci; build-eye login'):
            ask("other")


def test_selecting_and_removing(path: Path, shelf: Shelf) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    opened(path, shelf).select("local")
    assert opened(path, shelf).selected == "local"
    opened(path, shelf).select("mine")
    assert opened(path, shelf).remove("mine")
    assert opened(path, shelf).all == () and opened(path, shelf).selected == "local" and shelf.kept == {}
    for name in ("pytorchci", "local"):
        with pytest.raises(UsageError, match="stands in no file"):
            opened(path, shelf).remove(name)


def test_a_file_that_others_may_read_is_closed_and_told_of(
    path: Path, shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    path.chmod(0o644)
    opened(path, shelf)
    assert mode(path) == 0o600 and "could be read by others" in caplog.text
    caplog.clear()
    opened(path, shelf)
    assert caplog.text == ""


def test_the_file_is_replaced_in_one_step_also_behind_a_link(path: Path, shelf: Shelf, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "contexts.json"
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    opened(path, shelf).keep(MINE, TOKEN)
    assert path.is_symlink() and target.is_file() and list(target.parent.iterdir()) == [target]
    assert opened(path, shelf).all == (MINE,)


def test_a_write_that_fails_leaves_what_was_there(path: Path, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    before = path.read_text()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutsideError, match=r"cannot be written to .*No space left"):
        opened(path, shelf).select("local")
    assert path.read_text() == before and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"version": 2, "current": "", "contexts": {}}', '{"version": 1, "current": "", "contexts": []}',
     '{"version": 1, "current": "", "contexts": {"a": {"server": "https://g.test"}}}',
     '{"version": 1, "current": "", "contexts": {"../a": {"server": "s", "hud": "h", "namespace": "n"}}}'],
)  # fmt: skip
def test_a_file_that_is_none_is_refused(path: Path, shelf: Shelf, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError, match=r"is no file of contexts.*; delete it and run build-eye login"):
        opened(path, shelf)


def test_a_file_that_cannot_be_read_is_named(path: Path, shelf: Shelf) -> None:
    path.mkdir(parents=True)
    with pytest.raises(OutsideError, match="cannot be read"):
        opened(path, shelf)


@pytest.mark.parametrize("name", ["", "a b", "../x", "-x", "x" * 64, "local"])
def test_a_name_that_is_none_cannot_be_logged_in(path: Path, shelf: Shelf, name: str) -> None:
    with pytest.raises(UsageError):
        opened(path, shelf).known(name)


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"XDG_CONFIG_HOME": "/etc/mine", "HOME": "/home/a"}, "/etc/mine/build-eye/contexts.json"),
        ({"XDG_CONFIG_HOME": "", "HOME": "/home/a"}, "/home/a/.config/build-eye/contexts.json"),
        ({"XDG_CONFIG_HOME": "not/absolute", "HOME": "/home/a"}, "/home/a/.config/build-eye/contexts.json"),
    ],
)
def test_the_file_lies_where_settings_of_a_person_lie(environ: Mapping[str, str], place: str) -> None:
    assert contexts_path(environ) == Path(place)


class Drawer(KeyringBackend):
    """A keyring of the package's own kind, in memory."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the package's
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


class Jammed(Drawer):
    """A keyring that is there and fails, as one does whose desktop is locked."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError("locked")


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> Any:
    before = keyring.get_keyring()
    keyring.set_keyring(request.param)
    yield request.param
    keyring.set_keyring(before)


@pytest.mark.parametrize("backend", [Drawer()], indirect=True)
def test_the_keyring_of_the_system_keeps_tokens(path: Path, backend: Drawer) -> None:
    assert contexts(path, {}).keep(MINE, TOKEN) == "keyring"
    assert backend.kept == {("build-eye", "mine https://grafana.test"): TOKEN}
    assert contexts(path, {}).token(MINE) == TOKEN
    contexts(path, {}).remove("mine")
    assert backend.kept == {}


@pytest.mark.parametrize("backend", [Jammed()], indirect=True)
def test_a_keyring_that_fails_is_as_none(path: Path, backend: Jammed) -> None:
    assert contexts(path, {}).keep(MINE, TOKEN) == "file"
    assert contexts(path, {}).token(MINE) == TOKEN
    assert contexts(path, {}).remove("mine"), "its token was in the file, which is gone"
    assert SystemKeyring().get("mine") is None


def test_a_token_that_the_keyring_does_not_let_go_is_told_of(path: Path, shelf: Shelf) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    shelf.works = False
    assert not opened(path, shelf).remove("mine") and opened(path, shelf).all == ()


def test_the_file_is_json_that_people_can_read(path: Path, shelf: Shelf) -> None:
    opened(path, shelf).keep(MINE, TOKEN)
    assert json.loads(path.read_text()) == {
        "version": 1,
        "current": "mine",
        "contexts": {"mine": {"server": "https://grafana.test", "hud": "https://hud.test", "namespace": "stacks-7"}},
    }
