"""The supervising process: it takes the services of this host, keeps their leases, and hands on what people ask."""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from buildeye.deploy.journal import Fence, Fenced, Holder, ServiceRow, this_host
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.routes import Route, route_for
from buildeye.deploy.spec import spec_of
from buildeye.deploy.states import BEFORE_CUTOVER, Happening
from buildeye.deploy.supervisor.returning import TOLD
from buildeye.deploy.supervisor.service import ServiceSupervisor
from buildeye.deploy.supervisor.versions import run_folders
from buildeye.deploy.supervisor.world import World
from buildeye.model import BuildEyeError, OutsideError, UsageError
from buildeye.model.deployments import DeployEvent, Deployment, State

LEASE_SECONDS: Final = 15.0
"""True seconds a lease lasts without being renewed; it is renewed several times in that."""
_RENEWALS: Final = 4
_AGAIN_SECONDS: Final = 2.0
_DAY: Final = 86_400.0
LOOK_SECONDS: Final = 0.25
"""True seconds between two looks for requests and new services."""
_UNREACHABLE_SECONDS: Final = 5.0
"""True seconds for which an address must stay unusable before its candidates fail: a keeper may be about to answer."""


class Supervisor:
    """Supervises all services of a host, or the named one, until cancelled."""

    def __init__(
        self, world: World, holder: Holder, only: str | None = None, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self._world = world
        self._holder = holder
        self._only = only
        self._lease_seconds = lease_seconds
        self._services: dict[str, tuple[ServiceSupervisor, asyncio.Task[None]]] = {}
        self._resting: set[str] = set()
        self._unreachable: dict[str, tuple[float, str]] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Take services that have work and whose lease is free, serve requests, renew; ends only when cancelled."""
        renewing = asyncio.get_running_loop().create_task(self._renew())
        pruning = asyncio.get_running_loop().create_task(self._prune())
        try:
            while True:
                try:
                    await self._take_services()
                    await self._hand_on_requests()
                except Exception as e:  # noqa: BLE001 - what runs must go on being supervised
                    self._complain(e)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            renewing.cancel()
            pruning.cancel()
            await self._let_go(list(self._services))
            if self._leaving:
                await asyncio.wait(self._leaving)

    @property
    def services(self) -> list[str]:
        """The names of the services that are supervised now."""
        return sorted(self._services)

    async def _take_services(self) -> None:
        world = self._world
        names = await world.ask(world.journal.service_names, this_host())
        free = {name for name in names if self._only in (None, name) and self._is_free(name)}
        if not free:
            return
        rows = [row for row in await world.ask(world.journal.services, this_host()) if row.name in free]
        for row in await self._with_work(rows):
            fence = await world.ask(world.journal.acquire, row.name, self._holder, self._lease_seconds)
            if fence is None:
                continue
            try:
                await self._supervise(row, fence)
            except Exception as e:  # noqa: BLE001 - the others must be taken
                self._complain(e, row.name)

    async def _with_work(self, rows: Sequence[ServiceRow]) -> list[ServiceRow]:
        """The services of which something serves, lives, is still to happen, or was asked for."""
        journal, ask = self._world.journal, self._world.ask
        idle = {row.name for row in rows if not row.in_service}
        if not idle:
            return list(rows)
        work = {each.service for each in await ask(journal.open_deployments, sorted(idle))}
        work |= {each.service for each in await ask(journal.requests, idle, 0)}
        for name in sorted(idle - work - self._resting):
            if await ask(journal.open_runs, name):
                work.add(name)
            else:
                self._resting.add(name)
        self._resting -= work
        return [row for row in rows if row.name not in idle - work]

    def _is_free(self, name: str) -> bool:
        held = self._services.get(name)
        return held is None or held[1].done()

    async def _supervise(self, row: ServiceRow, fence: Fence) -> None:
        held = self._services.pop(row.name, None)
        if held is not None:  # it ended over something unforeseen; its sockets come back from the keepers
            held[0].route.close()
        try:
            route = await self._world.away(self._route, row)
        except (BuildEyeError, OSError) as e:
            await self._cannot_reach(row, fence, e)
            return
        self._unreachable.pop(row.name, None)
        service = ServiceSupervisor(self._world, row, fence, route)
        task = asyncio.get_running_loop().create_task(self._run(service))
        self._services[row.name] = (service, task)
        self._world.log(f"{row.name}: supervised by process {self._holder.pid}")

    async def _cannot_reach(self, row: ServiceRow, fence: Fence, error: Exception) -> None:
        """The address of a service cannot be used: when it stays so, its candidates fail and its clients are told."""
        now = time.monotonic()
        since, said = self._unreachable.get(row.name, (now, ""))
        self._unreachable[row.name] = (since, str(error))
        if said != str(error):
            self._world.log(f"{row.name}: {error}")
        if not isinstance(error, UsageError) and now - since < _UNREACHABLE_SECONDS:
            return
        del self._unreachable[row.name]
        journal, ask = self._world.journal, self._world.ask
        for each in await ask(journal.open_deployments, [row.name]):
            if each.state in BEFORE_CUTOVER:
                await self._fail(fence, each, str(error))
        for request in await ask(journal.requests, {row.name}, 0):
            await ask(journal.answer, fence, request.seq, str(error), False)
        await ask(journal.release, fence)

    async def _fail(self, fence: Fence, candidate: Deployment, why: str) -> None:
        """End a candidate that cannot even be started, and tell people."""
        world, at = self._world, candidate
        ends = Happening.START_FAILED if at.state in (State.CREATED, State.STARTING) else Happening.UNHEALTHY
        for happening in (Happening.START, ends) if at.state is State.CREATED else (ends,):
            reason = why if happening is ends else ""
            moved = await world.ask(
                world.journal.move, fence, at.id, at.epoch, happening, world.clock.now(), reason, note=reason
            )
            if moved is None:
                return
            step = (happening, at.state, moved.state, moved.epoch, world.clock.now(), reason)
            world.show(DeployEvent(at.id, *step), moved)
            at = moved
        failed = await world.away(world.announce, at, why)
        await world.ask(world.journal.note, fence, at.id, TOLD, "; ".join(failed), {}, world.clock.now())

    async def _run(self, service: ServiceSupervisor) -> None:
        """Supervise one service to its end; what goes wrong in it stops no other one, and is tried again."""
        try:
            await service.run()
            self._services.pop(service.name, None)
            service.route.close()  # whose lease is given back, that address is free
            await self._world.ask(self._world.journal.release, service.fence)
            self._world.log(f"{service.name}: nothing of it runs any more")
        except Fenced as e:
            self._world.log(f"{service.name}: {e}")
        except Exception as e:  # noqa: BLE001 - the others must go on; a person reads the log
            self._complain(e, service.name)
            await asyncio.sleep(_AGAIN_SECONDS)
        service.route.close()

    def _route(self, row: ServiceRow) -> Route:
        folder = self._world.folder(row.name)
        route = route_for(spec_of(row.spec).listen, folder)
        for run_folder in run_folders(folder):
            keeper = KeeperClient(run_folder)
            if keeper.answers() and (sockets := keeper.sockets()):
                route.open(sockets)
                return route
        route.open()
        return route

    async def _hand_on_requests(self) -> None:
        world = self._world
        for name in {request.service for request in await world.ask(world.journal.requests, set(self._services), 0)}:
            service, task = self._services.get(name, (None, None))
            if service is not None and task is not None and not task.done():
                service.serve_clients()

    async def _renew(self) -> None:
        """Renew all leases in one statement; whoever lost one stops at once."""
        world = self._world
        while True:
            await asyncio.sleep(self._lease_seconds / _RENEWALS)
            fences = [service.fence for service, _ in self._services.values()]
            try:
                lost = await world.ask(world.journal.renew, fences, self._lease_seconds) if fences else set()
            except Exception as e:  # noqa: BLE001 - without renewals every lease would end
                self._complain(e)
                continue
            if lost:  # beside, so that the other leases are renewed meanwhile
                leaving = self._let_go(list(lost), say="another supervisor has taken over")
                self._leaving.add(task := asyncio.get_running_loop().create_task(leaving))
                task.add_done_callback(self._leaving.discard)

    async def _prune(self) -> None:
        """Once a day, forget the samples of deployments that closed long ago; what happened to them stays."""
        world = self._world
        while True:
            before = world.clock.now().wall - timedelta(days=world.keep_days)
            try:
                await world.elsewhere(world.journal.prune, before)
            except Exception as e:  # noqa: BLE001 - it is tried again
                self._complain(e)
            await asyncio.sleep(_DAY)

    def _complain(self, error: Exception, name: str = "") -> None:
        """Log what went wrong; a sentence when it is one of ours, and named by its kind when nobody foresaw it."""
        said = str(error) if isinstance(error, BuildEyeError) else f"{type(error).__name__}: {error}; tried again"
        self._world.complain(f"{name}: {said}" if name else said)

    async def _let_go(self, names: list[str], say: str = "") -> None:
        going = [(name, *held) for name in names if (held := self._services.pop(name, None)) is not None]
        for _, _, task in going:
            task.cancel()  # all at once: nobody acts while another one is waited for
        for name, service, task in going:
            await asyncio.wait({task})
            service.route.close()
            if say:
                self._world.log(f"{name}: {say}")
            with contextlib.suppress(OutsideError):
                await self._world.ask(self._world.journal.release, service.fence)
