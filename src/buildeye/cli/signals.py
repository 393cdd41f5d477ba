"""SIGTERM and SIGINT as a wish to end, heard by all threads that wait; a second SIGINT ends at once."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130


class SignalledStop:
    """Set by signals. A pipe that stays readable once asked: safe to write in a handler, and it wakes every thread."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._asked = False

    def asked(self) -> bool:
        """Whether a signal came."""
        return self._asked

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until a signal comes; whether one came."""
        select.select([self._read], [], [], max(seconds, 0.0))
        return self._asked

    def ask(self, number: int, frame: FrameType | None) -> None:
        """The handler of both signals."""
        del frame
        if self._asked and number == signal.SIGINT:
            # Every write of ours survives a kill, so that nothing needs to be tidied up.
            os.write(2, b"build-eye: stopped\n")
            os._exit(INTERRUPTED)
        if not self._asked:
            self._asked = True
            os.write(self._write, b".")

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._read)
        os.close(self._write)


@contextmanager
def signalled_stop() -> Iterator[SignalledStop]:
    """Listen to both signals while the context lasts."""
    stop = SignalledStop()
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()
