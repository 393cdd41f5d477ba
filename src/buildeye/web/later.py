"""An application that is made when somebody first asks it, so that what few need does not hold up the start."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class Later:
    """An ASGI application in place of the one `make` gives, which is called once, in a thread."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None
        self._making: asyncio.Lock | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does."""
        made = self._made or await self._first()
        await made(scope, receive, send)

    async def _first(self) -> ASGIApp:
        self._making = self._making or asyncio.Lock()
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        return self._made
