"""SIGTERM and SIGINT as a wish to end, heard by whoever waits; a second SIGINT ends at once."""

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130


class SignalledStop:
    """A pipe that stays readable once asked: safe to write in a handler, and whoever has inherited it sees it too.

    `child` is the process that works for this one, 0 when none does.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._lifeline: list[int] = []
        self._heard = False
        self.child = 0

    def asked(self) -> bool:
        """Whether a signal came, here or in the process this one was forked from, or that process is gone."""
        return self.wait(0)

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until it is asked to end; whether it was."""
        asked = select.poll()  # select() knows no file descriptor above 1023
        for pipe in (self._read, *self._lifeline):
            asked.register(pipe, select.POLLIN)
        return bool(asked.poll(max(seconds, 0.0) * 1000))

    def tie_to(self, lifeline: int) -> None:
        """Count the end of a pipe as a wish to end, too."""
        self._lifeline.append(lifeline)

    def ask(self, number: int, frame: FrameType | None) -> None:
        """The handler of both signals."""
        del frame
        if self._heard and number == signal.SIGINT:
            # Every write of ours survives a kill, so that nothing needs to be tidied up.
            if self.child:
                with suppress(ProcessLookupError):
                    os.kill(self.child, signal.SIGKILL)
            os.write(2, b"build-eye: stopped\n")
            os._exit(INTERRUPTED)
        if not self._heard:
            self._heard = True
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
