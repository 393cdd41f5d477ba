"""A place to deploy in: a journal, a run root, a service whose answers the test decides, and supervisors to start."""

import asyncio
import contextlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from buildeye.deploy.asking import ask, start
from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, SampleWriter, open_journal, this_holder
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.orphans import find
from buildeye.deploy.processes.pidfd import open_process
from buildeye.deploy.spec import ServiceSpec, spec_of
from buildeye.deploy.supervisor.supervisor import Supervisor
from buildeye.deploy.supervisor.world import World
from buildeye.model.deployments import Deployment, HealthSample, SignalKind, State

TINY = Path(__file__).with_name("tinyservice.py")
PATIENCE = 60.0
"""True seconds that anything may take on a slow machine."""
QUICK: dict[str, Any] = {
    "health": {
        "interval_seconds": 1,
        "timeout_seconds": 1,
        "retry_seconds": 1,
        "failures": 3,
        "successes": 2,
        "minimum_uptime_seconds": 0.2,
        "deadline_seconds": 10,
        "start_interval_seconds": 0.1,
    },
    "stop": {"seconds": 5},
    "drain": {"seconds": 1},
    "process": {"restart_seconds": 0.1},
}
"""Limits with which a deployment takes a second or two."""


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Stage:
    """One service `web` in a folder of its own."""

    def __init__(self, folder: Path, dsn: str | None = None) -> None:
        self.folder = folder
        self.behaviour = folder / "behaviour"
        self.behaviour.mkdir(parents=True, exist_ok=True)
        self.run_root = folder / "run"
        self.dsn = dsn or f"sqlite:///{folder / 'deploy.sqlite'}"
        self.journal = open_journal(self.dsn)
        self.clock = Clock()
        self.port = free_port()
        self.told: list[tuple[str, State, str]] = []
        self.log: list[str] = []

    def spec(self, **sections: Mapping[str, Any] | Any) -> ServiceSpec:
        """The deploy.yaml of the service; what is given is laid over `QUICK`."""
        values: dict[str, Any] = {
            "service": "web",
            "command": [sys.executable, "-I", "-S", str(TINY), str(self.behaviour), "{version}"],
            "listen": {"port": self.port},
        }
        for name, given in {**QUICK, **sections}.items():
            base = QUICK.get(name)
            values[name] = {**base, **given} if isinstance(base, dict) and isinstance(given, Mapping) else given
        return spec_of(values)

    def behave(self, version: str, **wanted: object) -> None:
        """Decide what a version answers from now on."""
        path = self.behaviour / f"{version}.json"
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(wanted))
        draft.replace(path)

    def deploy(self, version: str, *, forced: bool = False, commit: str = "", **sections: Any) -> Deployment:
        """Ask for a deployment."""
        spec = self.spec(**sections)
        return start(self.journal, spec, "", version, self.clock, "test", commit=commit, forced=forced)

    def ask(self, deployment: Deployment, kind: str, **arguments: object) -> str:
        """Ask the supervisor for something."""
        return ask(self.journal, self.now(deployment), kind, arguments, self.clock, "test", PATIENCE)

    def now(self, deployment: Deployment) -> Deployment:
        """A deployment as it stands."""
        found = self.journal.deployment(deployment.id)
        assert found is not None
        return found

    def until(self, deployment: Deployment, *states: State) -> Deployment:
        """Wait until a deployment is in one of these states."""
        self.eventually(lambda: self.now(deployment).state in states, str(states))
        return self.now(deployment)

    def eventually(self, look: "Callable[[], Any]", what: str = "") -> Any:
        """Wait until something is there, and give it."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            if found := look():
                return found
            time.sleep(0.02)
        raise AssertionError(f"never: {what}\n{self.story()}")

    def story(self) -> str:
        """Everything the journal and the log say, for a failed test."""
        lines = []
        for deployment in reversed(self.journal.deployments("web", 50)):
            lines.append(f"{deployment.version} {deployment.id} {deployment.state} slot {deployment.slot}")
            lines += [
                f"    {each.event}: {each.before} -> {each.after} {each.reason} {dict(each.numbers)}"
                for each in self.journal.events(deployment.id)
            ]
        return "\n".join([*lines, *self.log])

    def samples(self, deployment: Deployment, signal: SignalKind) -> list[HealthSample]:
        """What was sampled of one signal."""
        return self.journal.samples(deployment.id, signal)

    def serves(self, path: str = "/") -> str:
        """What the public address answers."""
        import http.client

        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def living(self) -> list[str]:
        """The versions whose processes live, by what their keepers started."""
        return sorted(each.run_folder.parent.name for each in find(self.run_root) if not each.keeper)

    def why(self, deployment: Deployment) -> str:
        """The reason of the last move of a deployment."""
        moves = [each for each in self.journal.events(deployment.id) if each.before is not each.after]
        return moves[-1].reason if moves else ""

    def events(self, deployment: Deployment) -> list[str]:
        """The names of what happened to a deployment, in order."""
        return [each.event for each in self.journal.events(deployment.id)]

    def end(self) -> None:
        """End every process of this stage, and the journal."""
        for each in find(self.run_root):
            with contextlib.suppress(Exception):
                KeeperClient(each.run_folder).leave()
            held = open_process(each.identity)
            if held is not None:
                held.signal(9)
                held.close()
        self.journal.close()

    @contextmanager
    def supervised(
        self,
        clock: Clock | None = None,
        boundary: Callable[[str], None] | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> Iterator[Supervisor]:
        """A supervisor in a thread of this process."""
        journal = open_journal(self.dsn)
        writer = SampleWriter(journal)
        world = World(
            journal, writer, clock or self.clock, self.run_root, environ, self._announce, self.log.append,
            boundary or (lambda name: None),
        )  # fmt: skip
        supervisor = Supervisor(world, this_holder(uuid.uuid4().hex))
        loop = asyncio.new_event_loop()
        task = loop.create_task(supervisor.run())
        thread = threading.Thread(target=_run, args=(loop, task), daemon=True)
        thread.start()
        try:
            yield supervisor
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join(PATIENCE)
            writer.close()
            world.close()
            journal.close()
            loop.close()

    def _announce(self, deployment: Deployment, headline: str) -> list[str]:
        self.told.append((deployment.version, deployment.state, headline))
        return []


def _run(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(task)


def journal_of(stage: Stage) -> Journal:
    """The journal of a stage."""
    return stage.journal
