"""From the spool to the warehouse, in batches, beside everything else the server does.

A delivery leaves the spool when the warehouse has its fact, so a kill in between writes the fact again, which changes
nothing. What cannot be read, or what the warehouse alone of its batch does not take, is put aside with the reason.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from buildeye.github.events import Fact, PayloadError, fact_of
from buildeye.model import BuildEyeError, CheckRun, Job, PullRequest, Push, Run
from buildeye.warehouse import Warehouse
from buildeye.web.spool import Spool, Waiting

BATCH: Final = 500
BATCH_BYTES: Final = 8 * 1024 * 1024  # compressed
IDLE_SECONDS: Final = 0.2
"""Seconds between two looks into an empty spool, which is also how long events gather for one batch."""
AGAIN_SECONDS: Final = 5.0
"""Seconds after which a warehouse that failed is tried again."""
ONE_BY_ONE: Final = 50
"""Deliveries of a batch the warehouse did not take that are tried alone, to find the one to blame."""

_LOG = logging.getLogger("buildeye.web")
Read = tuple[Waiting, Fact]


class Drain:
    """Moves deliveries in a thread of its own, from `start` until `stop`. `now` tells the time."""

    def __init__(self, spool: Spool, warehouse: Warehouse, now: Callable[[], datetime]) -> None:
        self._spool = spool
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
        batch = self._spool.oldest(BATCH, BATCH_BYTES)
        if not batch:
            return 0
        read, refused = read_all(batch)
        settled, more_refused = self._write(read, batch[-1].number)
        self._spool.settle(settled, [*(each for each in refused if each[0].number <= settled), *more_refused])
        return len(batch)

    def _write(self, read: Sequence[Read], last: int) -> tuple[int, list[tuple[Waiting, str]]]:
        """Write what was read; up to which number all is settled, and what the warehouse refuses for itself."""
        try:
            write_facts(self._warehouse, [fact for _, fact in read])
        except Exception:  # noqa: BLE001 - one strange value must not hold up the others
            return self._write_one_by_one(read[:ONE_BY_ONE], last if len(read) <= ONE_BY_ONE else None)
        return last, []

    def _write_one_by_one(self, read: Sequence[Read], last: int | None) -> tuple[int, list[tuple[Waiting, str]]]:
        """The same, each alone. When none can be written it is the warehouse that failed: its error is raised."""
        refused: list[tuple[Waiting, str]] = []
        failure: Exception | None = None
        for waiting, fact in read:
            try:
                write_facts(self._warehouse, [fact])
            except Exception as error:  # noqa: BLE001 - whatever a strange value does to the driver is told as the reason
                failure = error
                refused.append((waiting, f"the warehouse does not take it: {error}"))
        if failure is not None and len(refused) == len(read):
            raise failure
        return read[-1][0].number if last is None else last, refused


def read_all(batch: Sequence[Waiting]) -> tuple[list[Read], list[tuple[Waiting, str]]]:
    """What the deliveries say, and those that cannot be read with the reason."""
    read: list[Read] = []
    refused = []
    for waiting in batch:
        try:
            fact = fact_of(waiting.event, waiting.body)
        except PayloadError as error:
            refused.append((waiting, str(error)))
        else:
            if fact is not None:
                read.append((waiting, fact))
    return read, refused


def write_facts(warehouse: Warehouse, facts: Sequence[Fact]) -> None:
    """Write facts of all kinds, one INSERT a kind. Errors are the warehouse's."""
    warehouse.write_runs([fact for fact in facts if isinstance(fact, Run)])
    warehouse.write_jobs([fact for fact in facts if isinstance(fact, Job)])
    warehouse.write_pull_requests([fact for fact in facts if isinstance(fact, PullRequest)])
    warehouse.write_pushes([fact for fact in facts if isinstance(fact, Push)])
    warehouse.write_check_runs([fact for fact in facts if isinstance(fact, CheckRun)])
