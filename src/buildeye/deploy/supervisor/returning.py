"""An anomaly is known: may it roll back by itself, and who is told of how a deployment stands."""

from pathlib import Path
from typing import Final

from buildeye.deploy.clock import later
from buildeye.deploy.probes import run_command
from buildeye.deploy.states import Happening
from buildeye.deploy.supervisor.ground import Ground
from buildeye.model import UsageError
from buildeye.model.deployments import DeployEvent, Deployment, State

TOLD: Final = "told"
"""The event that says that people were told of a state; without it they are told again."""
SCHEMA: Final = "schema"
"""The event that keeps what `rollback.schema_command` said before the cutover."""
_WORTH_TELLING: Final = frozenset(
    {
        State.HEALTH_FAILED,
        State.NEEDS_ATTENTION,
        State.ROLLED_BACK,
        State.ROLLBACK_FAILED,
        State.CLOSED_INSUFFICIENT_DATA,
    }
)
_HOUR: Final = 3600.0


async def consider(service: Ground, deployment: Deployment) -> Deployment | None:
    """Roll back by itself, or say why a person has to: it is switched off, too many went before, the schema moved."""
    events = await service.world.ask(service.world.journal.events, deployment.id)
    last = next((each for each in reversed(events) if each.event == Happening.ANOMALY), None)
    numbers = dict(last.numbers) if last is not None else {}
    service.hook_beside("on_anomaly", deployment)
    refused = await _refused(service, deployment, events)
    if refused:
        return await service.move(deployment, Happening.HOLD, refused, numbers=numbers)
    return await service.move(deployment, Happening.ROLL_BACK, "goes back by itself", numbers=numbers)


async def keep_schema(service: Ground, deployment: Deployment) -> None:
    """Remember the schema's version as it is before the cutover."""
    said = await _schema(service, deployment)
    if said is not None:
        await service.note(deployment, SCHEMA, said)


def tell_beside(service: Ground, deployment: Deployment) -> None:
    """Tell people how a deployment stands, beside everything else."""
    service.beside(f"tell-{deployment.id}", tell_if_new(service, deployment))


async def tell_if_new(service: Ground, deployment: Deployment) -> None:
    """Tell people of a state they should know of; at least once, also when the supervisor ends in between."""
    if deployment.state not in _WORTH_TELLING:
        return
    events = await service.world.ask(service.world.journal.events, deployment.id)
    moves = [each for each in events if each.before is not each.after]
    entered = moves[-1].seq if moves else 0
    if any(each.event == TOLD and each.seq > entered for each in events):
        return
    why = moves[-1].reason if moves else ""
    await service.check_fence()
    failed = await service.world.elsewhere(service.world.announce, deployment, why)
    service.world.boundary("announced")
    await service.note(deployment, TOLD, "; ".join(failed))
    for sentence in failed:
        service.world.log(f"{service.name}: {sentence}")


async def _refused(service: Ground, deployment: Deployment, events: list[DeployEvent]) -> str:
    """Why no automatic rollback may happen; empty when it may."""
    rules = service.spec_of(deployment).rollback
    if not rules.automatic:
        return "automatic rollback is switched off for this service (rollback.automatic)"
    an_hour_ago = later(service.world.clock.now(), -_HOUR)
    done = await service.world.ask(service.world.journal.rollbacks_since, service.name, an_hour_ago)
    if done >= rules.per_hour:
        return f"{done} automatic rollbacks within the last hour; no more by itself (rollback.per_hour)"
    before = next((each.reason for each in events if each.event == SCHEMA), None)
    if before is None:
        return ""
    after = await _schema(service, deployment)
    if after is None or after == before:
        return "" if after is not None else "rollback.schema_command does not tell the schema's version now"
    return f"the schema moved from {before} to {after}; the version before may not understand it"


async def _schema(service: Ground, deployment: Deployment) -> str | None:
    """What `rollback.schema_command` says of the schema's version; None when it is not set or fails."""
    spec = service.spec_of(deployment)
    if not spec.rollback.schema_command:
        return None
    try:
        ready = service.world.ready(deployment)
    except UsageError as e:
        service.world.log(f"{service.name}: rollback.schema_command: {e}")
        return None
    seconds = service.world.clock.real(spec.hooks.timeout_seconds)
    environment, directory = dict(ready.environment), Path(ready.directory)
    ran = await run_command(ready.rollback.schema_command, seconds, environment=environment, directory=directory)
    return ran.detail if ran.ok else None
