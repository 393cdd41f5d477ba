"""What a supervisor needs of the world, handed in from outside: journal, clock, disk, and the ears of people."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, Protocol, TypeVar

from buildeye.deploy.clock import Clock
from buildeye.model.deployments import DeployEvent, Deployment

if TYPE_CHECKING:
    from buildeye.deploy.journal import Journal
    from buildeye.deploy.journal.writer import SampleWriter
    from buildeye.deploy.spec import ServiceSpec

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SAID_AGAIN_SECONDS: Final = 60.0


class Announce(Protocol):
    """Tells people of a deployment: a report, a message. It never raises; what went wrong is its return value."""

    def __call__(self, deployment: Deployment, headline: str) -> list[str]:
        """Tell; gives a sentence for each way of telling that failed."""


def _nobody(deployment: Deployment, headline: str) -> list[str]:
    del deployment, headline
    return []


def _no_boundary(name: str) -> None:
    del name


def _no_log(sentence: str) -> None:
    del sentence


@dataclass(frozen=True)
class World:
    """The surroundings of a supervisor.

    `run_root` is the folder below which each service has its own. `environ` is what started processes inherit.
    `boundary` is called with a name between any two effects; tests end the process there. `on_step` is called with
    each step of a deployment, for whoever looks on; without it steps are logged. After `keep_days` samples of a closed
    deployment are forgotten.
    """

    journal: "Journal"
    writer: "SampleWriter"
    clock: Clock
    run_root: Path
    environ: Mapping[str, str]
    announce: Announce = _nobody
    log: Callable[[str], None] = _no_log
    boundary: Callable[[str], None] = _no_boundary
    on_step: Callable[[DeployEvent, Deployment], None] | None = None
    keep_days: int = 90
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8, "deploy"))
    journal_thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "journal"))
    waiting_threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8, "waiting"))
    complaints: dict[str, float] = field(default_factory=dict)

    async def ask(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a method of the journal in its own thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.journal_thread, lambda: function(*args, **kwargs))

    async def away(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call something that blocks, in a thread of its own."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, lambda: function(*args, **kwargs))

    async def elsewhere(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call something that waits for others (messages, sources of verdicts): it never keeps `away` waiting."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.waiting_threads, lambda: function(*args, **kwargs))

    def ready(self, deployment: Deployment, port: int | None = None) -> "ServiceSpec":
        """The `deploy.yaml` of a deployment with everything filled in; never store or show it.

        UsageError: a variable that it names is not set here.
        """
        from buildeye.deploy.spec import filled, for_version, spec_of

        whole = for_version(spec_of(deployment.spec), deployment.version, port or "", deployment.commit)
        return filled(whole, self.environ)

    def show(self, step: DeployEvent, deployment: Deployment) -> None:
        """Show a step that was made, to whoever looks on."""
        if self.on_step is not None:
            self.on_step(step, deployment)
        else:
            why = f": {step.reason}" if step.reason else ""
            self.log(f"{deployment.service} {deployment.version}: {deployment.state}{why}")

    def complain(self, sentence: str) -> None:
        """Log a trouble that is met at each new try: the same sentence once a minute."""
        now = time.monotonic()
        for said in [said for said, at in self.complaints.items() if now - at >= _SAID_AGAIN_SECONDS]:
            del self.complaints[said]
        if sentence not in self.complaints:
            self.complaints[sentence] = now
            self.log(sentence)

    def folder(self, service: str) -> Path:
        """The run folder of a service."""
        return self.run_root / service

    def close(self) -> None:
        """End the threads; what they do is awaited."""
        self.threads.shutdown(wait=True, cancel_futures=True)
        self.waiting_threads.shutdown(wait=True, cancel_futures=True)
        self.journal_thread.shutdown(wait=True, cancel_futures=True)
