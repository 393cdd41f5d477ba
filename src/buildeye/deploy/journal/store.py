"""What all parts of the journal stand on: transactions, the check of a fence, and errors that a person can read."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from buildeye.deploy.journal.tables import SERVICE
from buildeye.model import BuildEyeError, OutsideError

_LOCK_NOT_AVAILABLE: Final = "55P03"
INSIDE_TRANSACTION_MS: Final = 10_000
"""How long PostgreSQL lets a supervisor that stopped answering keep its locks."""


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to write for a service: `holder` (an id) holds its lease in `epoch`."""

    service: str
    holder: str
    epoch: int


Fences = Fence | Iterable[Fence] | None
"""Whom a write is for; None is a client, which only asks."""


class Fenced(BuildEyeError):
    """Another supervisor took over: nothing of what was to be written is. `services` are those that were lost."""

    def __init__(self, lost: dict[str, str]) -> None:
        self.services = frozenset(lost)
        named = "; ".join(f"{service} is now held by {holder or 'nobody'}" for service, holder in sorted(lost.items()))
        super().__init__(f"this supervisor lost its lease, {named}: nothing was written")


class Busy(OutsideError):
    """Somebody else holds a lock for longer than was to be waited."""


def same_service(fence: Fence | None, service: str) -> None:
    """ValueError: a write under a fence of another service, which says nothing about it."""
    if fence is not None and fence.service != service:
        raise ValueError(f"a fence of {fence.service} says nothing about {service}")


def fences_of(fences: Fences) -> tuple[Fence, ...]:
    """Fences as a tuple, in the order of their services."""
    given = () if fences is None else (fences,) if isinstance(fences, Fence) else tuple(fences)
    return tuple(sorted(given, key=lambda fence: fence.service))


class Store:
    """An open database. Each method is one transaction; OutsideError: the database failed, and nothing was changed."""

    def __init__(self, engine: sa.Engine, place: str, boot: str, ticks: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._place = place
        self._boot = boot
        self._ticks = ticks
        self._postgres = engine.dialect.name == "postgresql"

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    @contextmanager
    def _changing(self, fences: Fences = None, *, changes_service: bool = False) -> Iterator[sa.Connection]:
        """A transaction that writes, if the fences hold still. Fenced: they do not."""
        with self._failures(), self._engine.begin() as connection:
            if lost := self._lost(connection, fences_of(fences), changes_service=changes_service):
                raise Fenced(lost)
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        with self._failures(), self._engine.connect().execution_options(reads=True) as connection:
            yield connection

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (sa.exc.DBAPIError, sa.exc.TimeoutError, sqlite3.Error, OSError) as error:
            raise failed(self._place, error) from None

    def _lost(
        self, connection: sa.Connection, fences: tuple[Fence, ...], *, changes_service: bool = False
    ) -> dict[str, str]:
        """{service: who holds it} of fences that do not hold any more; what holds stays so until the transaction ends.

        SQLite has one writer at a time; on PostgreSQL the rows are locked, in the order of their names.
        """
        if not fences:
            return {}
        names = [fence.service for fence in fences]
        asked = sa.select(SERVICE.c.name, SERVICE.c.holder, SERVICE.c.lease_epoch).where(SERVICE.c.name.in_(names))
        locked = asked.order_by(SERVICE.c.name).with_for_update(read=not changes_service)
        found = {row.name: (row.holder, row.lease_epoch) for row in connection.execute(locked)}
        return {
            fence.service: found.get(fence.service, ("", 0))[0]
            for fence in fences
            if found.get(fence.service) != (fence.holder, fence.epoch)
        }

    def _insert(self, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
        """An INSERT that can say what happens on a conflict."""
        return postgresql.insert(table) if self._postgres else sqlite.insert(table)


def failed(place: str, error: Exception) -> OutsideError:
    """What a failed database is told as; `place` holds no password."""
    reason = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    told = _server_message(reason)
    kind = Busy if told.get("C") == _LOCK_NOT_AVAILABLE else OutsideError
    text = " ".join((told.get("M") or str(reason)).split())
    advice = "check its rights and the free space of its disk" if place.startswith("/") else "check the server"
    return kind(f"the journal {place} cannot be used ({text}): {advice}")


def _server_message(error: BaseException | None) -> dict[str, str]:
    """The fields of PostgreSQL's message; pg8000 may hide it behind a failure to say goodbye to the server."""
    while error is not None:
        if error.args and isinstance(error.args[0], dict):
            return error.args[0]
        error = error.__cause__ or error.__context__
    return {}
