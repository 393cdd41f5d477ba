"""How a version behaves, and what goes wrong with it when."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

CRASH_CODE: Final = 7
_LEAK_SECONDS: Final = 0.1
_FOREVER: Final = 86_400.0


class Behaviour(StrEnum):
    """What a version does once its good time is over."""

    GOOD = "good"
    CRASH = "crash"
    FLAP = "flap"
    LEAK = "leak"
    DEGRADE = "degrade"
    SLOW = "slow"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Fate:
    """A behaviour in numbers, all times in seconds.

    It begins `after` so long. `flap`: ill for half of each `period`, well for the other. `leak`: so many MB a second
    until `leak_limit` MB, then killed as by the kernel. `slow`: each answer takes `delay`. `degrade`: the share of
    tasks approved falls from `approved` to `degraded`, and this share of canary tasks fails.
    """

    behaviour: Behaviour = Behaviour.GOOD
    after: float = 3.0
    period: float = 20.0
    delay: float = 6.0
    leak: float = 50.0
    leak_limit: float = 300.0
    approved: float = 0.9
    degraded: float = 0.5
    canary_failures: float = 1.0


class Life:
    """A running version: `ticks` are seconds of a monotonic clock."""

    def __init__(self, fate: Fate, ticks: Callable[[], float] = time.monotonic) -> None:
        self.fate = fate
        self._ticks = ticks
        self._born = ticks()
        self._leaked: list[bytearray] = []

    def has(self, behaviour: Behaviour) -> bool:
        """Whether the version behaves so now."""
        return self.fate.behaviour is behaviour and self._bad_for() >= 0

    @property
    def ill(self) -> bool:
        """Whether a flapping version is in its ill half."""
        return self.has(Behaviour.FLAP) and self._bad_for() % self.fate.period < self.fate.period / 2

    @property
    def approved(self) -> float:
        """The share of tasks approved now."""
        return self.fate.degraded if self.has(Behaviour.DEGRADE) else self.fate.approved

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Arrange what happens by itself: the crash, the leak, the hang."""
        match self.fate.behaviour:
            case Behaviour.CRASH:
                loop.call_later(self.fate.after, os._exit, CRASH_CODE)
            case Behaviour.HANG:
                loop.call_later(self.fate.after, time.sleep, _FOREVER)
            case Behaviour.LEAK:
                loop.call_later(self.fate.after, self._leak, loop)
            case Behaviour.GOOD | Behaviour.FLAP | Behaviour.DEGRADE | Behaviour.SLOW:
                pass

    def _bad_for(self) -> float:
        return self._ticks() - self._born - self.fate.after

    def _leak(self, loop: asyncio.AbstractEventLoop) -> None:
        self._leaked.append(bytearray(b"x") * int(self.fate.leak * _LEAK_SECONDS * 1e6))
        if sum(map(len, self._leaked)) >= self.fate.leak_limit * 1e6:
            os.kill(os.getpid(), signal.SIGKILL)
        loop.call_later(_LEAK_SECONDS, self._leak, loop)
