"""Opening a warehouse from its address, and what to say when that fails.

`chdb:///abs/folder`, `chdb://relative/folder`, `chdb://:memory:` run ClickHouse in this process;
`clickhouse://user:password@host:8123/?secure=0`, `http://...`, `https://...` speak to a server; with `path=/clickhouse`
to the ClickHouse door of another Build-Eye, which answers questions and takes nothing.
"""

import fcntl
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from buildeye.model import OutsideError, UsageError
from buildeye.warehouse.failures import first_sentence, outside_failures
from buildeye.warehouse.migrations import apply_retention, migrate, shipped_migrations
from buildeye.warehouse.owner import Owner, owner_in
from buildeye.warehouse.store import Warehouse

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_FORMS: Final = "chdb:///abs/folder, chdb://relative/folder, chdb://:memory: or clickhouse://user:password@host:8123/"
_MEMORY: Final = ":memory:"
_TRUE_FALSE: Final = {"1": True, "true": True, "0": False, "false": False}
_CONNECT_SECONDS: Final = 10
_PATH: Final = re.compile(r"/[\w./-]{1,200}")
DOOR: Final = "/clickhouse"
"""Where the ClickHouse door of `build-eye serve` is."""
_SETTINGS: Final[Mapping[str, Any]] = {
    "async_insert": 0,
    "max_partitions_per_insert_block": 0,
    "session_timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class Embedded:
    """ClickHouse in this process; `folder` holds the data, None keeps it in memory."""

    folder: Path | None

    @property
    def shown(self) -> str:
        """The place as messages name it."""
        return "memory" if self.folder is None else str(self.folder)

    @property
    def engine(self) -> str:
        """The place as the engine compares it: one spelling a folder."""
        return _MEMORY if self.folder is None else os.path.realpath(self.folder)


@dataclass(frozen=True, slots=True)
class Server:
    """A ClickHouse server behind HTTP; `secure` means TLS, `verify` that its certificate is checked.

    With a `path` it is the door of another Build-Eye, for questions only.
    """

    host: str
    port: int
    user: str
    password: str
    secure: bool
    verify: bool = True
    path: str = ""

    def __repr__(self) -> str:
        return f"Server({self.shown})"

    @property
    def shown(self) -> str:
        """The place as messages name it: without user and password."""
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.port}{self.path}"


def open_warehouse(dsn: str, *, retention_days: int | None = None, data_dir: Path | None = None) -> Warehouse:
    """Open the warehouse at `dsn`, bring its schema up to date and return it; close it, or use it in `with`.

    Rows older than `retention_days` are dropped by ClickHouse in its own time; None keeps them for ever. When another
    process has the folder, `data_dir` (storage.data_dir) tells whether it is a `build-eye serve`.
    UsageError: the address or the retention is wrong, or the schema is not ours.
    OutsideError: the server or the folder cannot be had. The password is in no message.
    """
    if retention_days is not None and retention_days < 1:
        raise UsageError(
            f"warehouse retention of {retention_days} days: give 1 or more, or none to keep rows for ever."
        )
    place = parse_dsn(dsn)
    if isinstance(place, Server) and place.path:
        raise UsageError(
            f"the warehouse at {place.shown} is behind the door of another Build-Eye, which answers questions and "
            "takes nothing: write where that one runs, or name a ClickHouse server in storage.warehouse_dsn."
        )
    client = _open_embedded(place, data_dir) if isinstance(place, Embedded) else _open_server(place)
    try:
        with outside_failures(place.shown):
            migrate(client, shipped_migrations())
            apply_retention(client, retention_days)
    except BaseException:
        client.close()
        raise
    return Warehouse(client, place.shown, place.engine if isinstance(place, Embedded) else None)


def open_to_ask(dsn: str, data_dir: Path, *, retention_days: int | None = None) -> Warehouse:
    """Open the warehouse at `dsn` for questions: through the server that has the folder, when one does.

    The server is the one that says so in `data_dir` (storage.data_dir); when it does not answer, or none is there, and
    for a ClickHouse server, this is `open_warehouse`. A door changes no schema and refuses writes.
    UsageError, OutsideError: as there.
    """
    place = parse_dsn(dsn)
    if isinstance(place, Server) and place.path:
        return _open_door(place)
    if isinstance(place, Embedded) and (owner := server_of(place, data_dir)) is not None:
        with suppress(OutsideError):  # it has just ended, or its port is another's: the folder itself tells
            return _open_door(door_of(owner))
    return open_warehouse(dsn, retention_days=retention_days, data_dir=data_dir)


def open_filled(dsn: str, data_dir: Path, *, retention_days: int | None = None) -> Warehouse:
    """As `open_to_ask`, for who shall not make a warehouse by asking. OutsideError: there is none in that folder."""
    check_filled(dsn)
    return open_to_ask(dsn, data_dir, retention_days=retention_days)


def check_filled(dsn: str) -> None:
    """OutsideError: no warehouse is in the folder that is meant."""
    place = parse_dsn(dsn)
    if isinstance(place, Embedded) and place.folder is not None and not place.folder.exists():
        raise OutsideError(
            f"there is no warehouse at {place.folder}: fill it with `build-eye sync` or `build-eye monitor`, or "
            "set storage.warehouse_dsn to the one that is meant"
        )


def server_of(place: Embedded, data_dir: Path) -> Owner | None:
    """The server of this machine that has the folder, as `data_dir` (storage.data_dir) says; None: nobody serves it."""
    owner = owner_in(data_dir) if place.folder is not None else None
    return owner if owner is not None and owner.warehouse == place.engine else None


def door_of(owner: Owner) -> Server:
    """The ClickHouse door of a server of this machine."""
    url = urlsplit(owner.url)
    assert url.hostname is not None and url.port is not None
    return Server(url.hostname, url.port, "build-eye", owner.token, secure=False, path=DOOR)


def open_server(place: Server) -> Warehouse:
    """A server to ask, whatever tables it has: nothing is made or changed there, no setting is touched.

    OutsideError: it does not answer, or refuses the user.
    """
    return Warehouse(_open_server(place, {}), place.shown)


def parse_dsn(dsn: str) -> Embedded | Server:
    """What an address means. UsageError names what is wrong with it, never its password."""
    scheme, mark, rest = dsn.partition("://")
    if scheme == "chdb" and mark:
        if not rest or "?" in rest:
            raise UsageError(f"warehouse address {dsn!r} names no folder: write {_FORMS}.")
        return Embedded(None if rest == _MEMORY else Path(rest).absolute())
    if scheme in ("clickhouse", "http", "https") and mark:
        return _parse_server(dsn, scheme)
    raise UsageError(f"warehouse address begins with {scheme[:20]!r}: write {_FORMS}.")


def _parse_server(dsn: str, scheme: str) -> Server:
    try:
        url = urlsplit(dsn)
        port, host = url.port, url.hostname
    except ValueError:
        raise UsageError(f"warehouse address {scheme}://... has a wrong host or port: write {_FORMS}.") from None
    if not host or url.path not in ("", "/"):
        raise UsageError(f"warehouse address {scheme}://... needs a host and no path: write {_FORMS}.")
    options = _options(url)
    secure = options.get("secure", scheme == "https")
    if scheme != "clickhouse" and secure != (scheme == "https"):
        raise UsageError(f"warehouse address says {scheme}:// and secure={int(secure)}: leave one of them out.")
    return Server(
        host=host,
        port=port or (8443 if secure else 8123),
        user=unquote(url.username or "default"),
        password=unquote(url.password or ""),
        secure=secure,
        verify=options.get("verify", True),
        path=_path(url),
    )


def _path(url: SplitResult) -> str:
    """The path of a door, which ends in no slash; a path in the address itself would be taken for a database."""
    path = parse_qs(url.query).get("path", [""])[-1].rstrip("/")
    if path and not _PATH.fullmatch(path):
        raise UsageError(f"warehouse address: path must begin with a slash, such as path={DOOR}.")
    return path


def _options(url: SplitResult) -> dict[str, bool]:
    options = {}
    for name, values in parse_qs(url.query, keep_blank_values=True).items():
        if name == "path":
            continue
        if name not in ("secure", "verify"):
            raise UsageError(
                f"warehouse address has an unknown option {name[:40]!r}: secure, verify and path are known."
            )
        if values[-1].lower() not in _TRUE_FALSE:
            raise UsageError(f"warehouse address: {name} must be 0 or 1.")
        options[name] = _TRUE_FALSE[values[-1].lower()]
    return options


def _open_embedded(place: Embedded, data_dir: Path | None) -> "Client":
    _check_owner(place, data_dir)
    if place.folder is not None:
        with _disk_failures(place.folder):
            place.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(place.folder, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
    from clickhouse_connect.driver.exceptions import ClickHouseError

    path = _MEMORY if place.folder is None else str(place.folder)
    try:
        return _client(interface="chdb", path=path, settings=dict(_SETTINGS), tz_mode="aware")
    except ClickHouseError as error:
        raise OutsideError(_why_not_opened(place, str(error))) from None


def _check_owner(place: Embedded, data_dir: Path | None) -> None:
    """OutsideError when a server has the folder; asked before the engine, which complains in words of its own."""
    owner = owner_in(data_dir) if data_dir is not None else None
    if owner is not None and owner.pid != os.getpid() and owner.warehouse == place.engine:
        raise OutsideError(
            f"warehouse folder {place.folder} belongs to build-eye serve (PID {owner.pid}) at {owner.url}, which takes "
            "webhooks in and, started with --watch, makes the passes; questions are asked through it, but to write "
            "stop it first, or put the warehouse on a ClickHouse server."
        )


@contextmanager
def _disk_failures(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutsideError(
            f"warehouse folder {folder} cannot be used ({error.strerror}): choose another or mend its permissions."
        ) from None


def _why_not_opened(place: Embedded, message: str) -> str:
    if "already initialized" in message:
        return (
            f"warehouse {place.shown} cannot be opened: this process has another embedded warehouse open; "
            "close that one first."
        )
    if place.folder is not None and (holder := _holder(place.folder)) is not None:
        return (
            f"warehouse folder {place.folder} is open in another process{holder}: stop that process, wait for it, "
            "or put the warehouse on a ClickHouse server, which many may use at once."
        )
    return f"warehouse {place.shown} cannot be opened: {first_sentence(message)}."


def _holder(folder: Path) -> str | None:
    """Who holds the folder, as ` (PID 12)` or `` when it does not say; None when nobody does."""
    try:
        with (folder / "status").open() as status:
            try:
                fcntl.flock(status, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                name, _, number = status.readline().strip().partition(": ")
                return f" (PID {number})" if name == "PID" and number.isdigit() else ""
    except OSError:
        return None
    return None


def _open_server(place: Server, settings: Mapping[str, Any] = _SETTINGS) -> "Client":
    with outside_failures(place.shown):
        return _client(
            host=place.host,
            port=place.port,
            username=place.user,
            password=place.password,
            interface="https" if place.secure else "http",
            verify=place.verify,
            settings=dict(settings),
            tz_mode="aware",
            autogenerate_session_id=False,
            connect_timeout=_CONNECT_SECONDS,
        )


def _open_door(place: Server) -> Warehouse:
    """A warehouse behind a door. No proxy of the environment gets the token of a server of this machine."""
    from clickhouse_connect.driver.httputil import get_pool_manager

    is_here = place.host in ("127.0.0.1", "::1", "localhost")
    with outside_failures(place.shown):
        client = _client(
            host=place.host,
            port=place.port,
            username=place.user,
            password=place.password,
            interface="https" if place.secure else "http",
            verify=place.verify,
            proxy_path=place.path,
            compress=not is_here,
            pool_mgr=get_pool_manager() if is_here else None,
            tz_mode="aware",
            autogenerate_session_id=False,
            connect_timeout=_CONNECT_SECONDS,
        )
    return Warehouse(client, place.shown)


def _client(**given: Any) -> "Client":
    """A client. The driver logs what it also raises; without a handler Python would print that to the user."""
    from clickhouse_connect import get_client

    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    return get_client(**given)
