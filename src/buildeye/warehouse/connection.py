"""Opening a warehouse from its address, and what to say when that fails.

`chdb:///abs/folder`, `chdb://relative/folder`, `chdb://:memory:` run ClickHouse in this process;
`clickhouse://user:password@host:8123/?secure=0`, `http://...`, `https://...` speak to a server.
"""

import fcntl
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from buildeye.model import OutsideError, UsageError
from buildeye.warehouse.failures import first_sentence, outside_failures
from buildeye.warehouse.migrations import apply_retention, migrate, shipped_migrations
from buildeye.warehouse.store import Warehouse

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_FORMS: Final = "chdb:///abs/folder, chdb://relative/folder, chdb://:memory: or clickhouse://user:password@host:8123/"
_MEMORY: Final = ":memory:"
_TRUE_FALSE: Final = {"1": True, "true": True, "0": False, "false": False}
_CONNECT_SECONDS: Final = 10
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


@dataclass(frozen=True, slots=True)
class Server:
    """A ClickHouse server behind HTTP; `secure` means TLS, `verify` that its certificate is checked."""

    host: str
    port: int
    user: str
    password: str
    secure: bool
    verify: bool = True

    def __repr__(self) -> str:
        return f"Server({self.shown})"

    @property
    def shown(self) -> str:
        """The place as messages name it: without user and password."""
        return f"{'https' if self.secure else 'http'}://{self.host}:{self.port}"


def open_warehouse(dsn: str, *, retention_days: int | None = None) -> Warehouse:
    """Open the warehouse at `dsn`, bring its schema up to date and return it; close it, or use it in `with`.

    Rows older than `retention_days` are dropped by ClickHouse in its own time; None keeps them for ever.
    UsageError: the address or the retention is wrong, or the schema is not ours.
    OutsideError: the server or the folder cannot be had. The password is in no message.
    """
    if retention_days is not None and retention_days < 1:
        raise UsageError(
            f"warehouse retention of {retention_days} days: give 1 or more, or none to keep rows for ever."
        )
    place = parse_dsn(dsn)
    # The driver logs what it also raises; without a handler Python would print that to the user.
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
    client = _open_embedded(place) if isinstance(place, Embedded) else _open_server(place)
    try:
        with outside_failures(place.shown):
            migrate(client, shipped_migrations())
            apply_retention(client, retention_days)
    except BaseException:
        client.close()
        raise
    return Warehouse(client, place.shown)


def open_server(place: Server) -> Warehouse:
    """A server to ask, whatever tables it has: nothing is made or changed there, no setting is touched.

    OutsideError: it does not answer, or refuses the user.
    """
    logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
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
    )


def _options(url: SplitResult) -> dict[str, bool]:
    options = {}
    for name, values in parse_qs(url.query, keep_blank_values=True).items():
        if name not in ("secure", "verify"):
            raise UsageError(f"warehouse address has an unknown option {name[:40]!r}: secure and verify are known.")
        if values[-1].lower() not in _TRUE_FALSE:
            raise UsageError(f"warehouse address: {name} must be 0 or 1.")
        options[name] = _TRUE_FALSE[values[-1].lower()]
    return options


def _open_embedded(place: Embedded) -> "Client":
    if place.folder is not None:
        with _disk_failures(place.folder):
            place.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(place.folder, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(13, "Permission denied")
    from clickhouse_connect import get_client
    from clickhouse_connect.driver.exceptions import ClickHouseError

    path = _MEMORY if place.folder is None else str(place.folder)
    try:
        return get_client(interface="chdb", path=path, settings=dict(_SETTINGS), tz_mode="aware")
    except ClickHouseError as error:
        raise OutsideError(_why_not_opened(place, str(error))) from None


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
    from clickhouse_connect import get_client

    with outside_failures(place.shown):
        return get_client(
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
