"""The spool: deliveries that are acknowledged and not yet in the warehouse, on disk in SQLite.

A call that returned is on disk (WAL, synchronous=FULL). Numbers grow in the order in which deliveries were kept; one
writer keeps, one drains. Delivery ids are remembered after that for a while, so that a redelivery has no effect.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
import zstandard
from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError

from buildeye.model import OutsideError

REMEMBERED: Final = timedelta(days=3)
"""How long a delivery id is known; GitHub lets people redeliver for as long."""
REMEMBERED_MOST: Final = 1_000_000
_ASKED_AT_ONCE: Final = 500  # ids in one question; SQLite allows some thousand parameters
_FORGOTTEN_AT_ONCE: Final = 5_000
_BUSY_MS: Final = 30_000
_CHECKPOINT_PAGES: Final = 8_192  # 32 MiB of write-ahead log before a commit moves what is left of it into the file

_TABLES: Final = sa.MetaData()
_WAITING: Final = sa.Table(
    "waiting",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("delivery", sa.Text),
    sa.Column("event", sa.Text),
    sa.Column("received_at", sa.Integer),
    sa.Column("size", sa.Integer),
    sa.Column("body", sa.LargeBinary),
)
_REMEMBERED: Final = sa.Table(
    "remembered",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("delivery", sa.Text),
    sa.Column("received_at", sa.Integer),
)
_REFUSED: Final = sa.Table(
    "refused",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("delivery", sa.Text),
    sa.Column("event", sa.Text),
    sa.Column("received_at", sa.Integer),
    sa.Column("reason", sa.Text),
    sa.Column("body", sa.LargeBinary),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event as GitHub delivered it; `id` is unique to it and the same when it is delivered again."""

    id: str
    event: str
    received_at: datetime
    body: bytes


@dataclass(frozen=True, slots=True)
class Waiting:
    """A delivery in the spool; `packed` is its body, compressed."""

    number: int
    id: str
    event: str
    packed: bytes

    @property
    def body(self) -> bytes:
        """The raw body."""
        return unpacked(self.packed)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many deliveries wait for the warehouse, how many were put aside, and how many were ever kept.

    `kept` begins anew when all that was kept is forgotten, see `forget`.
    """

    waiting: int
    refused: int
    kept: int


class Spool:
    """An open spool; close it. Its methods raise OutsideError when the disk fails, and then nothing was changed."""

    def __init__(self, engine: sa.Engine, place: Path) -> None:
        self._engine = engine
        self._place = place
        self._pack = zstandard.ZstdCompressor(level=1).compress

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()

    def keep(self, deliveries: Sequence[Delivery]) -> None:
        """Put deliveries into the spool, all or none; those whose id is known already have no effect."""
        fresh = {delivery.id: delivery for delivery in reversed(deliveries)}
        rows = {
            delivery.id: {
                "delivery": delivery.id,
                "event": delivery.event,
                "received_at": _milliseconds(delivery.received_at),
                "size": len(delivery.body),
                "body": self._pack(delivery.body),
            }
            for delivery in reversed(fresh.values())
        }
        with self._changing() as connection:
            for ids in _parts(list(rows)):
                known = sa.select(_REMEMBERED.c.delivery).where(_REMEMBERED.c.delivery.in_(ids))
                for (delivery,) in connection.execute(known):
                    del rows[delivery]
            if rows:
                connection.execute(sa.insert(_WAITING), list(rows.values()))
                names = [{key: row[key] for key in ("delivery", "received_at")} for row in rows.values()]
                connection.execute(sa.insert(_REMEMBERED), names)

    def oldest(self, most: int, most_bytes: int) -> list[Waiting]:
        """The deliveries that wait longest, oldest first: so many and so large at most, but at least one."""
        asked = sa.select(_WAITING.c.number, _WAITING.c.delivery, _WAITING.c.event, _WAITING.c.size, _WAITING.c.body)
        found: list[Waiting] = []
        size = 0
        with self._reading() as connection:
            rows = connection.execution_options(yield_per=32).execute(asked.order_by(_WAITING.c.number).limit(most))
            for row in rows:
                size += row.size
                if found and size > most_bytes:
                    break
                found.append(Waiting(row.number, row.delivery, row.event, row.body))
        return found

    def settle(self, upto: int, refused: Iterable[tuple[int, str]] = ()) -> None:
        """Let go of all that wait up to this number; what was refused is put aside, each with the reason."""
        with self._changing() as connection:
            for number, reason in refused:
                row = connection.execute(sa.select(_WAITING).where(_WAITING.c.number == number)).one()
                aside = {name: getattr(row, name) for name in ("number", "delivery", "event", "received_at")}
                body = unpacked(row.body)
                connection.execute(sa.insert(_REFUSED).values(**aside, reason=reason, body=body))
            connection.execute(sa.delete(_WAITING).where(_WAITING.c.number <= upto))

    def tidy(self) -> None:
        """Move the write-ahead log into the file, beside those who keep; else one of them must wait."""
        with self._failures(), closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")

    def forget(self, now: datetime) -> None:
        """Forget delivery ids that are old or too many, a part of them at a time."""
        number, received_at = _REMEMBERED.c.number, _REMEMBERED.c.received_at
        with self._reading() as connection:
            newest = connection.execute(sa.select(sa.func.max(number))).scalar() or 0
            rows = connection.execute(sa.select(number, received_at).order_by(number).limit(_FORGOTTEN_AT_ONCE)).all()
        before, floor = _milliseconds(now - REMEMBERED), newest - REMEMBERED_MOST
        old = [row.number for row in rows if row.received_at < before or row.number <= floor]
        if old:
            with self._changing() as connection:
                connection.execute(sa.delete(_REMEMBERED).where(number <= max(old)))

    def counts(self) -> Counts:
        """How full the spool is."""
        with self._reading() as connection:
            waiting, refused = (
                connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                for table in (_WAITING, _REFUSED)
            )
            kept = connection.execute(sa.select(sa.func.max(_REMEMBERED.c.number))).scalar() or 0
        return Counts(waiting, refused, kept)

    def refused(self) -> list[tuple[str, str, str, bytes]]:
        """What was put aside: delivery id, event, reason and raw body, oldest first."""
        asked = sa.select(_REFUSED.c.delivery, _REFUSED.c.event, _REFUSED.c.reason, _REFUSED.c.body)
        with self._reading() as connection:
            return [tuple(row) for row in connection.execute(asked.order_by(_REFUSED.c.number))]

    @contextmanager
    def _changing(self) -> Iterator[sa.Connection]:
        with self._failures(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._failures(), self._engine.connect().execution_options(reads=True) as connection:
            yield connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            raise _failed(self._place, error) from None


def unpacked(packed: bytes) -> bytes:
    """A body as it came."""
    return zstandard.ZstdDecompressor().decompress(packed)


def open_spool(folder: Path) -> Spool:
    """Open the spool in `folder`, made when it is not there, and bring its tables up to date.

    OutsideError: the folder cannot be written, or the file is damaged.
    """
    place = folder / "webhooks.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutsideError(
            f"the spool folder {folder} cannot be made ({error.strerror}); mend storage.data_dir"
        ) from error
    engine = sa.create_engine(f"sqlite:///{place}", connect_args={"timeout": _BUSY_MS / 1000})
    sa.event.listen(engine, "connect", _connected)
    sa.event.listen(engine, "begin", _begun)
    try:
        _migrate(engine)
    except (sa.exc.DBAPIError, CommandError) as error:
        engine.dispose()
        if isinstance(error, CommandError):  # a revision that is not shipped with this version
            raise OutsideError(f"the spool {place} was made by a newer Build-Eye: upgrade this one") from None
        raise _failed(place, error) from None
    return Spool(engine, place)


def _connected(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, below
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        f"wal_autocheckpoint={_CHECKPOINT_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begun(connection: sa.Connection) -> None:
    reads = connection.get_execution_options().get("reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _migrate(engine: sa.Engine) -> None:
    config = Config()
    with (
        resources.as_file(resources.files(__package__).joinpath("spool_schema")) as scripts,
        engine.begin() as connection,
    ):
        config.set_main_option("script_location", str(scripts).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _failed(place: Path, error: sa.exc.DBAPIError | sqlite3.Error) -> OutsideError:
    reason = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    return OutsideError(f"the spool {place} cannot be used ({reason}): check its rights and the free space of its disk")


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _parts(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _ASKED_AT_ONCE):
        yield ids[start : start + _ASKED_AT_ONCE]
