"""Keeping up what serves: its process is started again when it fell, and the public address leads to it."""

from typing import Final

from buildeye.deploy.states import IN_SERVICE, TERMINAL
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.plan import RUNS_LOOKED_AT, Roles, in_the_way
from buildeye.model import OutsideError
from buildeye.model.deployments import Deployment, State

_LATELY_SECONDS: Final = 600.0
"""Ends of a process within this time make its next start wait longer."""
_DOUBLED_AT_MOST: Final = 30
UNSTEADY: Final = "unsteady"
"""The event that says that a version which nobody watches any more falls again and again."""
_UNSTEADY_SECONDS: Final = 6 * 3600.0
"""People are told of it once in this time."""
_SURE: Final = IN_SERVICE - {State.ANOMALY_DETECTED}
"""States of the one in service in which nothing is about to be switched."""


def keep_alive(service: Ground, now: Roles) -> None:
    """What serves and fell is started again in its slot, a little later each time."""
    each = now.serving
    if each is None or each.slot is None or each.id in service.versions.live or each.state is State.ROLLING_BACK:
        return
    if service.spec_of(each).process.restart:
        service.beside(f"restart-{each.id}", _restart(service, each))


async def keep_route(service: Ground, known: list[Deployment], now: Roles) -> None:
    """See that sockets of ours lead to who serves: an old supervisor may have woken in the midst of a switch."""
    serving = now.serving
    live = service.versions.live.get(serving.id) if serving is not None else None
    if serving is None or live is None or not service.route.sockets() or service.switching.locked():
        return
    if serving.state not in _SURE or now.watched not in (None, serving) or in_the_way(serving, known) is not None:
        return
    if await service.world.away(service.route.current) == live.slot:
        return
    service.world.log(f"{service.name}: the public address led elsewhere; it is led to {serving.version} again")
    await service.lead_to(live.slot, serving.version)


async def _restart(service: Ground, deployment: Deployment) -> None:
    world, process = service.world, service.spec_of(deployment).process
    moment = world.clock.now()
    runs = await world.ask(world.journal.runs, deployment.id, RUNS_LOOKED_AT)
    fell = sum(1 for run in runs if run.ended is not None and moment.since(run.ended) < _LATELY_SECONDS)
    if deployment.state in TERMINAL and fell >= process.exits:
        service.beside(f"unsteady-{deployment.id}", _tell_unsteady(service, deployment, fell))
    doubled = 2 ** min(max(0, fell - 1), _DOUBLED_AT_MOST)
    await world.clock.sleep(min(process.restart_seconds * doubled, process.restart_most_seconds))
    now = await service.roles()
    if now.serving is None or now.serving.id != deployment.id or deployment.id in service.versions.live:
        return
    assert deployment.slot is not None
    await service.check_fence()
    try:
        await service.versions.start(deployment, deployment.slot)
    except OutsideError as e:
        world.log(f"{service.name}: {deployment.version} does not start again: {e}")
    await service.read_with_runs(deployment.id)
    service.changed.ring()


async def _tell_unsteady(service: Ground, deployment: Deployment, fell: int) -> None:
    """The window is closed, so nothing rolls back; a person should know."""
    world = service.world
    now = world.clock.now()
    events = await world.ask(world.journal.events, deployment.id)
    if any(each.event == UNSTEADY and now.since(each.at) < _UNSTEADY_SECONDS for each in events):
        return
    says = f"{deployment.version} ended {fell} times within {_LATELY_SECONDS / 60:g} min; it is started again each time"
    await service.check_fence()
    for failed in await world.elsewhere(world.announce, deployment, says):
        world.log(f"{service.name}: {failed}")
    await service.note(deployment, UNSTEADY, says)
