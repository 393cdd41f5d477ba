"""One look at one signal of a version: what is asked, of whom, and the sample that comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from buildeye.deploy.judges import RateReading
from buildeye.deploy.probes import ProbeResult, probe, run_canary_request, run_command
from buildeye.deploy.rates import RateSource, Serving, SourceError
from buildeye.deploy.routes import Address
from buildeye.deploy.spec import ServiceSpec
from buildeye.deploy.supervisor.world import World
from buildeye.model import UsageError
from buildeye.model.deployments import Deployment, HealthSample, SignalKind, SignalStatus, State


@dataclass(frozen=True, slots=True)
class Asked:
    """Where a version answers, and the nonce it should echo."""

    address: Address
    nonce: str = ""


async def ask_health(world: World, spec: ServiceSpec, whom: Asked) -> ProbeResult:
    """One health probe of one version."""
    seconds = world.clock.real(spec.health.timeout_seconds)
    return await probe(whom.address, spec.health.path, seconds, whom.nonce or None)


async def ask_canary(world: World, spec: ServiceSpec, whom: Asked) -> ProbeResult:
    """One canary task for one version."""
    canary, seconds = spec.canary, world.clock.real(spec.canary.timeout_seconds)
    if canary.command:
        told = {"BUILD_EYE_ADDRESS": str(whom.address), "BUILD_EYE_PORT": str(whom.address.port or "")}
        return await run_command(canary.command, seconds, environment=dict(world.environ) | told)
    nonce = whom.nonce or None
    return await run_canary_request(
        whom.address, canary.path, seconds, method=canary.method, body=canary.body, nonce=nonce
    )


def serving_of(deployment: Deployment, until: datetime | None = None) -> Serving:
    """When and as what a deployment served, for the source of its verdicts."""
    since = deployment.cutover or deployment.created
    return Serving(deployment.id, since.wall, until, deployment.version)


def servings(deployments: Sequence[Deployment]) -> list[Serving]:
    """When each deployment served that ever did, newest first in; one that was returned to served more than once.

    A deployment serves from its cutover until the next one's, or until it was rolled back; then the one before it does.
    """
    known = {each.id: each for each in deployments}
    found: list[Serving] = []
    until: datetime | None = None
    for each in deployments:
        if each.cutover is None:
            continue
        returned = each.closed.wall if each.state is State.ROLLED_BACK and each.closed is not None else None
        found.append(serving_of(each, returned or until))
        if returned is not None and each.previous in known:
            before = known[each.previous]
            found.append(Serving(before.id, returned, until, before.version))
        until = each.cutover.wall
    return found


def process_sample(world: World, deployment: Deployment, alive: bool, pid: int, exits: int) -> HealthSample:
    """Whether the process lives now."""
    status = SignalStatus.OK if alive else SignalStatus.FAIL
    return HealthSample(
        deployment.id, SignalKind.PROCESS, status, world.clock.now(), numbers={"pid": pid, "exits": exits}
    )


async def http_sample(
    world: World, spec: ServiceSpec, deployment: Deployment, whom: Asked, control: Asked | None, watched: float
) -> HealthSample:
    """A health probe; when it fails, the version before it is asked the same at once, as a control."""
    result = await ask_health(world, spec, whom)
    numbers: dict[str, object] = {"watched": round(watched, 3), "seconds": round(result.seconds, 4)}
    if not result.ok and not result.error and control is not None:
        beside = await ask_health(world, spec, control)
        numbers["control"] = None if beside.error else beside.ok
    return HealthSample(deployment.id, SignalKind.HTTP, _status(result), world.clock.now(), result.detail, numbers)


async def canary_sample(
    world: World, spec: ServiceSpec, deployment: Deployment, whom: Asked, control: Asked | None, confirms: bool
) -> HealthSample:
    """A canary task; one that confirms a failure goes to the version before it too, as a control."""
    result = await ask_canary(world, spec, whom)
    numbers: dict[str, object] = {"confirms": confirms, "seconds": round(result.seconds, 4)}
    if confirms and not result.ok and not result.error and control is not None:
        beside = await ask_canary(world, spec, control)
        numbers["control"] = None if beside.error else beside.ok
    return HealthSample(deployment.id, SignalKind.CANARY, _status(result), world.clock.now(), result.detail, numbers)


def no_process(world: World, deployment: Deployment, kind: SignalKind, watched: float) -> HealthSample:
    """What a probe says while no process lives: nobody answers, whoever else may be at its address."""
    numbers = {"watched": round(watched, 3), "confirms": False}
    return HealthSample(deployment.id, kind, SignalStatus.FAIL, world.clock.now(), "its process does not live", numbers)


async def rate_sample(
    world: World, deployment: Deployment, source: Callable[[Deployment], RateSource]
) -> tuple[HealthSample, RateReading | None]:
    """How many of the tasks this deployment served were judged, and how; the reading has them in order."""
    now = world.clock.now()
    try:
        reading = await world.elsewhere(source(deployment).read, serving_of(deployment), now.wall)
    except (SourceError, UsageError) as e:  # UsageError: deploy.yaml names a variable that is not set here
        return HealthSample(deployment.id, SignalKind.RATE, SignalStatus.ERROR, now, str(e)), None
    approved, judged = reading.looks[-1] if reading.looks else (0, 0)
    numbers: Mapping[str, object] = {"approved": approved, "judged": judged, "unjudged": reading.unjudged}
    status = SignalStatus.OK if judged else SignalStatus.INSUFFICIENT
    return HealthSample(deployment.id, SignalKind.RATE, status, now, numbers=numbers), reading


def _status(result: ProbeResult) -> SignalStatus:
    if result.error:
        return SignalStatus.ERROR
    return SignalStatus.OK if result.ok else SignalStatus.FAIL
