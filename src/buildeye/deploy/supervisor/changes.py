"""A bell: whoever waits for something to change is woken, and nothing that happened while nobody waited is missed."""

import asyncio
import contextlib
from weakref import WeakKeyDictionary


class Changes:
    """Rung from the event loop's thread; any number may wait."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._seen: WeakKeyDictionary[asyncio.Task[object], int] = WeakKeyDictionary()

    def ring(self) -> None:
        """Something changed."""
        self._count += 1
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        self._waiting.clear()

    async def wait_for_change(self, seconds: float | None = None) -> bool:
        """Wait until something changed since this task last waited, at most so many true seconds; whether it did."""
        task = asyncio.current_task()
        assert task is not None
        if self._seen.get(task, 0) != self._count:
            self._seen[task] = self._count
            return True
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await waiting
        self._waiting.discard(waiting)
        rung = self._seen.get(task, 0) != self._count
        self._seen[task] = self._count
        return rung
