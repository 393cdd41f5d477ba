"""Who may act for a service: one lease with a fencing epoch a service, and what a service is.

An epoch is given out once. Who writes names it, so a supervisor that was frozen and wakes writes nothing
(M. Kleppmann, "How to do distributed locking", 2016: fencing tokens). A lease ends by the database's clock on
PostgreSQL and by ticks of this boot on SQLite, whose file is local: wall time that jumps ends none.
"""

import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from buildeye.deploy.clock import boot_id
from buildeye.deploy.journal.rows import Row
from buildeye.deploy.journal.store import Busy, Fence, Fenced, Store, fences_of, same_service
from buildeye.deploy.journal.tables import SERVICE
from buildeye.deploy.processes.identity import Identity, identity_of, is_alive

_FIRST_PID_NAMESPACE: Final = 0xEFFFFFFC  # the kernel's number of the one that is no container's
_WAITS_MS: Final = 2_000  # for a lock of the row, before somebody else is said to hold the lease
_DATABASE_TIME: Final = sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Float(53))


@dataclass(frozen=True, slots=True)
class Holder:
    """A supervisor process: pid and start_time (clock ticks since boot) are of `host` in its boot `boot`."""

    id: str
    host: str
    pid: int
    start_time: int
    boot: str


@dataclass(frozen=True, slots=True)
class ServiceRow:
    """A service as the journal knows it; `in_service` is the deployment that serves, empty when none does."""

    name: str
    spec: Mapping[str, object]
    spec_path: str
    host: str
    in_service: str


def this_host() -> str:
    """This machine's name; inside a container its process numbers are its own, and the name says so."""
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return platform.node() + ("" if namespace == _FIRST_PID_NAMESPACE else f" pid namespace {namespace}")


def this_holder(name: str) -> Holder:
    """This process as a holder; `name` is unique to it and the same in all it writes."""
    mine = identity_of(os.getpid())
    return Holder(name, this_host(), os.getpid(), mine.start_time if mine is not None else 0, boot_id())


class Leases(Store):
    """Services and their leases."""

    def put_service(self, name: str, spec: Mapping[str, object], spec_path: str, host: str) -> None:
        """Make a service known, or set what it is now; its lease and what is in service stay."""
        values = {"name": name, "spec": dict(spec), "spec_path": spec_path, "host": host}
        changed = {key: value for key, value in values.items() if key != "name"}
        with self._changing() as connection:
            statement = self._insert(SERVICE).values(**values)
            connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed))

    def services(self, host: str | None = None) -> list[ServiceRow]:
        """All services, or those of one host, by name."""
        asked = sa.select(SERVICE).order_by(SERVICE.c.name)
        if host is not None:
            asked = asked.where(SERVICE.c.host == host)
        with self._reading() as connection:
            rows = connection.execute(asked).all()
        return [_service_of(row) for row in rows]

    def service_names(self, host: str) -> list[str]:
        """The names of the services of a host; cheap, however much their specs hold."""
        with self._reading() as connection:
            asked = sa.select(SERVICE.c.name).where(SERVICE.c.host == host).order_by(SERVICE.c.name)
            return list(connection.execute(asked).scalars())

    def service(self, name: str) -> ServiceRow | None:
        """One service; None when it is not known."""
        with self._reading() as connection:
            row = connection.execute(sa.select(SERVICE).where(SERVICE.c.name == name)).first()
        return _service_of(row) if row is not None else None

    def check(self, fence: Fence) -> None:
        """Raise Fenced when another supervisor took over; asked before each effect outside the journal."""
        with self._reading() as connection:
            if lost := self._lost(connection, (fence,)):
                raise Fenced(lost)

    def set_in_service(self, fence: Fence | None, service: str, deployment_id: str) -> None:
        """Say which deployment serves; empty: none. Fenced."""
        with self._changing(fence, changes_service=True) as connection:
            same_service(fence, service)
            changed = sa.update(SERVICE).where(SERVICE.c.name == service).values(in_service=deployment_id)
            connection.execute(changed)

    def acquire(self, service: str, holder: Holder, ttl: float) -> Fence | None:
        """Take the lease of a service for `ttl` seconds: with a new epoch where it is free, ended, or its holder dead.

        A holder that holds it already gets the fence it has. None: somebody else holds it.
        """
        try:
            return self._acquire(service, holder, ttl)
        except Busy:
            return None

    def _acquire(self, service: str, holder: Holder, ttl: float) -> Fence | None:
        with self._changing() as connection:
            if self._postgres:  # who is inside a transaction lives, or the server ends its session soon
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {_WAITS_MS}")
            connection.execute(self._insert(SERVICE).values(name=service).on_conflict_do_nothing())
            asked = sa.select(SERVICE, self._now().label("now")).where(SERVICE.c.name == service)
            row = connection.execute(asked.with_for_update()).one()
            own = _holder_of(row) == holder
            if not own and self._holds(row):
                return None
            epoch = row.lease_epoch if own else row.lease_epoch + 1
            connection.execute(
                sa.update(SERVICE)
                .where(SERVICE.c.name == service)
                .values(
                    holder=holder.id,
                    holder_host=holder.host,
                    holder_pid=holder.pid,
                    holder_start_time=holder.start_time,
                    holder_boot=holder.boot,
                    lease_epoch=epoch,
                    lease_until=self._now() + ttl,
                    lease_boot=self._boot,
                )
            )
        return Fence(service, holder.id, epoch)

    def renew(self, fences: Iterable[Fence], ttl: float) -> set[str]:
        """Hold leases for `ttl` seconds from now, all in one statement; tells the services that were lost."""
        held = fences_of(fences)
        with self._changing() as connection:
            lost = set(self._lost(connection, held, changes_service=True))
            kept = [fence.service for fence in held if fence.service not in lost]
            if kept:
                until = {"lease_until": self._now() + ttl, "lease_boot": self._boot}
                connection.execute(sa.update(SERVICE).where(SERVICE.c.name.in_(kept)).values(until))
        return lost

    def release(self, fence: Fence) -> None:
        """Let go of a lease; without effect where it was lost. The epoch stays, so the next holder has a new one."""
        with self._changing() as connection:
            mine = (SERVICE.c.name == fence.service, SERVICE.c.holder == fence.holder)
            free = {"holder": "", "holder_host": "", "holder_pid": 0, "holder_start_time": 0, "holder_boot": ""}
            held = sa.update(SERVICE).where(*mine, SERVICE.c.lease_epoch == fence.epoch)
            connection.execute(held.values(free | {"lease_until": 0.0}))

    def held_by(self, service: str) -> Holder | None:
        """Who holds the lease; None when it is free, has ended, or its holder is dead."""
        asked = sa.select(SERVICE, self._now().label("now")).where(SERVICE.c.name == service)
        with self._reading() as connection:
            row = connection.execute(asked).first()
        return _holder_of(row) if row is not None and self._holds(row) else None

    def _now(self) -> sa.ColumnElement[float]:
        return _DATABASE_TIME if self._postgres else sa.literal(self._ticks(), sa.Float(53))

    def _holds(self, row: Row) -> bool:
        """Whether the holder in a row still may act."""
        if not row.holder:
            return False
        if not self._postgres and row.lease_boot != self._boot:
            return False  # a file of this machine: its holder ended with the boot
        if row.lease_until <= row.now:
            return False
        return not self._known_dead(_holder_of(row))

    def _known_dead(self, holder: Holder) -> bool:
        """Whether a holder of this host is no more; of another host nobody here can tell."""
        if holder.host != this_host():
            return False
        return holder.boot != self._boot or not is_alive(Identity(holder.pid, holder.start_time, boot_id()))


def _service_of(row: Row) -> ServiceRow:
    return ServiceRow(row.name, row.spec, row.spec_path, row.host, row.in_service)


def _holder_of(row: Row) -> Holder:
    return Holder(row.holder, row.holder_host, row.holder_pid, row.holder_start_time, row.holder_boot)
