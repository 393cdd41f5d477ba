"""Real processes for tests, each under a keeper, and their end: found by nonce and run folder, ended by identity."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from buildeye.deploy.clock import Clock
from buildeye.deploy.processes.launch import Run, launch, reap
from buildeye.deploy.processes.orphans import Found, find
from buildeye.deploy.processes.pidfd import open_process

CLOCK = Clock()
SLEEPS = ["sleep", "600"]
DEADLINE = 60.0


def python(script: str) -> list[str]:
    """A command that runs a Python script."""
    return [sys.executable, "-I", "-S", "-c", script]


def eventually(holds: Callable[[], bool], what: str = "it") -> None:
    """Wait until something holds, far longer than it takes."""
    until = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < until, f"{what} did not come to hold"
        time.sleep(0.01)


class Running:
    """Runs under one root; `end` leaves nothing of them."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def folder(self, nonce: str) -> Path:
        """The run folder of a nonce."""
        return self.root / "runs" / nonce

    def start(
        self,
        nonce: str,
        command: Sequence[str] = tuple(SLEEPS),
        sockets: Sequence[int] = (),
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Run:
        """Launch a command."""
        given = {"PATH": os.environ["PATH"], **(environment or {})}
        return launch(
            command, self.root, given, self.folder(nonce), sockets, nonce, self.root / f"{nonce}.log", CLOCK, **options
        )

    def log(self, nonce: str) -> str:
        """What a command has written."""
        return (self.root / f"{nonce}.log").read_text()

    def living(self, nonce: str | None = None) -> list[Found]:
        """What lives of the runs, keepers too."""
        return find(self.root, nonce)

    def commands(self, nonce: str | None = None) -> list[int]:
        """The pids that live of the runs, without keepers."""
        return [each.identity.pid for each in self.living(nonce) if not each.keeper]

    def end(self) -> None:
        """Kill whatever still lives of the runs."""
        keepers = set()
        until = time.monotonic() + DEADLINE
        while found := self.living():
            for each in found:
                keepers |= {each.identity} if each.keeper else set()
                if (held := open_process(each.identity)) is not None:
                    with held:
                        held.signal(signal.SIGKILL)
                        held.wait(1.0)
            for keeper in keepers:
                reap(keeper)
            assert time.monotonic() < until, f"these do not end: {found}"
