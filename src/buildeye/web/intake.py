"""Group commit: deliveries that come while the disk is busy go to it together, so one fsync serves many.

Everything here runs on the event loop but the write itself; the longer a write takes, the larger the next group.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from buildeye.model import OutsideError
from buildeye.web.spool import Delivery

GATHER_SECONDS = 0.005
"""How long the first of a group waits for others; a transaction costs more than what it holds."""
MOST_TOGETHER = 500
"""Deliveries in one transaction at most."""

_LOG = logging.getLogger("buildeye.web")


class Intake:
    """Keeps deliveries through `write`, which puts a group on disk or raises OutsideError and keeps none of it."""

    def __init__(self, write: Callable[[Sequence[Delivery]], None]) -> None:
        self._write = write
        self._pending: list[tuple[Delivery, asyncio.Future[None]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def keep(self, delivery: Delivery) -> None:
        """Return when the delivery is on disk. OutsideError: it is not, and the sender must send it again."""
        kept = asyncio.get_running_loop().create_future()
        self._pending.append((delivery, kept))
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all())
        await kept

    async def _write_all(self) -> None:
        try:
            while self._pending:
                if len(self._pending) < MOST_TOGETHER:
                    await asyncio.sleep(GATHER_SECONDS)
                group, self._pending = self._pending[:MOST_TOGETHER], self._pending[MOST_TOGETHER:]
                try:
                    await asyncio.to_thread(self._write, [delivery for delivery, _ in group])
                except OutsideError as error:
                    _LOG.error("%d deliveries were not taken: %s", len(group), error)
                    _settle(group, error)
                except Exception as error:  # noqa: BLE001 - a bug is told by whoever waits
                    _settle(group, error)
                else:
                    _settle(group, None)
        finally:
            self._writer = None


def _settle(group: Sequence[tuple[Delivery, "asyncio.Future[None]"]], error: Exception | None) -> None:
    for _, kept in group:
        if kept.done():  # the sender went away meanwhile
            continue
        if error is None:
            kept.set_result(None)
        else:
            kept.set_exception(error)
