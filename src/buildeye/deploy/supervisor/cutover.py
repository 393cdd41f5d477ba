"""Cutover and the way back: intend, switch, look through the public address who answers, and only then believe it."""

from dataclasses import replace
from typing import Final

from buildeye.deploy.states import WATCHED, Happening
from buildeye.deploy.supervisor.draining import drain_beside, undrain
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.plan import free_slot, overtaken, rollback_target
from buildeye.deploy.supervisor.sampling import Asked, ask_health
from buildeye.model import OutsideError, UsageError
from buildeye.model.deployments import Deployment

_VERIFY_TIMES: Final = 5
_VERIFY_SECONDS: Final = 0.2
_GATE_TIMES: Final = 3


async def cut_over(service: Ground, deployment: Deployment) -> Deployment | None:
    """Give a ready version the traffic. Done again after a crash it looks first at what is real, as done once."""
    async with service.switching:
        live = service.versions.live.get(deployment.id)
        if live is None:
            why = await service.how_it_ended(deployment)
            return await service.move(deployment, Happening.SWITCH_FAILED, f"at the cutover: {why}")
        serving = (await service.row()).in_service
        if serving not in (deployment.previous, deployment.id):  # a rollback came between
            await service.amend(deployment, previous=serving)
            deployment = replace(deployment, previous=serving)
        wrong = await _switch(service, deployment)
        if wrong:
            return await service.move(deployment, Happening.SWITCH_FAILED, wrong)
        service.world.boundary("verified")
        moved = await service.move(
            deployment,
            Happening.SWITCHED,
            f"{deployment.version} serves and is watched",
            cutover=service.world.clock.now(),
        )
        if moved is None:
            return None
        await _in_service(service, moved)
    service.hook_beside("after_cutover", moved)
    return moved


async def finish_cutover(service: Ground, deployment: Deployment) -> None:
    """What a cutover leaves to do once it is in the journal; harmless when it is done already."""
    async with service.switching:
        now = await service.read(deployment.id)
        if now is not None and now.state in WATCHED and (await service.row()).in_service != deployment.id:
            await _in_service(service, deployment)


async def roll_back(service: Ground, deployment: Deployment) -> Deployment | None:
    """Go back to the last clean version, through its own health gate; stay where we are when it is broken too."""
    async with service.switching:
        known = await service.known()
        target = rollback_target(deployment, known)
        serving = (await service.row()).in_service
        if serving and serving != deployment.id:  # it never took over, or the way back is gone already
            target = next((each for each in known if each.id == serving), target)
        if target is None:
            await _stay(service, deployment)
            why = "there is no clean version to go back to; this one stays"
            return await service.move(deployment, Happening.RETURN_FAILED, why)
        wrong = await _make_ready(service, target)
        if not wrong:
            wrong = await _switch(service, target)
        if wrong:
            stays = await _stay(service, deployment)
            why = f"{target.version} cannot take over again: {wrong}; {stays or 'nobody'} stays in service"
            return await service.move(deployment, Happening.RETURN_FAILED, why)
        service.world.boundary("returned")
        if deployment.id not in service.versions.live and deployment.slot is not None:
            await service.check_fence()
            await service.world.away(service.route.turn_away, deployment.slot)  # nobody will ever answer those
        await service.set_in_service(target)
        service.world.boundary("in-service")
        moved = await service.move(
            deployment,
            Happening.RETURNED,
            f"{target.version} serves again",
            numbers={"target": target.id, "version": target.version},
            closed=service.world.clock.now(),
        )
    service.hook_beside("after_rollback", deployment)
    return moved


async def _in_service(service: Ground, deployment: Deployment) -> None:
    """Write who serves; those still under watch are overtaken, and what left service drains."""
    for other in overtaken(await service.known(), deployment):
        await service.move(other, Happening.SUPERSEDE, f"{deployment.version} took over")
    service.world.boundary("overtaken")
    await service.set_in_service(deployment)
    service.world.boundary("in-service")
    if deployment.previous:
        drain_beside(service, deployment.previous, deployment)


async def _switch(service: Ground, deployment: Deployment) -> str:
    """Point the route at a version's slot and see that it answers; gives what is wrong, empty when nothing is."""
    live = service.versions.live.get(deployment.id)
    if live is None:
        return await service.how_it_ended(deployment)
    service.world.boundary("switching")
    try:
        await service.lead_to(live.slot, deployment.version)
    except OutsideError as e:
        if not await _leads_to(service, live.slot):  # where it does all the same, what answers there decides
            return str(e)
    service.world.boundary("switched")
    spec, said = service.spec_of(deployment), ""
    for _ in range(_VERIFY_TIMES):
        result = await ask_health(service.world, spec, Asked(service.route.public, live.run.nonce))
        if result.ok:
            return ""
        said = result.detail
        await service.world.clock.sleep(_VERIFY_SECONDS)
    return f"after the switch the public address does not answer well: {said}"


async def _leads_to(service: Ground, slot: int) -> bool:
    """Whether the public address leads to a slot by what is real; False where that cannot be told."""
    try:
        return await service.world.away(service.route.current) == slot
    except OutsideError:
        return False


async def _make_ready(service: Ground, target: Deployment) -> str:
    """See that the version to return to lives and is healthy; it is started when it does not. Gives what is wrong."""
    world, spec = service.world, service.spec_of(target)
    live = service.versions.live.get(target.id)
    if live is None:
        slot = free_slot(await service.taken_slots(target))
        if slot is None:
            return "every slot of this service is taken"
        await service.amend(target, slot=slot)
        await service.check_fence()
        try:
            live = await service.versions.start(target, slot)
        except (OutsideError, UsageError) as e:
            return str(e)
    await undrain(service, target)
    began, in_row, said = world.clock.now(), 0, ""
    whom = Asked(service.route.private(live.slot), live.run.nonce)
    while in_row < min(_GATE_TIMES, spec.health.successes):
        if target.id not in service.versions.live:
            return await service.how_it_ended(target)
        result = await ask_health(world, spec, whom)
        in_row, said = (in_row + 1, "") if result.ok else (0, result.detail)
        if not result.ok and world.clock.now().since(began) >= spec.health.deadline_seconds:
            return f"not healthy within {spec.health.deadline_seconds:g} s: {said}"
        if in_row < _GATE_TIMES:
            await world.clock.sleep(min(_VERIFY_SECONDS, spec.health.start_interval_seconds))
    return ""


async def _stay(service: Ground, deployment: Deployment) -> str:
    """Point the route at the version that cannot be left, in case the way back was half gone, or it never took over.

    Where it does not live, whoever is in service by the journal keeps the route, and is started again. Gives the
    version that stays, empty when there is none.
    """
    serving = (await service.row()).in_service
    if serving not in ("", deployment.id, deployment.previous):  # a newer one took over meanwhile
        newer = await service.read(serving)
        return newer.version if newer is not None else ""
    stays = deployment.id if deployment.id in service.versions.live or not serving else serving
    live, kept = service.versions.live.get(stays), await service.read(stays)
    slot = live.slot if live is not None else kept.slot if kept is not None else None
    if kept is None or slot is None:
        return ""
    try:
        await service.lead_to(slot, kept.version)
    except OutsideError as e:
        service.world.log(f"{service.name}: {e}")
        if not await _leads_to(service, slot):
            kept = await service.read(serving) if serving else None
            return kept.version if kept is not None else ""
    if serving != stays:
        await service.set_in_service(kept)
    return kept.version
