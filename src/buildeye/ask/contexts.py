"""Which Grafana is asked: contexts by name in one file, their tokens in the keyring of the system where there is one.

The file is `build-eye/contexts.json` below `$XDG_CONFIG_HOME`, for nobody else to read, and is written in one step.
Where no keyring works, tokens stand in it too. A token belongs to a context and its server: it is not sent to another
address, which `GCX_SERVER` can give.
"""

import json
import logging
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from buildeye.ask.addresses import web_address
from buildeye.model import OutsideError, UsageError

LOCAL: Final = "local"
"""The name of this machine: its warehouse, and the Prometheus of the settings."""
_LOG: Final = logging.getLogger(__name__)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_OTHERS: Final = 0o077
_PRIVATE: Final = 0o600
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Context:
    """A Grafana under a name: its address, the HUD that hands out tokens for it, and its name for the organisation."""

    name: str
    server: str
    hud: str
    namespace: str = "default"


PYTORCH: Final = Context("pytorchci", "https://pytorchci.grafana.net", "https://hud.pytorch.org")
"""What `build-eye login` means when nothing else is said."""


class Vault(Protocol):
    """Where tokens are kept beside the file."""

    def get(self, key: str) -> str | None:
        """The token under a key; None when there is none, or no vault."""

    def put(self, key: str, token: str) -> bool:
        """Keep a token; False where there is no vault that works."""

    def drop(self, key: str) -> bool:
        """Forget a token, if it is there; False where it may be there still."""


class SystemKeyring:
    """The keyring of the system, through the package `keyring` when it is installed. Its failures mean: no vault."""

    _SERVICE: Final = "build-eye"

    def get(self, key: str) -> str | None:
        """See `Vault`."""
        try:
            keyring = _keyring()
            found = keyring.get_password(self._SERVICE, key) if keyring else None
            return found if isinstance(found, str) else None
        except Exception:  # noqa: BLE001  a backend raises what it likes
            return None

    def put(self, key: str, token: str) -> bool:
        """See `Vault`; what was kept is read again before it counts."""
        try:
            keyring = _keyring()
            if keyring is None:
                return False
            keyring.set_password(self._SERVICE, key, token)
            return bool(keyring.get_password(self._SERVICE, key) == token)
        except Exception:  # noqa: BLE001  a backend raises what it likes
            return False

    def drop(self, key: str) -> bool:
        """See `Vault`."""
        try:
            keyring = _keyring()
            if keyring is not None and keyring.get_password(self._SERVICE, key) is not None:
                keyring.delete_password(self._SERVICE, key)
        except Exception:  # noqa: BLE001  a backend raises what it likes
            return False
        return True


class Contexts:
    """The contexts of one file. Changes are written at once; OutsideError when that fails."""

    def __init__(self, path: Path, environ: Mapping[str, str], vault: Vault, data: Mapping[str, Any]) -> None:
        self._path, self._environ, self._vault = path, environ, vault
        self._current: str = data["current"]
        self._entries: dict[str, dict[str, str]] = data["contexts"]

    @property
    def all(self) -> tuple[Context, ...]:
        """Those in the file, by name."""
        return tuple(_context(name, entry) for name, entry in sorted(self._entries.items()))

    @property
    def selected(self) -> str:
        """The name that is asked when none is given: `GCX_CONTEXT`, that in the file, or `local`."""
        if named := self._environ.get("GCX_CONTEXT"):
            return named
        if self._current:
            return self._current
        return PYTORCH.name if self._environ.get("GCX_SERVER") else LOCAL

    def current(self, named: str | None = None) -> Context | None:
        """The context of that name, or the selected one; None is this machine. `GCX_SERVER` gives it another address.

        UsageError: there is none of that name.
        """
        name = named or self.selected
        if name == LOCAL:
            return None
        server = self._environ.get("GCX_SERVER", "")
        found = self._named(name, server)
        return replace(found, server=server_address(server)) if server else found

    def known(self, name: str) -> Context:
        """The context of that name as a login would begin with it: that of the file, else the one of PyTorch.

        UsageError: the name is none, or means this machine.
        """
        if name == LOCAL:
            raise UsageError("context local is this machine, which needs no login")
        if not _NAME.fullmatch(name):
            raise UsageError("a context's name has letters, digits, dots and dashes, 63 at most, such as pytorchci")
        return _context(name, self._entries[name]) if name in self._entries else replace(PYTORCH, name=name)

    def token(self, context: Context) -> str:
        """The token that was kept for a context and its server; '' for none."""
        entry = self._entries.get(context.name, {})
        if entry.get("server") != context.server:
            return ""
        return entry.get("token") or self._vault.get(_key(context)) or ""

    def token_place(self, context: Context) -> str:
        """Where its token is: `keyring`, `file`, or '' for nowhere."""
        token = self.token(context)
        if not token:
            return ""
        return "file" if self._entries[context.name].get("token") == token else "keyring"

    def keep(self, context: Context, token: str) -> str:
        """Keep a context with its token and select it; gives where the token is, `keyring` or `file`."""
        before = self._entries.get(context.name)
        entry = {"server": server_address(context.server), "hud": context.hud, "namespace": context.namespace}
        kept = replace(context, server=entry["server"])
        if before and before["server"] != kept.server:
            self._vault.drop(_key(_context(context.name, before)))
        in_vault = self._vault.put(_key(kept), token)
        if not in_vault:
            entry["token"] = token
        self._entries[context.name], self._current = entry, context.name
        self._write()
        return "keyring" if in_vault else "file"

    def select(self, name: str) -> None:
        """Ask this context from now on; `local` for this machine. UsageError: there is none of that name."""
        if name != LOCAL:
            self._named(name, "")
        self._current = "" if name == LOCAL else name
        self._write()

    def remove(self, name: str) -> bool:
        """Forget a context and its token; this machine is asked when it was selected. UsageError: there is none.

        False: the keyring did not let the token go, or did not say.
        """
        found = self._named(name, "") if name != LOCAL else None
        if found is None or name not in self._entries:
            raise UsageError(f"context {name} stands in no file, so it cannot be removed")
        dropped = self._vault.drop(_key(found)) or "token" in self._entries[name]
        del self._entries[name]
        if self._current == name:
            self._current = ""
        self._write()
        return dropped

    def _named(self, name: str, server: str) -> Context:
        if name in self._entries:
            return _context(name, self._entries[name])
        if name == PYTORCH.name:
            return PYTORCH
        if server and _NAME.fullmatch(name):
            return replace(PYTORCH, name=name)
        there = ", ".join(sorted({*self._entries, LOCAL, PYTORCH.name}))
        raise UsageError(f'there is no context "{name}"; there are {there}; build-eye login --context adds one')

    def _write(self) -> None:
        text = json.dumps({"version": _VERSION, "current": self._current, "contexts": self._entries}, indent=2) + "\n"
        _write_private(self._path, text)


def contexts_path(environ: Mapping[str, str]) -> Path:
    """The file of contexts: below `XDG_CONFIG_HOME`, by default `~/.config`."""
    base = environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base and Path(base).is_absolute() else Path(environ.get("HOME") or Path.home()) / ".config"
    return folder / "build-eye" / "contexts.json"


def contexts(path: Path, environ: Mapping[str, str], vault: Vault | None = None) -> Contexts:
    """The contexts of a file; one that is not there has none. A file that others may read is closed to them, with a
    warning.

    UsageError: the file is no such file. OutsideError: it cannot be read.
    """
    data = _read(path)
    return Contexts(path, environ, SystemKeyring() if vault is None else vault, data)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8") as file:
            _close_to_others(path, file.fileno())
            data = json.load(file)
    except FileNotFoundError:
        return {"current": "", "contexts": {}}
    except OSError as error:
        raise OutsideError(
            f"the contexts in {path} cannot be read ({error.strerror}); mend the file's rights"
        ) from None
    except ValueError:
        raise UsageError(f"{path} is no file of contexts; delete it and run build-eye login") from None
    if not _is_whole(data):
        raise UsageError(f"{path} is no file of contexts of this version; delete it and run build-eye login")
    return {"current": data["current"], "contexts": data["contexts"]}


def _close_to_others(path: Path, descriptor: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if not mode & _OTHERS:
        return
    try:
        os.fchmod(descriptor, _PRIVATE)
    except OSError:
        _LOG.warning("%s can be read by others, which cannot be changed: tokens in it are no secret", path)
    else:
        _LOG.warning(
            "%s could be read by others; it no longer can. If it held a token, run build-eye login again", path
        )


def _is_whole(data: Any) -> bool:
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("current"), str):
        return False
    entries = data.get("contexts")
    return isinstance(entries, dict) and all(
        _NAME.fullmatch(name)
        and isinstance(entry, dict)
        and {"server", "hud", "namespace"} <= entry.keys()
        and all(isinstance(value, str) for value in entry.values())
        for name, entry in entries.items()
    )


def _write_private(path: Path, text: str) -> None:
    """Put a file where it belongs in one step; nobody else can read it at any moment."""
    target = path.resolve()
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise OutsideError(
            f"the contexts cannot be written to {path} ({error.strerror}); mend the folder, or set XDG_CONFIG_HOME"
        ) from None


def _context(name: str, entry: Mapping[str, str]) -> Context:
    return Context(name, entry["server"], entry["hud"], entry["namespace"])


def server_address(text: str) -> str:
    """An address in the one form that addresses are compared in. UsageError: it is none."""
    return str(web_address(text, "the Grafana server", PYTORCH.server)).rstrip("/")


def _key(context: Context) -> str:
    return f"{context.name} {context.server}"


def _keyring() -> Any:
    """The package, when it is installed and has a backend that keeps something."""
    try:
        import keyring
    except ImportError:
        return None
    return keyring if keyring.get_keyring().priority > 0 else None
