"""What people ask of a running supervisor, and its answers: a sentence, and whether it was done."""

from typing import Final

from buildeye.deploy.journal import DeployRequest
from buildeye.deploy.states import BEFORE_CUTOVER, WATCHED, Happening
from buildeye.deploy.supervisor.cutover import finish_cutover
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.leaving import stop_service
from buildeye.deploy.supervisor.plan import asked_of
from buildeye.model.deployments import Deployment, State

Answer = tuple[bool, str]
_REQUEST: Final = "request"
"""Where an event keeps the number of the request it comes from, so that none is done twice."""


async def handle(service: Ground, request: DeployRequest) -> Answer:
    """Do what was asked for, if the deployment it is about still stands where that makes sense."""
    if request.kind == "start":
        return True, "seen"
    if request.kind == "stop":
        return await stop_service(service, request.by, asked_of(request.arguments, "why"))
    deployment = await service.read(request.deployment_id)
    if deployment is None:
        return False, f"there is no deployment {request.deployment_id}"
    events = await service.world.ask(service.world.journal.events, deployment.id)
    if any(each.numbers.get(_REQUEST) == request.seq for each in events):
        return True, "done"  # by an earlier supervisor, which ended before it could answer
    deployment = await _fully_in_service(service, deployment)
    why = asked_of(request.arguments, "why")
    match request.kind:
        case "pause" | "resume":
            return await _pause(service, deployment, request, why)
        case "promote":
            return await _promote(service, deployment, request, why)
        case "abort":
            return await _abort(service, deployment, request, why)
        case "rollback":
            return await _roll_back(service, deployment, request, why)
        case _:
            return False, f"this supervisor does not know what {request.kind} is; is it older than the command?"


async def _fully_in_service(service: Ground, deployment: Deployment) -> Deployment:
    """A deployment whose cutover is finished: an earlier supervisor may have ended before it wrote who serves.

    A request that ends the watch would leave it so, and what serves would be stopped as something nobody needs.
    """
    if deployment.state not in WATCHED or (await service.row()).in_service == deployment.id:
        return deployment
    await finish_cutover(service, deployment)
    return await service.read(deployment.id) or deployment


async def _pause(service: Ground, deployment: Deployment, request: DeployRequest, why: str) -> Answer:
    wanted = request.kind == "pause"
    if deployment.state not in WATCHED | BEFORE_CUTOVER:
        return False, _too_late(deployment)
    if not wanted and deployment.state is State.NEEDS_ATTENTION:
        moved = await service.move(deployment, Happening.RESUME, why, request.by, _of(request))
        if moved is None:
            return False, "it moved on in this moment; look again"
        deployment = moved
    await service.amend(deployment, paused=wanted)
    await service.note(deployment, request.kind, f"{why or request.kind} ({request.by})", _of(request))
    if wanted:
        return True, f"{deployment.version} takes no step forward until it is resumed; a breach still rolls back"
    return True, f"{deployment.version} goes on"


async def _promote(service: Ground, deployment: Deployment, request: DeployRequest, why: str) -> Answer:
    if deployment.state in BEFORE_CUTOVER:
        service.promoted.add(deployment.id)
        await service.amend(deployment, paused=False)
        await service.note(deployment, "promote", f"{why or 'may serve'} ({request.by})", _of(request))
        return True, f"{deployment.version} takes over as soon as it is ready"
    now = service.world.clock.now()
    moved = await service.move(
        deployment, Happening.PROMOTE, why or "promoted by a person", request.by, _of(request), closed=now
    )
    return (True, f"{deployment.version} counts as clean") if moved else (False, _too_late(deployment))


async def _abort(service: Ground, deployment: Deployment, request: DeployRequest, why: str) -> Answer:
    if deployment.state in WATCHED or deployment.state is State.CUTTING_OVER:
        return await _roll_back(service, deployment, request, why)
    moved = await service.move(deployment, Happening.ABORT, why or "aborted by a person", request.by, _of(request))
    return (True, f"{deployment.version} is aborted; nothing else changes") if moved else (False, _too_late(deployment))


async def _roll_back(service: Ground, deployment: Deployment, request: DeployRequest, why: str) -> Answer:
    moved = await service.move(
        deployment, Happening.ROLL_BACK, why or "asked for by a person", request.by, _of(request)
    )
    return (True, f"{deployment.version} is rolled back") if moved else (False, _too_late(deployment))


def _of(request: DeployRequest) -> dict[str, object]:
    return {_REQUEST: request.seq}


def _too_late(deployment: Deployment) -> str:
    return f"{deployment.version} is {deployment.state.replace('_', ' ')}; that cannot be done any more"
