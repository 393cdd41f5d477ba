"""From the spool to the warehouse, in batches, beside everything else the server does.

A delivery leaves the spool when the warehouse has its fact, so a kill in between writes the fact again, which changes
nothing. What cannot be read, or what the warehouse alone of its batch does not take, is put aside with the reason.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from buildeye.model import BuildEyeError
from buildeye.warehouse import Warehouse
from buildeye.web.reading import Batch, Reader
from buildeye.web.spool import Spool, Waiting

BATCH: Final = 1_000
BATCH_BYTES: Final = 32 * 1024 * 1024
IDLE_SECONDS: Final = 0.2
"""Seconds between two looks into an empty spool, which is also how long events gather for one batch."""
AGAIN_SECONDS: Final = 5.0
"""Seconds after which a warehouse that failed is tried again."""
ONE_BY_ONE: Final = 50
"""Deliveries of a batch the warehouse did not take that are tried alone, to find the one to blame."""

_LOG = logging.getLogger("buildeye.web")


class Drain:
    """Moves deliveries in a thread of its own, from `start` until `stop`. `now` tells the time."""

    def __init__(self, spool: Spool, reader: Reader, warehouse: Warehouse, now: Callable[[], datetime]) -> None:
        self._spool = spool
        self._reader = reader
        self._warehouse = warehouse
        self._now = now
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="drain", daemon=True)

    def start(self) -> None:
        """Begin to drain."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the batch at hand and end; what still waits stays in the spool for the next start."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            pause = IDLE_SECONDS
            try:
                if self.drain_batch():
                    continue
                self._spool.forget(self._now())
            except BuildEyeError as error:
                _LOG.error("webhook events wait in the spool, tried again in %.0f s: %s", AGAIN_SECONDS, error)
                pause = AGAIN_SECONDS
            except Exception as error:  # noqa: BLE001 - the thread must go on; nothing is lost, the batch waits
                _LOG.error("a bug in build-eye: draining failed with %r; webhook events wait in the spool", error)
                pause = AGAIN_SECONDS
            self._stopped.wait(pause)

    def drain_batch(self) -> int:
        """Move the oldest deliveries; how many. OutsideError: the warehouse or the disk failed, and all still wait."""
        waiting = self._spool.oldest(BATCH, BATCH_BYTES)
        if not waiting:
            return 0
        batch = self._reader.read(waiting)
        try:
            self._write(batch)
        except Exception:  # noqa: BLE001 - one strange value must not hold up the others
            waiting = waiting[:ONE_BY_ONE]
            batch = Batch((), self._write_one_by_one(waiting))
        self._spool.settle(waiting[-1].number, batch.refused)
        self._spool.tidy()
        return len(waiting)

    def _write(self, batch: Batch) -> None:
        for prepared in batch.prepared:
            self._warehouse.write_prepared(prepared)

    def _write_one_by_one(self, waiting: Sequence[Waiting]) -> tuple[tuple[int, str], ...]:
        """Read and write each alone; those refused, with the reason.

        One that fails is tried again after the others, for the warehouse may have failed for a moment. When none can be
        written it is the warehouse that fails: its error is raised.
        """
        read = [self._reader.read([each]) for each in waiting]
        refused = [each for alone in read for each in alone.refused]
        wanted = [(each, alone) for each, alone in zip(waiting, read, strict=True) if alone.prepared]
        failed = self._failing(wanted)
        if failed and len(failed) == len(wanted):
            raise failed[-1][2]
        again = self._failing([(each, alone) for each, alone, _ in failed])
        refused += [(each.number, f"the warehouse does not take it: {error}") for each, _, error in again]
        return tuple(refused)

    def _failing(self, wanted: Sequence[tuple[Waiting, Batch]]) -> list[tuple[Waiting, Batch, Exception]]:
        """Write each alone; those that cannot be written, and why."""
        failed = []
        for each, alone in wanted:
            try:
                self._write(alone)
            except Exception as error:  # noqa: BLE001 - whatever a strange value does to the driver is the reason told
                failed.append((each, alone, error))
        return failed
