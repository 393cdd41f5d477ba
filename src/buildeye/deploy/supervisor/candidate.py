"""The way of a version to the cutover: start it, check it alone, and wait until it may serve."""

from buildeye.deploy.states import Happening
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.plan import free_slot
from buildeye.deploy.supervisor.returning import keep_schema
from buildeye.deploy.supervisor.sampling import Asked, ask_canary, ask_health
from buildeye.model import OutsideError, UsageError
from buildeye.model.deployments import Deployment, State


async def advance(service: Ground, deployment: Deployment) -> Deployment | None:
    """Do what the state of a candidate asks for, to its end. Gives what it is then; None when another moved it."""
    match deployment.state:
        case State.CREATED:
            return await service.move(deployment, Happening.START)
        case State.STARTING:
            return await _start(service, deployment)
        case State.HEALTH_CHECKING:
            return await _check(service, deployment)
        case State.READY:
            return await _wait_to_serve(service, deployment)
        case _:
            return None


async def _start(service: Ground, deployment: Deployment) -> Deployment | None:
    if deployment.id in service.versions.live:
        return await service.move(deployment, Happening.STARTED)
    ran = await service.hook("before_start", deployment)
    if ran is not None and not ran.ok:
        return await service.move(deployment, Happening.START_FAILED, f"before_start: {ran.detail}")
    slot = deployment.slot if deployment.slot is not None else free_slot(await service.taken_slots(deployment))
    if slot is None:
        return await service.move(deployment, Happening.START_FAILED, "every slot of this service is taken")
    await service.amend(deployment, slot=slot)
    try:
        await service.versions.start(deployment, slot)
    except (OutsideError, UsageError) as e:
        return await service.move(deployment, Happening.START_FAILED, str(e))
    return await service.move(deployment, Happening.STARTED, "its process runs and is asked until it is healthy")


async def _check(service: Ground, deployment: Deployment) -> Deployment | None:
    """Healthy is: so many good answers in a row, for at least so long, and the canary done once."""
    world, spec = service.world, service.spec_of(deployment)
    began = world.clock.now()
    in_row, said = 0, "it has not answered yet"
    while True:
        live = service.versions.live.get(deployment.id)
        if live is None:
            why = await service.how_it_ended(deployment)
            return await service.move(deployment, Happening.UNHEALTHY, f"{why}; last health answer: {said}")
        whom = Asked(service.route.private(live.slot), live.run.nonce)
        result = await ask_health(world, spec, whom)
        in_row, said = (in_row + 1, "ok") if result.ok else (0, result.detail)
        since = world.clock.now().since(began)
        if in_row >= spec.health.successes and since >= spec.health.minimum_uptime_seconds:
            break
        if since >= spec.health.deadline_seconds:
            why = f"not healthy within {spec.health.deadline_seconds:g} s: {said}"
            return await service.move(deployment, Happening.UNHEALTHY, why)
        await world.clock.sleep(spec.health.start_interval_seconds)
    if spec.canary.given:
        result = await ask_canary(world, spec, whom)
        if not result.ok:
            return await service.move(deployment, Happening.UNHEALTHY, f"its first canary task failed: {result.detail}")
    return await service.move(deployment, Happening.HEALTHY, f"it is healthy: {in_row} good answers in a row")


async def _wait_to_serve(service: Ground, deployment: Deployment) -> Deployment | None:
    """Ready: cut over at once, or when a person says so; a candidate that ends meanwhile is not healthy."""
    while not await service.may_serve(deployment):
        if deployment.id not in service.versions.live:
            return await service.move(deployment, Happening.UNHEALTHY, await service.how_it_ended(deployment))
        await service.changed.wait_for_change()
        again = await service.read(deployment.id)
        if again is None or again.state is not State.READY:
            return again
        deployment = again
    ran = await service.hook("before_cutover", deployment)
    if ran is not None and not ran.ok:
        return await service.move(deployment, Happening.UNHEALTHY, f"before_cutover: {ran.detail}")
    await keep_schema(service, deployment)
    baseline = await service.freeze_baseline(deployment)
    previous = (await service.row()).in_service
    return await service.move(deployment, Happening.CUT_OVER, baseline=baseline, previous=previous)
