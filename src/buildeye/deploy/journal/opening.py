"""Opens a journal by its address and brings its tables up to date: a SQLite file, or a PostgreSQL database."""

import sqlite3
import threading
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from buildeye.config.secrets import masked
from buildeye.deploy.clock import boot_id
from buildeye.deploy.journal.journal import Journal
from buildeye.deploy.journal.rows import json_text
from buildeye.deploy.journal.schema import NEWEST, VERSION_TABLE
from buildeye.deploy.journal.store import INSIDE_TRANSACTION_MS, failed
from buildeye.model import OutsideError, UsageError

_BUSY_SECONDS: Final = 30
_OWN: Final = 0o600  # it holds what deploy.yaml sets in environments
_SOCKET_SECONDS: Final = 30
_MIGRATING: Final = 0x6465_706C_6F79  # names PostgreSQL's lock under which one process makes the tables
_ONE_AT_A_TIME: Final = threading.Lock()  # Alembic keeps what it works on in a module
_ALLOWED: Final = "sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def open_journal(dsn: str, boot: str | None = None, ticks: Callable[[], float] = time.monotonic) -> Journal:
    """Open the journal at `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`, made when it is not there.

    `boot` and `ticks` (seconds of that boot's monotonic clock) are what leases in a file end by.
    UsageError: the address is none of these. OutsideError: the file or the server cannot be used.
    """
    address = _address(dsn)
    if address.drivername == "sqlite":
        place, engine = _file(address)
    else:
        place, engine = _server(address)
    try:
        if _revision(engine) != NEWEST:
            _migrate(engine, place)
    except (sa.exc.DBAPIError, sqlite3.Error, OSError) as error:
        engine.dispose()
        raise failed(place, error) from None
    except OutsideError:
        engine.dispose()
        raise
    return Journal(engine, place, boot if boot is not None else boot_id(), ticks)


def _address(dsn: str) -> sa.URL:
    try:
        address = sa.make_url(dsn)
    except sa.exc.ArgumentError:
        raise UsageError(f"the journal's address {masked(dsn)} cannot be read; {_ALLOWED}") from None
    kind = address.drivername.partition("+")[0]
    if kind == "sqlite" and address.database and address.database != ":memory:":
        return address.set(drivername="sqlite")
    if kind in {"postgresql", "postgres"} and address.database:
        return address.set(drivername="postgresql+pg8000")
    raise UsageError(f"the journal's address {masked(dsn)} is none that is known; {_ALLOWED}")


def _file(address: sa.URL) -> tuple[str, sa.Engine]:
    path = Path(address.database or "").absolute()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=_OWN, exist_ok=True)
    except OSError as error:
        reason = f"the journal {path} cannot be made ({error.strerror})"
        raise OutsideError(f"{reason}; mend deploy.journal or storage.data_dir") from error
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": _BUSY_SECONDS}, json_serializer=json_text)
    sa.event.listen(engine, "connect", _connected_to_file)
    sa.event.listen(engine, "begin", _begun)
    return str(path), engine


def _server(address: sa.URL) -> tuple[str, sa.Engine]:
    engine = sa.create_engine(
        address, connect_args={"timeout": _SOCKET_SECONDS}, pool_pre_ping=True, json_serializer=json_text
    )
    sa.event.listen(engine, "connect", _connected_to_server)
    return f"{address.host or 'PostgreSQL'}/{address.database}", engine


def _connected_to_file(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, below
    for pragma in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {pragma}")


def _begun(connection: sa.Connection) -> None:
    reads = connection.get_execution_options().get("reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _connected_to_server(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute(f"SET idle_in_transaction_session_timeout = {INSIDE_TRANSACTION_MS}")
    connection.commit()
    cursor.close()


def _revision(engine: sa.Engine) -> str | None:
    """The revision a journal has; None for one without tables. Most openings need no more than this look."""
    with engine.connect().execution_options(reads=True) as connection:
        if not sa.inspect(connection).has_table(VERSION_TABLE):
            return None
        return connection.execute(sa.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608  ours


def _migrate(engine: sa.Engine, place: str) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util.exc import CommandError

    config = Config()
    with (
        _ONE_AT_A_TIME,
        resources.as_file(resources.files(__package__).joinpath("schema")) as scripts,
        engine.begin() as connection,
    ):
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATING)))
        config.set_main_option("script_location", str(scripts).replace("%", "%%"))
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError:  # a revision that is not shipped with this version
            raise OutsideError(f"the journal {place} was made by a newer Build-Eye: upgrade this one") from None
