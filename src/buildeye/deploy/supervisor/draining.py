"""The drain of a version that left service: its connections, as its keeper knows them, and what is said of the end."""

from collections.abc import Callable, Sequence
from functools import partial

from buildeye.deploy.address import Address
from buildeye.deploy.processes.client import KeeperClient
from buildeye.deploy.routes.drain import drain
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.versions import Live, signal_of
from buildeye.model.deployments import Deployment


class KeeperConnections:
    """What `routes.drain` asks: the connections at one slot's address. OutsideError: the keeper does not answer.

    `refused` is how many connections the kernel did not let the keeper cut. `check` is asked before they are.
    """

    def __init__(self, keeper: KeeperClient, address: Address, check: Callable[[], None]) -> None:
        self._keeper = keeper
        self._check = check
        self._paths = [address.path] if address.path else []
        self.ports: list[int] = [] if address.path else [address.port]
        self.refused = 0

    def connections(self, ports: Sequence[int]) -> int:
        """How many connections the version serves."""
        return self._keeper.connections(ports, self._paths)

    def cut(self, ports: Sequence[int]) -> int:
        """End them; how many."""
        self._check()
        count, self.refused = self._keeper.cut(ports, self._paths)
        return count


async def drained(service: Ground, by: Deployment, left: Deployment, live: Live) -> None:
    """Wait until a version has no connection left, cut what is there at the deadline; `by` gets both as an event."""
    settings, world = service.spec_of(left).drain, service.world
    await service.check_fence()
    tell = partial(live.process.signal, signal_of(settings.signal)) if settings.signal else None
    still_ours = partial(world.journal.check, service.fence)
    held = KeeperConnections(KeeperClient(live.folder), service.route.private(live.slot), still_ours)
    done = await drain(world.clock, held, held.ports, settings.seconds, tell)
    cut = f"; {done.cut} connections were cut at the deadline" if done.cut else ""
    cut += f"; {held.refused} could not be cut" if held.refused else ""
    numbers = {"waited": round(done.waited, 3), "cut": done.cut, "refused": held.refused}
    await service.note(by, "drained", f"{left.version} finished its work in {done.waited:.1f} s{cut}", numbers)


def drain_beside(service: Ground, deployment_id: str, by: Deployment) -> None:
    """Let what left service finish what it has; beside everything else, and told in the journal."""
    service.beside(_errand(deployment_id), _drain(service, deployment_id, by))


async def undrain(service: Ground, deployment: Deployment) -> None:
    """Tell a version that it shall take new work again."""
    await service.end_beside(_errand(deployment.id))
    live, back = service.versions.live.get(deployment.id), service.spec_of(deployment).drain.undrain_signal
    if live is not None and back:
        await service.check_fence()
        live.process.signal(signal_of(back))


async def end_drain(service: Ground, deployment_id: str) -> None:
    """Wait no longer for what a version still has to do."""
    await service.end_beside(_errand(deployment_id))


async def _drain(service: Ground, deployment_id: str, by: Deployment) -> None:
    live, left = service.versions.live.get(deployment_id), await service.read(deployment_id)
    if live is not None and left is not None:
        await drained(service, by, left, live)


def _errand(deployment_id: str) -> str:
    return f"drain-{deployment_id}"
