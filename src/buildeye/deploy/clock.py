"""The clock of a supervisor: wall time for people, monotonic ticks for durations, and a speed for demonstrations."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from buildeye.model.deployments import Moment

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def boot_id() -> str:
    """The kernel's name for this boot; ticks of two boots cannot be compared."""
    return _BOOT_ID.read_text().strip()


class Clock:
    """Time as a supervisor sees it. At `speed` 60 a minute of this clock passes in a second.

    Durations in `deploy` are seconds of this clock. `wall` and `ticks` are the sources: time() and monotonic().
    """

    def __init__(
        self,
        speed: float = 1.0,
        wall: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        boot: str | None = None,
    ) -> None:
        self.speed = speed
        self.boot = boot if boot is not None else boot_id()
        self._wall = wall
        self._ticks = ticks

    def ticks(self) -> float:
        """Seconds of this clock since the boot."""
        return self._ticks() * self.speed

    def now(self) -> Moment:
        """This moment; at another speed than 1 wall time still is the true one, for people."""
        return Moment(datetime.fromtimestamp(self._wall(), UTC), self.boot, self.ticks())

    def real(self, seconds: float) -> float:
        """How many true seconds so many seconds of this clock take."""
        return seconds / self.speed

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds of this clock."""
        await asyncio.sleep(max(0.0, seconds) / self.speed)


def later(moment: Moment, seconds: float) -> Moment:
    """The moment so many seconds after (or, below 0, before) another of the same boot."""
    return Moment(moment.wall + timedelta(seconds=seconds), moment.boot, moment.ticks + seconds)
