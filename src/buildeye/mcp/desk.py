"""What the tools stand on: the settings, the time, and how the warehouse is opened for one call."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime

from buildeye.ask.routing import sql_source
from buildeye.ask.sources import SqlSource
from buildeye.ask.sql import WarehouseSource
from buildeye.config import Settings
from buildeye.model import UsageError
from buildeye.model.times import moment
from buildeye.warehouse import Warehouse, open_to_ask
from buildeye.warehouse.apart import ApartWarehouse
from buildeye.warehouse.connection import Embedded, Server, check_filled, parse_dsn, server_of

Opened = Callable[[], AbstractContextManager[Warehouse]]
"""Opens the warehouse for one question."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the tools ask.

    `local`: who asks is the user of this machine (standard streams), so that files may be named, and any repository may
    be fetched from GitHub with the user's token; over HTTP only the repository of the settings.
    """

    settings: Settings
    now: Callable[[], datetime]
    warehouse: Opened
    local: bool = False

    def repository(self, named: str) -> str:
        """The repository (`owner/name`) that is meant: for '' that of the settings, however its letters are written."""
        meant = self.settings.target_repository.full_name
        return meant if named.strip().lower() in ("", meant.lower()) else named.strip()

    def branch(self, named: str) -> str:
        """The branch that is meant; '' is that of the settings."""
        return named.strip() or self.settings.target_repository.branch

    def window(self, since: str) -> tuple[datetime, datetime]:
        """From a time such as `7d` or a date until now. UsageError: it is none, or not over yet."""
        end = self.now()
        begin = moment("since", since, end)
        if begin >= end:
            raise UsageError(f'since is "{since}", which is not over yet; give a time before now, such as 7d')
        return begin, end

    @contextmanager
    def sql(self) -> Iterator[SqlSource]:
        """Where SQL is asked: a server with the tables it has, else the warehouse."""
        if isinstance(parse_dsn(self.settings.storage.warehouse_dsn), Server):
            with sql_source(self.settings, None, None) as server:
                yield server
            return
        with self.warehouse() as warehouse:
            yield WarehouseSource(warehouse)


def desk_of(settings: Settings, now: Callable[[], datetime], warehouse: Warehouse | None = None, *,
            local: bool = False) -> Desk:  # fmt: skip
    """A desk over the warehouse of the settings, or over one that is open already and stays so."""
    return Desk(settings, now, _opened_per_call(settings) if warehouse is None else _lent(warehouse), local)


def _opened_per_call(settings: Settings) -> Opened:
    """Opens it for each question and lets go of it after: an agent may stay for days, and a pass needs the folder.

    Where `build-eye serve` has the folder, the question goes through that; else a process of its own opens it, because
    the engine keeps threads and files for each time it is opened.
    """
    one_at_a_time = threading.Lock()
    store = settings.storage

    @contextmanager
    def opened() -> Iterator[Warehouse]:
        check_filled(store.warehouse_dsn)
        place = parse_dsn(store.warehouse_dsn)
        alone = isinstance(place, Embedded) and place.folder is not None and server_of(place, store.data_dir) is None
        opener = ApartWarehouse if alone else open_to_ask
        with (
            one_at_a_time,
            opener(store.warehouse_dsn, store.data_dir, retention_days=store.retention_days) as warehouse,
        ):
            yield warehouse

    return opened


def _lent(warehouse: Warehouse) -> Opened:
    @contextmanager
    def opened() -> Iterator[Warehouse]:
        yield warehouse

    return opened
