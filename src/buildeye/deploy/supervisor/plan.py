"""What follows from the journal alone: which processes shall live, which slot is free, where a rollback leads."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from buildeye.deploy.routes.route import SLOTS
from buildeye.deploy.states import BAD, BEFORE_CUTOVER, WATCHED
from buildeye.model.deployments import Deployment, State

RUNS_LOOKED_AT: Final = 200
"""Runs of a deployment that are looked at, the newest: a version may fall for weeks."""
_SWITCHING: Final = frozenset({State.CUTTING_OVER, State.ANOMALY_DETECTED, State.ROLLING_BACK})
_AT_WORK: Final = WATCHED | _SWITCHING


@dataclass(frozen=True, slots=True)
class Roles:
    """The deployments of a service that count now; each None where there is none.

    `watched` took over and its end is open; `candidate` has no traffic yet; `serving` is what the journal says is in
    service, `warm` the one before it that is kept ready.
    """

    serving: Deployment | None = None
    warm: Deployment | None = None
    watched: Deployment | None = None
    candidate: Deployment | None = None

    def kept(self) -> frozenset[str]:
        """Ids of the deployments whose processes shall live; every other process of the service is to be stopped."""
        alive = (self.serving, self.warm, self.watched, self.candidate)
        return frozenset(each.id for each in alive if each is not None)


def roles(deployments: Sequence[Deployment], in_service: str) -> Roles:
    """Who counts among a service's deployments, newest first, when `in_service` is the id of the one that serves.

    What was in service before is kept warm for as long as the end of the one that took over is open.
    """
    known = {each.id: each for each in deployments}
    watched = next((each for each in deployments if each.state in _AT_WORK), None)
    candidate = next((each for each in deployments if each.state in BEFORE_CUTOVER), None)
    serving = known.get(in_service)
    warm = known.get(watched.previous) if watched is not None else None
    return Roles(serving, warm, watched, candidate)


def at_work(deployments: Sequence[Deployment]) -> list[Deployment]:
    """Deployments that took over or are about to, and whose end is open; more than one while traffic goes back."""
    return [each for each in deployments if each.state in _AT_WORK]


def in_the_way(deployment: Deployment, deployments: Sequence[Deployment]) -> Deployment | None:
    """Another deployment that is about to switch traffic, forth or back; a candidate waits until it has."""
    return next((each for each in deployments if each.state in _SWITCHING and each.id != deployment.id), None)


def stale(deployments: Sequence[Deployment]) -> list[Deployment]:
    """Candidates that a newer one takes the place of; newest first in, and out."""
    before = [each for each in deployments if each.state in BEFORE_CUTOVER]
    return before[1:]


def overtaken(deployments: Sequence[Deployment], by: Deployment) -> list[Deployment]:
    """Deployments still under watch when another one takes over."""
    return [each for each in deployments if each.state in WATCHED and each.id != by.id]


def free_slot(taken: Iterable[int | None]) -> int | None:
    """The first slot nobody has; None when all are taken."""
    used = set(taken)
    return next((slot for slot in range(SLOTS) if slot not in used), None)


def rollback_target(bad: Deployment, deployments: Sequence[Deployment]) -> Deployment | None:
    """Where a rollback of `bad` leads: the last clean version; else the one that served before, if nothing is held
    against it; None when there is neither.

    A version that was marked bad after it closed clean is no target, whichever of its deployments was clean.
    """
    condemned = condemned_versions(deployments) | {bad.version}
    earlier = [each for each in deployments if each.id != bad.id and each.version not in condemned]
    clean = next((each for each in earlier if each.state is State.MONITORING_WINDOW_CLEAN), None)
    if clean is not None:
        return clean
    previous = next((each for each in earlier if each.id == bad.previous), None)
    return previous if previous is not None and previous.cutover is not None else None


def condemned_versions(deployments: Sequence[Deployment]) -> frozenset[str]:
    """Versions whose latest end was bad: a later clean end, forced by a person, makes good again."""
    latest: dict[str, State] = {}
    for each in deployments:
        judged = each.state in BAD or each.state is State.MONITORING_WINDOW_CLEAN
        if judged and each.version not in latest:
            latest[each.version] = each.state
    return frozenset(version for version, state in latest.items() if state in BAD)


def asked_of(arguments: Mapping[str, object], key: str) -> str:
    """A text among a request's arguments; empty where it is not given."""
    value = arguments.get(key)
    return value if isinstance(value, str) else ""
