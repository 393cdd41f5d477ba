"""Group commit of samples: many deployments share one transaction, and so one flush to disk."""

import queue
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Final

from buildeye.deploy.journal.journal import Journal
from buildeye.deploy.journal.signals import SampleBatch
from buildeye.deploy.journal.store import Fenced, Fences, fences_of
from buildeye.model import BuildEyeError, OutsideError
from buildeye.model.deployments import HealthSample

_Written = Future[list[HealthSample]]
_MOST_AT_ONCE: Final = 500  # callers in one transaction


class SampleWriter:
    """A thread that stores what callers put; while one transaction is under way the next collects. Close it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: queue.SimpleQueue[tuple[SampleBatch, _Written] | None] = queue.SimpleQueue()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._write, name="journal-samples", daemon=True)
        self._thread.start()

    def put(self, fences: Fences, samples: Iterable[HealthSample]) -> _Written:
        """Store samples; the result are they with their seq, there once they are on disk.

        The future fails with Fenced or OutsideError; then none of them is stored.
        """
        written: _Written = Future()
        written.set_running_or_notify_cancel()  # what was put is written, nobody can take it back
        with self._lock:
            if self._closed:
                written.set_exception(OutsideError("the journal is closed: no sample can be stored any more"))
            else:
                self._waiting.put((SampleBatch(fences_of(fences), tuple(samples)), written))
        return written

    def close(self) -> None:
        """Store what was put, then end the thread."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (first := self._waiting.get()) is not None:
            together, last = [first], False
            while len(together) < _MOST_AT_ONCE and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    last = True
                    break
                together.append(following)
            self._store(together)
            if last:
                return

    def _store(self, together: list[tuple[SampleBatch, _Written]]) -> None:
        try:
            stored = self._journal.add_batches([batch for batch, _ in together])
        except Exception as error:  # noqa: BLE001  the thread must live; whoever put it is told
            told = error if isinstance(error, BuildEyeError) else OutsideError(f"samples cannot be stored ({error})")
            for _, written in together:
                written.set_exception(told)
            return
        for (_, written), result in zip(together, stored, strict=True):
            if isinstance(result, Fenced):
                written.set_exception(result)
            else:
                written.set_result(result)
