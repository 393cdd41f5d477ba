"""The drain: the version that left service finishes what it has begun; at the deadline it is cut, and counted."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from buildeye.deploy.clock import Clock

_FIRST_SECONDS: Final = 0.05
_MOST_SECONDS: Final = 1.0
_GROWTH: Final = 1.5
_SURE: Final = 2
"""Looks without a connection in a row: what waits in the queue while one looks is accepted by the next."""


class Connections(Protocol):
    """Who can tell of a version's connections: its keeper."""

    def connections(self, ports: Sequence[int]) -> int:
        """How many connections that came in at these ports the version serves."""
        ...

    def cut(self, ports: Sequence[int]) -> int:
        """End them; how many."""
        ...


@dataclass(frozen=True, slots=True)
class Drained:
    """How long the drain `waited`, in seconds of the clock, and how many connections were `cut` at its deadline."""

    waited: float
    cut: int


async def drain(
    clock: Clock,
    held: Connections,
    ports: Sequence[int],
    seconds: float,
    signal: Callable[[], object] | None = None,
) -> Drained:
    """Wait until the version has no connection left, at most `seconds` of the clock, then cut those that are.

    `signal` is called first, where the application has a signal that makes it close idle connections. `held` may block:
    it is asked in a thread. Between two looks pass 0.05 to 1 true seconds. Errors of `held` pass through.
    """
    if signal is not None:
        signal()
    begun = clock.ticks()
    pause, without = _FIRST_SECONDS, 0
    while True:
        count = await asyncio.to_thread(held.connections, ports)
        without = 0 if count else without + 1
        left = clock.real(seconds - (clock.ticks() - begun))
        if without == _SURE:
            return Drained(clock.ticks() - begun, 0)
        if left <= 0:
            cut = await asyncio.to_thread(held.cut, ports) if count else 0
            return Drained(clock.ticks() - begun, cut)
        await asyncio.sleep(min(pause if count else _FIRST_SECONDS, left))
        pause = min(pause * _GROWTH, _MOST_SECONDS)
