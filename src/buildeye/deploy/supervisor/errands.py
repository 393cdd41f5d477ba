"""What a service has under way at once: named pieces of work, each once at a time, none of which ends the others."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from buildeye.deploy.journal import Fenced
from buildeye.model import BuildEyeError

TRY_AGAIN_SECONDS: Final = 2.0
"""True seconds until something that failed outside (the disk, the journal) is tried again."""


class Errands:
    """The work of one service. `ring` is called whenever a piece of it ends; `lost` is set when a lease was lost."""

    def __init__(self, name: str, ring: Callable[[], None], log: Callable[[str], None]) -> None:
        self._name = name
        self._ring = ring
        self._log = log
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.lost: Fenced | None = None

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return any(not task.done() for task in self._tasks.values())

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Begin something, unless something of this name is under way; what goes wrong in it is said, not raised."""
        running = self._tasks.get(name)
        if running is not None and not running.done():
            work.close()
            return
        self._tasks[name] = task = asyncio.get_running_loop().create_task(self._guarded(name, work))
        task.add_done_callback(lambda _: work.close())  # also when it is ended before it began

    async def end(self, name: str) -> None:
        """Stop something, and wait until it has."""
        task = self._tasks.pop(name, None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
            await asyncio.wait({task})

    async def end_all(self) -> None:
        """Stop everything, and wait until it has."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def forget(self) -> None:
        """Let go of what has ended."""
        self._tasks = {name: task for name, task in self._tasks.items() if not task.done()}

    async def _guarded(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Fenced as e:
            self.lost = e
        except Exception as e:  # noqa: BLE001 - what is unforeseen is said and tried again, like what fails outside
            self._log(f"{self._name}: {name}: {e if isinstance(e, BuildEyeError) else repr(e)}")
            await asyncio.sleep(TRY_AGAIN_SECONDS)
        finally:
            self._ring()
