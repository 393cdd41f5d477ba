"""The processes of a service's versions, as one supervisor holds them: started, taken over, noticed when they end."""

import asyncio
import contextlib
import secrets
import signal
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Fence, Fenced
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.processes.identity import Identity
from buildeye.deploy.processes.launch import Exit, Run, adopt, launch, read_run, reap
from buildeye.deploy.processes.orphans import find
from buildeye.deploy.processes.pidfd import Pidfd, open_process
from buildeye.deploy.processes.stop import stop
from buildeye.deploy.routes import Route
from buildeye.deploy.spec import spec_of
from buildeye.deploy.supervisor.world import World
from buildeye.model import BuildEyeError, OutsideError, UsageError
from buildeye.model.deployments import Deployment, ProcessRun

_EXIT_WRITTEN_SECONDS: Final = 2.0  # how long a keeper may take to write how its child ended
_EXIT_ASKED_SECONDS: Final = 0.02
_ORPHAN_SECONDS: Final = 5.0
_WRITE_AGAIN_SECONDS: Final = 1.0
_LOOKED_AT: Final = 20  # run folders in which a keeper may still live


def run_folders(service: Path) -> list[Path]:
    """The folders of a service's latest runs, newest first: one of their keepers may still hold its sockets."""
    found = [folder for folder in service.glob("*/run-*") if folder.is_dir()]
    return sorted(found, key=lambda folder: folder.stat().st_mtime_ns, reverse=True)[:_LOOKED_AT]


@dataclass
class Live:
    """A process of a version that lives, with the folder of its run and the slot it answers at."""

    run: ProcessRun
    slot: int
    folder: Path
    process: Pidfd
    keeper: Identity


class Versions:
    """All living processes of one service, by deployment id. `changed` is called whenever one of them ended."""

    def __init__(self, world: World, service: str, fence: Fence, route: Route, changed: Callable[[], None]) -> None:
        self._world = world
        self._service = service
        self._fence = fence
        self._route = route
        self._changed = changed
        self._noting: set[asyncio.Task[None]] = set()
        self._pending: dict[str, asyncio.Task[Live]] = {}
        self._old_keepers: list[Path] = []
        self.live: dict[str, Live] = {}

    async def take_over(self, deployments: Sequence[Deployment]) -> None:
        """Find again what lives of an earlier supervisor's processes; write down how the others ended; end orphans."""
        world = self._world
        for run in await world.ask(world.journal.open_runs, self._service):
            folder = self._folder(run.deployment_id, run.number)
            found = await world.away(adopt, folder, run.nonce, world.clock)
            process = open_process(found.process) if found is not None else None
            if found is None:
                await self._write_end(run, None, expected=True)  # planned, and never started
                continue
            started = _with_facts(run, found)
            await world.ask(world.journal.run_started, self._fence, started)
            if process is None or found.slot is None:
                await self._write_end(started, found.exit, expected=found.exit is not None and found.exit.stopped)
            else:
                self._hold(Live(started, found.slot, folder, process, found.keeper))
        held = {live.folder for live in self.live.values()}
        self._old_keepers = [each for each in run_folders(world.folder(self._service)) if each not in held]
        await self._let_old_keepers_go()  # an earlier supervisor may have ended before it could
        known = {live.run.nonce for live in self.live.values()}
        for orphan in await world.away(find, world.folder(self._service)):
            if orphan.identity.nonce not in known and not orphan.keeper:
                world.log(f"{self._service}: process {orphan.identity.pid} belongs to no run and is ended")
                await self._check_fence()
                await world.away(stop, orphan.run_folder, orphan.identity.nonce, world.clock, seconds=_ORPHAN_SECONDS)

    async def start(self, deployment: Deployment, slot: int) -> Live:
        """Start a version's process in a slot. OutsideError, UsageError say why not; then nothing of it lives.

        One that lives, or is being started already, is not started twice. Whoever is cancelled while it waits leaves a
        process that is known, so that it can be stopped.
        """
        if (live := self.live.get(deployment.id)) is not None:
            return live
        begun = self._pending.get(deployment.id)
        return await asyncio.shield(begun or self._kept(deployment.id, self._start(deployment, slot)))

    async def _start(self, deployment: Deployment, slot: int) -> Live:
        world, journal = self._world, self._world.journal
        spec = spec_of(deployment.spec)
        runs = await world.ask(journal.runs, deployment.id, 1)
        run = ProcessRun(
            deployment_id=deployment.id,
            number=1 + max((each.number for each in runs), default=0),
            nonce=secrets.token_hex(16),
            boot=world.clock.boot,
            started=world.clock.now(),
        )
        await world.ask(journal.plan_run, self._fence, run)
        world.boundary("planned")
        folder = self._folder(deployment.id, run.number)
        try:
            launched = await world.away(self._launch, deployment, slot, run, folder)
        except (OutsideError, UsageError):
            await self._write_end(run, None, expected=True)
            raise
        world.boundary("launched")
        run = _with_facts(run, launched)
        await world.ask(journal.run_started, self._fence, run)
        world.boundary("run-started")
        process = open_process(launched.process)
        if process is None:
            ended = launched.exit or await self._exit(folder)
            await self._write_end(run, ended, expected=False)
            self._old_keepers.append(folder)
            raise OutsideError(_why(spec.command[0], ended))
        live = Live(run, slot, folder, process, launched.keeper)
        self._hold(live)
        self._changed()
        await self._let_old_keepers_go()
        return live

    async def stop(self, deployment_id: str) -> None:
        """Stop a version's process, if it lives, as its `deploy.yaml` says, and write down that this was meant."""
        live = self.live.pop(deployment_id, None)
        if live is None:
            return
        world = self._world
        self._let_go(live)
        deployment = await world.ask(world.journal.deployment, deployment_id)
        spec = spec_of(deployment.spec) if deployment is not None else None
        how, seconds = (signal_of(spec.stop.signal), spec.stop.seconds) if spec is not None else (signal.SIGTERM, 30.0)
        world.boundary("stopping")
        stopped = await world.away(stop, live.folder, live.run.nonce, world.clock, number=how, seconds=seconds)
        world.boundary("stopped")
        await self._write_end(live.run, Exit(stopped.code), expected=True)
        self._old_keepers.append(live.folder)
        await self._let_old_keepers_go()

    async def let_go(self) -> None:
        """Stop looking at the processes; they live on. What is being started is waited for."""
        if self._pending:
            await asyncio.wait(self._pending.values())
        for noting in self._noting:
            noting.cancel()  # whoever comes next reads the end from the run's folder
        for live in self.live.values():
            self._let_go(live)
        self.live.clear()

    async def end_keepers(self) -> None:
        """Let every keeper of the service go; after that nobody holds its sockets for it."""
        for folder in run_folders(self._world.folder(self._service)):
            await self._world.away(_let_go, folder, self._world.clock)
        self._old_keepers.clear()

    def slots(self) -> set[int]:
        """The slots that living processes have."""
        return {live.slot for live in self.live.values()}

    def client(self, deployment_id: str) -> KeeperClient | None:
        """The keeper of a version's living process."""
        live = self.live.get(deployment_id)
        return KeeperClient(live.folder) if live is not None else None

    def _launch(self, deployment: Deployment, slot: int, run: ProcessRun, folder: Path) -> Run:
        given = self._route.sockets_for(slot)
        ready = self._world.ready(deployment, self._route.port(slot))
        environment = dict(self._world.environ) | dict(self._route.environment(slot)) | dict(ready.environment)
        environment |= {"BUILD_EYE_VERSION": deployment.version, "BUILD_EYE_DEPLOYMENT": deployment.id}
        return launch(
            ready.command,
            Path(ready.directory),
            environment,
            folder,
            self._route.sockets() or given,
            run.nonce,
            folder.parent / "output.log",
            self._world.clock,
            slot=slot,
            check=partial(self._world.journal.check, self._fence),
        )

    def _folder(self, deployment_id: str, number: int) -> Path:
        return self._world.folder(self._service) / deployment_id / f"run-{number}"

    def _hold(self, live: Live) -> None:
        self.live[live.run.deployment_id] = live
        asyncio.get_running_loop().add_reader(live.process.fileno(), self._ended, live)

    def _let_go(self, live: Live) -> None:
        with contextlib.suppress(ValueError, OSError):
            asyncio.get_running_loop().remove_reader(live.process.fileno())
        live.process.close()

    def _ended(self, live: Live) -> None:
        if self.live.get(live.run.deployment_id) is not live:
            return
        del self.live[live.run.deployment_id]
        self._let_go(live)
        self._noting.add(task := asyncio.get_running_loop().create_task(self._note_end(live)))
        task.add_done_callback(self._noting.discard)

    async def _note_end(self, live: Live) -> None:
        """Write down how a process ended; as long as the journal cannot be written, again and again."""
        ended = await self._exit(live.folder)
        while True:
            try:
                await self._write_end(live.run, ended, expected=False)
                break
            except Fenced:
                break  # it is another supervisor's to write
            except OutsideError as e:
                self._world.complain(f"{self._service}: {e}")
                await asyncio.sleep(_WRITE_AGAIN_SECONDS)
        self._old_keepers.append(live.folder)
        self._changed()
        with contextlib.suppress(BuildEyeError):
            await self._let_old_keepers_go()

    async def _check_fence(self) -> None:
        await self._world.ask(self._world.journal.check, self._fence)

    def _kept(self, deployment_id: str, work: Coroutine[Any, Any, Live]) -> asyncio.Task[Live]:
        """Work that goes on to its end, whoever stops waiting for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._pending[deployment_id] = task
        task.add_done_callback(lambda _: self._pending.pop(deployment_id, None))
        return task

    async def _exit(self, folder: Path) -> Exit | None:
        """How a process ended, as its keeper wrote it; None when nobody knows."""
        waited = 0.0
        while True:
            run, _ = read_run(folder, self._world.clock)
            if (run is not None and run.exit is not None) or waited >= _EXIT_WRITTEN_SECONDS:
                return run.exit if run is not None else None
            await asyncio.sleep(_EXIT_ASKED_SECONDS)
            waited += _EXIT_ASKED_SECONDS

    async def _write_end(self, run: ProcessRun, how: Exit | None, *, expected: bool) -> None:
        """Write down the end of a run, at the moment its keeper saw it, however late somebody looks."""
        at = how.at if how is not None and how.at is not None else self._world.clock.now()
        ended = replace(run, ended=at, exit_code=how.code if how is not None else None, expected=expected)
        await self._world.ask(self._world.journal.run_ended, self._fence, ended)

    async def _let_old_keepers_go(self) -> None:
        """A keeper whose process ended is needed only while no other one holds the sockets."""
        if not self.live:
            return
        await self._check_fence()
        going, self._old_keepers = self._old_keepers, []
        for folder in going:
            await self._world.away(_let_go, folder, self._world.clock)


def _let_go(folder: Path, clock: Clock) -> None:
    """Tell the keeper of an ended run to leave, and collect it when it is a child of ours."""
    keeper = KeeperClient(folder)
    if keeper.answers():
        with contextlib.suppress(OutsideError):
            keeper.leave()
    run, _ = read_run(folder, clock)
    if run is not None:
        reap(run.keeper)


def _with_facts(run: ProcessRun, found: Run) -> ProcessRun:
    return replace(
        run,
        pid=found.process.pid,
        start_time=found.process.start_time,
        keeper_pid=found.keeper.pid,
        keeper_start_time=found.keeper.start_time,
        started=found.started,
    )


def _why(command: str, ended: Exit | None) -> str:
    """Why nothing of a run lives right after it was started."""
    if ended is not None and ended.start_error:
        return ended.start_error
    code = ended.code if ended is not None else None
    return f"{command} ended at once, {f'with {code}' if code is not None else 'nobody knows how'}"


def signal_of(name: str) -> signal.Signals:
    """A signal by its name, `TERM` or `SIGTERM`."""
    return signal.Signals[name if name.startswith("SIG") else f"SIG{name}"]
