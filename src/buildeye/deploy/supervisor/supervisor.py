"""The supervising process: it takes the services of this host, keeps their leases, and hands on what people ask."""

import asyncio
import contextlib
from typing import Final

from buildeye.deploy.journal import Fence, Fenced, Holder, ServiceRow, this_host
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.routes import Route, route_for
from buildeye.deploy.spec import spec_of
from buildeye.deploy.states import BEFORE_CUTOVER, Happening
from buildeye.deploy.supervisor.service import ServiceSupervisor
from buildeye.deploy.supervisor.versions import run_folders
from buildeye.deploy.supervisor.world import World
from buildeye.model import BuildEyeError, OutsideError

LEASE_SECONDS: Final = 15.0
"""True seconds a lease lasts without being renewed; it is renewed several times in that."""
_RENEWALS: Final = 4
_AGAIN_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.25
"""True seconds between two looks for requests and new services."""


class Supervisor:
    """Supervises all services of a host, or the named one, until cancelled."""

    def __init__(
        self, world: World, holder: Holder, only: str | None = None, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self._world = world
        self._holder = holder
        self._only = only
        self._lease_seconds = lease_seconds
        self._said: dict[str, str] = {}
        self._services: dict[str, tuple[ServiceSupervisor, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """Take services whose lease is free, serve requests, renew; ends only when cancelled."""
        renewing = asyncio.get_running_loop().create_task(self._renew())
        try:
            while True:
                try:
                    await self._take_services()
                    await self._hand_on_requests()
                except BuildEyeError as e:
                    self._world.log(str(e))
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            renewing.cancel()
            await self._let_go(list(self._services))

    @property
    def services(self) -> list[str]:
        """The names of the services that are supervised now."""
        return sorted(self._services)

    async def _take_services(self) -> None:
        world = self._world
        for name in await world.ask(world.journal.service_names, this_host()):
            if (self._only is not None and name != self._only) or not self._is_free(name):
                continue
            fence = await world.ask(world.journal.acquire, name, self._holder, self._lease_seconds)
            row = await world.ask(world.journal.service, name)
            if fence is not None and row is not None:
                await self._supervise(row, fence)

    def _is_free(self, name: str) -> bool:
        held = self._services.get(name)
        return held is None or held[1].done()

    async def _supervise(self, row: ServiceRow, fence: Fence) -> None:
        held = self._services.pop(row.name, None)
        if held is not None:  # it ended over something unforeseen; its sockets come back from the keepers
            held[0].route.close()
        try:
            route = await self._world.away(self._route, row)
        except BuildEyeError as e:
            await self._cannot_serve(row, fence, str(e))
            return
        self._said.pop(row.name, None)
        service = ServiceSupervisor(self._world, row, fence, route)
        task = asyncio.get_running_loop().create_task(self._run(service))
        self._services[row.name] = (service, task)
        self._world.log(f"{row.name}: supervised by process {self._holder.pid}")

    async def _run(self, service: ServiceSupervisor) -> None:
        """Supervise one service to its end; what goes wrong in it stops no other one, and is tried again."""
        try:
            await service.run()
        except Fenced as e:
            self._world.log(f"{service.name}: {e}")
        except Exception as e:  # noqa: BLE001 - the others must go on; a person reads the log
            self._world.log(f"{service.name}: {type(e).__name__}: {e}; tried again")
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _cannot_serve(self, row: ServiceRow, fence: Fence, why: str) -> None:
        """The public address cannot be had: said once, tried again, and what waits for it is not kept waiting."""
        world = self._world
        if self._said.get(row.name) != why:
            self._said[row.name] = why
            world.log(f"{row.name}: {why}")
        for waiting in await world.ask(world.journal.open_deployments, [row.name]):
            if waiting.state in BEFORE_CUTOVER:
                now = world.clock.now()
                await world.ask(world.journal.move, fence, waiting.id, waiting.epoch, Happening.ABORT, now, why)

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
        for request in await world.ask(world.journal.requests, set(self._services), 0):
            service, task = self._services.get(request.service, (None, None))
            if service is not None and task is not None and not task.done():
                with contextlib.suppress(Fenced):  # it ends by itself then, and the new holder takes the request
                    await service.take(request)

    async def _renew(self) -> None:
        """Renew all leases in one statement; whoever lost one stops at once."""
        world = self._world
        while True:
            await asyncio.sleep(self._lease_seconds / _RENEWALS)
            fences = [service.fence for service, _ in self._services.values()]
            try:
                lost = await world.ask(world.journal.renew, fences, self._lease_seconds) if fences else set()
            except OutsideError as e:
                world.log(str(e))
                continue
            await self._let_go(list(lost), say="another supervisor has taken over")

    async def _let_go(self, names: list[str], say: str = "") -> None:
        for name in names:
            service, task = self._services.pop(name)
            task.cancel()
            await asyncio.wait({task})
            service.route.close()
            if say:
                self._world.log(f"{name}: {say}")
            with contextlib.suppress(OutsideError):
                await self._world.ask(self._world.journal.release, service.fence)
