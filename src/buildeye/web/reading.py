"""Reading payloads in a process of its own, so that the work of a batch does not hold up the door.

One interpreter runs one thread at a time; beside a busy door, reading JSON in a thread of the same process would make
every request wait. The process reads nothing but what it is handed, and ends when this one does.
"""

import logging
import multiprocessing
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Final, Self

from buildeye.github.events import Fact, PayloadError, fact_of
from buildeye.warehouse.rows import Prepared, prepare
from buildeye.web.spool import Waiting

_NICENESS: Final = 5
"""How far the process steps back behind the door when both want the same core."""
_END_SECONDS: Final = 10.0
_LOG = logging.getLogger("buildeye.web")


@dataclass(frozen=True, slots=True)
class Batch:
    """What deliveries say: rows by table, and the numbers of those that cannot be read, each with the reason."""

    prepared: tuple[Prepared, ...]
    refused: tuple[tuple[int, str], ...]


class Reader:
    """The process that reads; use it in `with`. Not for several threads at once."""

    def __init__(self) -> None:
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def read(self, waiting: Sequence[Waiting]) -> Batch:
        """What these deliveries say. When the process has gone, a new one is started and they are read in this one."""
        try:
            self._pipe.send(waiting)
            batch = self._pipe.recv()
        except (EOFError, OSError):
            _LOG.warning("the process that reads webhook events ended; a new one is started")
            self.close()
            self._start()
            return read_batch(waiting)
        assert isinstance(batch, Batch)
        return batch

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork would inherit the locks of the embedded warehouse
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_answer, args=(theirs,), name="build-eye reader")
        self._process.start()
        theirs.close()


def read_batch(waiting: Sequence[Waiting]) -> Batch:
    """What deliveries say, made ready for the warehouse."""
    facts: list[Fact] = []
    refused = []
    for each in waiting:
        try:
            fact = fact_of(each.event, each.body)
        except PayloadError as error:
            refused.append((each.number, str(error)))
        else:
            facts += [] if fact is None else [fact]
    return Batch(prepare(facts), tuple(refused))


def _answer(pipe: Connection) -> None:
    """The life of the process: one batch after the other, until the other end is closed."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to the whole group; the batch at hand shall be finished
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    while True:
        try:
            pipe.send(read_batch(pipe.recv()))
        except (EOFError, OSError):
            return
