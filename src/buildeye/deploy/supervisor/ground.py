"""What the steps of a supervised service stand on: what is known of the service, and each thing that can be done to it.

The steps (`candidate`, `cutover`, `watching`, `returning`, `keeping`, `leaving`, `requests`, `draining`) know this and
nothing of the loop in `service` that calls them.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

from buildeye.deploy.journal import Fence, ServiceRow
from buildeye.deploy.probes import ProbeResult, run_command
from buildeye.deploy.rates import RateSource, rate_source
from buildeye.deploy.routes import Route
from buildeye.deploy.spec import ServiceSpec, spec_of
from buildeye.deploy.states import WATCHED, Happening
from buildeye.deploy.supervisor.changes import Changes
from buildeye.deploy.supervisor.errands import Errands
from buildeye.deploy.supervisor.plan import RUNS_LOOKED_AT, Roles, in_the_way, roles
from buildeye.deploy.supervisor.sampling import Asked, servings
from buildeye.deploy.supervisor.versions import Versions
from buildeye.deploy.supervisor.world import World
from buildeye.model import OutsideError, UsageError
from buildeye.model.deployments import Baseline, DeployEvent, Deployment, HealthSample, ProcessRun, State

_KNOWN: Final = 60
"""Deployments of a service that are looked at, newest first."""


class Ground:
    """One service as far as the steps need it. Only one of them switches traffic at a time: `switching`."""

    def __init__(self, world: World, row: ServiceRow, fence: Fence, route: Route) -> None:
        self.world = world
        self.name = row.name
        self.fence = fence
        self.route = route
        self.changed = Changes()
        self.switching = asyncio.Lock()
        self.promoted: set[str] = set()
        self.versions = Versions(world, row.name, fence, route, self.changed.ring)
        self._runs: dict[str, list[ProcessRun]] = {}
        self._sources: dict[str, RateSource] = {}
        self._errands = Errands(row.name, self.changed.ring, world.complain)

    @property
    def busy(self) -> bool:
        """Whether something is being done beside the rest."""
        return self._errands.busy

    # What is known

    async def known(self) -> list[Deployment]:
        """The service's deployments, newest first, with those that serve or may serve again even when they are old."""
        found = await self.world.ask(self.world.journal.deployments, self.name, _KNOWN)
        clean = None if len(found) < _KNOWN else await self.world.ask(self.world.journal.latest_clean, self.name)
        serving = (await self.row()).in_service
        previous = (each.previous for each in found if each.state in WATCHED)
        for id in (serving, *previous, clean.id if clean is not None else ""):
            if id and all(each.id != id for each in found):
                older = await self.read(id)
                found.extend([older] if older is not None else [])
        return found

    async def row(self) -> ServiceRow:
        """The service as the journal has it."""
        row = await self.world.ask(self.world.journal.service, self.name)
        assert row is not None
        return row

    async def roles(self) -> Roles:
        """Who counts now."""
        return roles(await self.known(), (await self.row()).in_service)

    async def read(self, deployment_id: str) -> Deployment | None:
        """A deployment as the journal has it."""
        return await self.world.ask(self.world.journal.deployment, deployment_id)

    async def read_with_runs(self, deployment_id: str) -> Deployment | None:
        """A deployment as the journal has it, and the runs of its processes."""
        self._runs[deployment_id] = await self.world.ask(self.world.journal.runs, deployment_id, RUNS_LOOKED_AT)
        return await self.read(deployment_id)

    def runs_of(self, deployment_id: str) -> list[ProcessRun]:
        """The runs of a version's process, as last read."""
        return self._runs.get(deployment_id, [])

    def spec_of(self, deployment: Deployment) -> ServiceSpec:
        """The `deploy.yaml` a deployment was made with."""
        return spec_of(deployment.spec)

    def asked(self, deployment_id: str) -> Asked | None:
        """Where a living version answers alone."""
        live = self.versions.live.get(deployment_id)
        return Asked(self.route.private(live.slot), live.run.nonce) if live is not None else None

    def rate_source(self, deployment: Deployment) -> RateSource:
        """Where the approval rate of this service comes from."""
        if deployment.id not in self._sources:
            source = rate_source(self.world.ready(deployment).rate)
            assert source is not None  # only asked for where deploy.yaml names one
            self._sources[deployment.id] = source
        return self._sources[deployment.id]

    async def may_serve(self, deployment: Deployment) -> bool:
        """Whether a candidate may take over: nobody else is switching, and where a person has to say so, one did."""
        if in_the_way(deployment, await self.known()) is not None:
            return False
        if deployment.paused or self.spec_of(deployment).promote != "manual":
            return not deployment.paused
        if deployment.id not in self.promoted:
            events = await self.world.ask(self.world.journal.events, deployment.id)
            self.promoted.update(deployment.id for each in events if each.event == Happening.PROMOTE)
        return deployment.id in self.promoted

    async def taken_slots(self, but: Deployment) -> set[int]:
        """Slots of living processes and of what is kept, but for one deployment's own."""
        others = {live.slot for id, live in self.versions.live.items() if id != but.id}
        kept = (await self.roles()).kept() - {but.id}
        known = await self.known()
        return others | {each.slot for each in known if each.id in kept and each.slot is not None}

    async def how_it_ended(self, deployment: Deployment) -> str:
        """A sentence on the end of a version's process."""
        runs = await self.world.ask(self.world.journal.runs, deployment.id, RUNS_LOOKED_AT)
        self._runs[deployment.id] = runs
        last = runs[-1] if runs else None
        if last is None or last.ended is None:
            return "its process does not live"
        code = last.exit_code
        how = "with an unknown exit code" if code is None else f"by signal {-code}" if code < 0 else f"with exit {code}"
        lived = f" after {last.ended.since(last.started):.1f} s" if last.started is not None else ""
        return f"its process ended {how}{lived}"

    # What is done

    def beside(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run something beside the rest, unless something of this name runs already."""
        self._errands.start(name, work)

    async def end_beside(self, name: str) -> None:
        """End what runs beside the rest under this name."""
        await self._errands.end(name)

    async def move(
        self, deployment: Deployment, happening: Happening, reason: str = "", by: str = "supervisor",
        numbers: Mapping[str, object] | None = None, **columns: object,
    ) -> Deployment | None:  # fmt: skip
        """Move a deployment by compare-and-set; None when another did, and then nothing was written."""
        world = self.world
        world.boundary(f"before-{happening}")
        moved = await world.ask(
            world.journal.move, self.fence, deployment.id, deployment.epoch, happening, world.clock.now(),
            reason, numbers or {}, by, **columns,
        )  # fmt: skip
        world.boundary(f"after-{happening}")
        if moved is not None:
            step = (happening, deployment.state, moved.state, moved.epoch, world.clock.now(), reason, numbers or {}, by)
            world.show(DeployEvent(moved.id, *step), moved)
        self.changed.ring()
        return moved

    async def amend(self, deployment: Deployment, **columns: object) -> None:
        """Write columns of a deployment without moving it."""
        await self.world.ask(self.world.journal.amend, self.fence, deployment.id, **columns)

    async def note(
        self, deployment: Deployment, event: str, reason: str, numbers: Mapping[str, object] | None = None,
        by: str = "supervisor",
    ) -> None:  # fmt: skip
        """Write an event that moves nothing."""
        now = self.world.clock.now()
        await self.world.ask(self.world.journal.note, self.fence, deployment.id, event, reason, numbers or {}, now, by)

    async def store(self, sample: HealthSample) -> HealthSample:
        """Put a sample on disk; it has its number after that."""
        stored = await asyncio.wrap_future(self.world.writer.put(self.fence, [sample]))
        return stored[0]

    async def set_in_service(self, deployment: Deployment) -> None:
        """Write who serves."""
        await self.world.ask(self.world.journal.set_in_service, self.fence, self.name, deployment.id)
        self.changed.ring()

    async def check_fence(self) -> None:
        """Fenced is raised when another supervisor has this service by now; asked before each effect on the world."""
        await self.world.ask(self.world.journal.check, self.fence)

    async def lead_to(self, slot: int, version: str) -> None:
        """Switch the route. The fence is asked in the thread that switches, with nothing between the two."""

        def switch() -> None:
            self.world.journal.check(self.fence)
            self.route.switch(slot, version)

        await self.world.away(switch)

    async def hook(self, name: str, deployment: Deployment) -> ProbeResult | None:
        """Run a hook of the service; None when it has none of this name."""
        if not getattr(self.spec_of(deployment).hooks, name):
            return None
        try:
            spec = self.world.ready(deployment)
        except UsageError as e:
            return ProbeResult(False, detail=str(e), error=True)
        await self.check_fence()
        told = {
            "BUILD_EYE_SERVICE": self.name,
            "BUILD_EYE_VERSION": deployment.version,
            "BUILD_EYE_COMMIT": deployment.commit,
            "BUILD_EYE_DEPLOYMENT": deployment.id,
            "BUILD_EYE_REASON": deployment.rollback_reason,
        }
        seconds = self.world.clock.real(spec.hooks.timeout_seconds)
        environment = dict(spec.environment) | told
        return await run_command(
            getattr(spec.hooks, name), seconds, environment=environment, directory=Path(spec.directory)
        )

    def hook_beside(self, name: str, deployment: Deployment) -> None:
        """Run a hook that nothing waits for; how it failed is written down."""
        if getattr(self.spec_of(deployment).hooks, name):
            self.beside(f"{name}-{deployment.id}", self._hook_told(name, deployment))

    async def _hook_told(self, name: str, deployment: Deployment) -> None:
        ran = await self.hook(name, deployment)
        if ran is not None and not ran.ok:
            await self.note(deployment, "hook", f"{name}: {ran.detail}")

    async def freeze_baseline(self, deployment: Deployment) -> Baseline | None:
        """The rate of the tasks that clean versions served before; None when it is unknown or not asked for."""
        spec = self.spec_of(deployment)
        if not spec.rate.given:
            return None
        known = await self.known()
        served = servings(known)
        good = {each.id for each in known if each.state is State.MONITORING_WINDOW_CLEAN}
        clean = [each for each in served if each.deployment_id in good]
        now = self.world.clock.now().wall
        try:
            source = self.rate_source(deployment)
            return await self.world.elsewhere(source.baseline, clean, served, now)
        except (OutsideError, UsageError) as e:
            await self.note(deployment, "no-baseline", str(e))
            return None
