"""One service under supervision: who serves, who is on the way, and everything done to them, one thing at a time.

Three things run beside each other: a candidate on its way, the watch over what took over, keeping alive what serves.
"""

import asyncio
from typing import Final

from buildeye.deploy.journal import DeployRequest, Fenced
from buildeye.deploy.states import BEFORE_CUTOVER, WATCHED, Happening
from buildeye.deploy.supervisor import candidate, cutover, keeping
from buildeye.deploy.supervisor.draining import drained, end_drain
from buildeye.deploy.supervisor.errands import TRY_AGAIN_SECONDS
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.leaving import forget_old_runs, rests
from buildeye.deploy.supervisor.plan import RUNS_LOOKED_AT, Roles, at_work, roles, stale
from buildeye.deploy.supervisor.requests import handle
from buildeye.deploy.supervisor.returning import consider, tell_beside, tell_if_new
from buildeye.deploy.supervisor.watching import watch
from buildeye.model import BuildEyeError, OutsideError
from buildeye.model.deployments import Deployment, State

_TOLD_AGAIN: Final = 3
"""Deployments, newest first, that a new supervisor looks at for something nobody was told of."""


class ServiceSupervisor(Ground):
    """The supervisor of one service, for as long as the fence holds."""

    async def run(self) -> None:
        """Supervise until cancelled or fenced, then all processes live on; or until nothing of the service is left."""
        try:
            known = await self.known()
            await self.versions.take_over(known)
            await self._refresh_runs(known)
            for each in known[:_TOLD_AGAIN]:
                tell_beside(self, each)  # an earlier supervisor may have ended before it could
            while True:
                await self._once()
                if await rests(self):
                    await self.versions.end_keepers()
                    await forget_old_runs(self, Roles())
                    return
                await self.changed.wait_for_change(60.0)
                if self._errands.lost is not None:
                    raise self._errands.lost
        finally:
            await self._errands.end_all()
            await self.versions.let_go()
            for source in self._sources.values():
                source.close()
            self._sources.clear()

    def serve_clients(self) -> None:
        """Do what clients asked for, beside everything else; no other service waits for it."""
        self.beside("requests", self._serve_clients())

    async def _serve_clients(self) -> None:
        for request in await self.world.ask(self.world.journal.requests, {self.name}, 0):
            await self._take(request)

    async def _take(self, request: DeployRequest) -> None:
        """Do what a client asked for and answer it."""
        try:
            ok, said = await handle(self, request)
        except Fenced:
            raise
        except BuildEyeError as e:
            ok, said = False, str(e)
        await self.world.ask(self.world.journal.answer, self.fence, request.seq, said, ok)
        self.changed.ring()

    # Keeping up

    async def _once(self) -> None:
        """See to it that everything that should run does, and nothing else."""
        try:
            known = await self.known()
            for old in stale(known):
                await self.end_beside(f"go-{old.id}")
                await self.move(old, Happening.SUPERSEDE, "a newer deployment was asked for")
            now = roles(known, (await self.row()).in_service)
            for moving in (*at_work(known), *([now.candidate] if now.candidate is not None else [])):
                self.beside(f"go-{moving.id}", self._go(moving))
            keeping.keep_alive(self, now)
            await self._tidy(now)
            await keeping.keep_route(self, known, now)
            await forget_old_runs(self, now)
            self._forget({each.id for each in known} | self.versions.live.keys())
        except OutsideError as e:
            self.world.complain(f"{self.name}: {e}")
            asyncio.get_running_loop().call_later(TRY_AGAIN_SECONDS, self.changed.ring)

    def _forget(self, known: set[str]) -> None:
        """Let go of what is remembered of deployments that do not count any more, and of work that is done."""
        for id in self._sources.keys() - known:
            self._sources.pop(id).close()
        for id in self._runs.keys() - known:
            del self._runs[id]
        self.promoted &= known
        self._errands.forget()

    async def _go(self, deployment: Deployment) -> None:
        """Take a deployment as far as it goes now."""
        at: Deployment | None = deployment
        while at is not None:
            match at.state:
                case state if state in BEFORE_CUTOVER:
                    at = await candidate.advance(self, at)
                case State.CUTTING_OVER:
                    at = await cutover.cut_over(self, at)
                case State.MONITORING | State.NEEDS_ATTENTION:
                    await cutover.finish_cutover(self, at)
                    await tell_if_new(self, at)
                    at = await watch(self, at)
                case State.ANOMALY_DETECTED:
                    at = await consider(self, at)
                case State.ROLLING_BACK:
                    at = await cutover.roll_back(self, at)
                case _:
                    await tell_if_new(self, at)
                    at = None

    async def _tidy(self, now: Roles) -> None:
        """Stop the processes nobody needs any more."""
        kept = now.kept()
        for id in [id for id in self.versions.live if id not in kept]:
            self.beside(f"stop-{id}", self._stop(id))

    async def _stop(self, deployment_id: str) -> None:
        async with self.switching:
            now = await self.roles()
            if deployment_id in now.kept():
                return
        await end_drain(self, deployment_id)
        live, left = self.versions.live.get(deployment_id), await self.read(deployment_id)
        if live is not None and left is not None and left.cutover is not None and now.serving is not None:
            await drained(self, left, left, live)
        async with self.switching:  # a rollback may have led back to it meanwhile
            if deployment_id in (await self.roles()).kept():
                return
        await self.check_fence()
        await self.versions.stop(deployment_id)

    async def _refresh_runs(self, known: list[Deployment]) -> None:
        for each in known:
            if each.state in WATCHED or each.id in self.versions.live:
                self._runs[each.id] = await self.world.ask(self.world.journal.runs, each.id, RUNS_LOOKED_AT)
