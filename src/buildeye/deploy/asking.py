"""What a client does: put a deployment into the journal, ask its supervisor for something, and read how it goes.

Clients hold no lease and act on nothing: whoever supervises the service does.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import Journal, this_host
from buildeye.deploy.spec import ServiceSpec
from buildeye.deploy.states import BEFORE_CUTOVER, TERMINAL, WATCHED
from buildeye.model import BuildEyeError, OutsideError, UsageError
from buildeye.model.deployments import DeployEvent, Deployment, State
from buildeye.model.errors import EXIT_BAD
from buildeye.reports.deploywords import why_rolled_back

_LOOK_SECONDS: Final = 0.1
_KNOWN: Final = 60
_FOLLOWED: Final = 5


class Refused(BuildEyeError):
    """What was asked for is not done, for a reason that lies in the deployment (exit 1)."""

    exit_code = EXIT_BAD


def start(
    journal: Journal,
    spec: ServiceSpec,
    spec_path: str,
    version: str,
    clock: Clock,
    by: str,
    *,
    commit: str = "",
    forced: bool = False,
    kind: str = "release",
) -> Deployment:
    """Ask for a deployment of a version. Refused: the version was marked bad, and `forced` is not set."""
    bad = journal.marked_bad(spec.service, version)
    if bad is not None and not forced:
        why = why_rolled_back(bad) or bad.note
        raise Refused(
            f"{spec.service} {version} was marked bad: {bad.state.replace('_', ' ')} on "
            f"{bad.created.wall:%Y-%m-%d %H:%M} UTC{f' ({why})' if why else ''}; "
            f"deploy another version, or this one again with --force"
        )
    _same_address(journal, spec)
    now = clock.now()
    deployment = Deployment(
        id=f"{now.wall:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}",
        service=spec.service,
        version=version,
        state=State.CREATED,
        epoch=0,
        created=now,
        commit=commit,
        repository=spec.repository,
        profile=spec.profile,
        kind=kind,
        spec=spec.model_dump(mode="json"),
        forced=forced,
        by=by,
    )
    journal.put_service(spec.service, deployment.spec, spec_path, this_host())
    journal.create(deployment)
    journal.ask(spec.service, deployment.id, "start", {}, by, now)
    return deployment


def _same_address(journal: Journal, spec: ServiceSpec) -> None:
    """UsageError: the service serves at another address than its `deploy.yaml` names now; it cannot move meanwhile."""
    row = journal.service(spec.service)
    served = row.spec.get("listen") if row is not None and row.in_service else None
    if not isinstance(served, Mapping):
        return
    asked = spec.model_dump(mode="json")["listen"]
    changed = [key for key in ("host", "port", "socket") if served.get(key) != asked.get(key)]
    if changed:
        key = changed[0]
        raise UsageError(
            f"listen.{key} of {spec.service} is {asked.get(key)} and it serves with {served.get(key)}: put it back, or "
            f"end the service first with `build-eye deploy stop {spec.service}`"
        )


def current(journal: Journal, service: str) -> Deployment:
    """The deployment that a command without an id is about: on its way or under watch, else the last one.

    UsageError: the service is not known.
    """
    known = journal.deployments(service, _KNOWN)
    if not known:
        raise UsageError(
            f"there is no deployment of {service}; begin with `build-eye deploy start {service} --version V`, "
            "or see what there is with `build-eye deploy status`"
        )
    return next((each for each in known if each.state not in TERMINAL), known[0])


def ask(
    journal: Journal,
    deployment: Deployment,
    kind: str,
    arguments: Mapping[str, object],
    clock: Clock,
    by: str,
    seconds: float = 30.0,
) -> str:
    """Ask the supervisor for something and wait for its answer.

    Refused: it says that this cannot be done. OutsideError: nobody answered within so many true seconds.
    """
    if deployment.state in TERMINAL and kind != "stop":
        state = deployment.state.replace("_", " ")
        raise Refused(f"{deployment.service} {deployment.version} is {state}; that cannot be done any more")
    seq = journal.ask(deployment.service, deployment.id, kind, arguments, by, clock.now())
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        request = journal.request(seq)
        if request is not None and request.ok is not None:
            if not request.ok:
                raise Refused(f"{deployment.service}: {request.answer}")
            return request.answer
        time.sleep(_LOOK_SECONDS)
    raise OutsideError(
        f"nobody answers for {deployment.service}, so {kind} waits in the journal; start its supervisor with "
        f"`build-eye deploy watch {deployment.service}`"
    )


def follow(
    journal: Journal, deployment_id: str, until: Callable[[Deployment], bool], after: int = 0
) -> Iterator[DeployEvent | None]:
    """The events of a deployment numbered above `after` as they come, until its state is what is waited for.

    Gives None at each look that found nothing new.
    """
    seen = after
    while True:
        deployment = journal.deployment(deployment_id)
        fresh = [event for event in journal.events(deployment_id) if event.seq > seen]
        for event in fresh:
            seen = event.seq
            yield event
        if deployment is None or until(deployment):
            return
        if not fresh:
            yield None
        time.sleep(_LOOK_SECONDS)


def follow_service(journal: Journal, service: str) -> Iterator[tuple[DeployEvent, Deployment] | None]:
    """The events of a service's deployments as they come: all of the one that counts, then whatever comes.

    Gives None after each look.
    """
    known = journal.deployments(service, _KNOWN)
    counts = next((each for each in known if each.state not in TERMINAL), known[0] if known else None)
    seen = {each.id: _last_seq(journal, each.id) for each in known if counts is None or each.id != counts.id}
    while True:
        for deployment in reversed(journal.deployments(service, _FOLLOWED)):
            for event in journal.events(deployment.id):
                if event.seq > seen.get(deployment.id, 0):
                    seen[deployment.id] = event.seq
                    yield event, deployment
        yield None
        time.sleep(_LOOK_SECONDS)


def _last_seq(journal: Journal, deployment_id: str) -> int:
    return max((event.seq for event in journal.events(deployment_id)), default=0)


def in_service_or_over(deployment: Deployment) -> bool:
    """Whether a start has its outcome: the version serves, or never will."""
    return deployment.state in TERMINAL or deployment.state in WATCHED


def serves(deployment: Deployment) -> bool:
    """Whether the version came into service and was not taken back."""
    served = WATCHED | {State.MONITORING_WINDOW_CLEAN, State.CLOSED_INSUFFICIENT_DATA}
    return deployment.state in served and deployment.state not in BEFORE_CUTOVER
