"""Watching a version that serves: sample what is due, store it, judge, act; until its window closes or it is gone."""

import math
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Final

from buildeye.deploy.judges import RateReading, next_probe
from buildeye.deploy.states import Happening
from buildeye.deploy.supervisor.classicwatch import ClassicWatch
from buildeye.deploy.supervisor.decision import Decision
from buildeye.deploy.supervisor.evidence import decide, probes_of
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.held import SIGNAL, Held, held_by
from buildeye.deploy.supervisor.limits import Limits, kept_samples, limits_of
from buildeye.deploy.supervisor.returning import tell_beside
from buildeye.deploy.supervisor.sampling import canary_sample, http_sample, no_process, process_sample, rate_sample
from buildeye.deploy.supervisor.seen import Seen
from buildeye.model.deployments import Deployment, HealthSample, Moment, SignalKind, SignalStatus, State

_UNEVEN: Final = 0.05
"""Share by which probes come earlier, each another part of it: no rhythm of a service can hide between them."""
_GOLDEN: Final = 0.6180339887498949
_GAP_COUNTED: Final = 3.0
"""Intervals that may lie between two probes for the time between them to count as watched."""


class Watch:
    """The watch over one deployment."""

    def __init__(self, service: Ground, deployment: Deployment) -> None:
        self._service = service
        self._spec = service.spec_of(deployment)
        self._limits: Limits = limits_of(self._spec)
        self._kept = kept_samples(self._spec)
        self._samples: dict[SignalKind, deque[HealthSample]] = {kind: deque(maxlen=self._kept) for kind in SignalKind}
        self._canaries_passed = 0
        self._reading: RateReading | None = None
        self._due: dict[SignalKind, float] = {}
        self._watched = 0.0
        self._answered: set[str] = set()
        self._held: dict[SignalKind, Held] = {}

    async def restore(self, deployment: Deployment) -> None:
        """Know again what an earlier supervisor sampled, and what people were asked already."""
        world = self._service.world
        stored = await world.ask(world.journal.last_samples, [deployment.id], self._kept)
        for sample in stored.get(deployment.id, []):
            self._samples[sample.signal].append(sample)
        http = self._samples[SignalKind.HTTP]
        if http:
            self._watched = _number(http[-1].numbers, "watched")
        for event in await world.ask(world.journal.events, deployment.id):
            key = event.numbers.get("key")
            if isinstance(key, str) and event.event == Happening.ASK:
                self._answered.add(key)
            if event.event == Happening.HOLD and (breach := held_by(event)) is not None:
                self._held[breach[0]] = breach[1]
        now = world.clock.now()
        for kind in self._kinds():
            last = self._samples[kind][-1] if self._samples[kind] else None
            self._due[kind] = self._next(kind, last.at if last else None, now)

    async def round(self, deployment: Deployment) -> Decision:
        """Take the samples that are due, in the order of the signals, each stored before it is judged; then decide.

        A pass stops at the first anomaly: what comes after it is not sampled any more.
        """
        decision = self._decide(deployment)
        if decision.happening is Happening.ANOMALY:
            return decision
        for kind in self._kinds():
            if self._due[kind] > self._service.world.clock.ticks():
                continue
            await self._take(deployment, kind)
            decision = self._decide(deployment)
            if decision.happening is Happening.ANOMALY:
                break
        return decision

    def seconds_to_next(self) -> float:
        """Seconds until a sample is due; at least 0."""
        return max(0.0, min(self._due.values(), default=math.inf) - self._service.world.clock.ticks())

    def remember(self, key: str) -> None:
        """Somebody was asked about this evidence; nobody is asked again."""
        self._answered.add(key)

    def _kinds(self) -> list[SignalKind]:
        given = {SignalKind.CANARY: self._limits.canary is not None, SignalKind.RATE: self._limits.rate is not None}
        return [kind for kind in SignalKind if given.get(kind, True)]

    def _seen(self, deployment: Deployment) -> Seen:
        runs = self._service.runs_of(deployment.id)
        alive = deployment.id in self._service.versions.live
        return Seen(self._samples, runs, alive, self._reading, self._watched)

    def _decide(self, deployment: Deployment) -> Decision:
        now = self._service.world.clock.now()
        return decide(deployment, self._seen(deployment), self._limits, now, frozenset(self._answered), self._held)

    async def _take(self, deployment: Deployment, kind: SignalKind) -> None:
        service, world = self._service, self._service.world
        live = service.versions.live.get(deployment.id)
        now = world.clock.now()
        if kind is SignalKind.PROCESS:
            pid = live.run.pid if live is not None else 0
            exits = sum(1 for run in service.runs_of(deployment.id) if run.ended is not None and not run.expected)
            sample = process_sample(world, deployment, live is not None, pid, exits)
        elif kind is SignalKind.RATE:
            sample, reading = await rate_sample(world, deployment, service.rate_source)
            self._reading = reading or self._reading
        else:
            sample = await self._ask(deployment, kind)
        stored = await service.store(sample)
        self._samples[kind].append(stored)
        self._due[kind] = self._next(kind, now, now)  # from its begin, so that slow answers do not stretch the interval

    async def _ask(self, deployment: Deployment, kind: SignalKind) -> HealthSample:
        """A probe or a canary task of the version, with the one before it as a control."""
        service, world = self._service, self._service.world
        whom, control = service.asked(deployment.id), service.asked(deployment.previous)
        if whom is None:
            return no_process(world, deployment, kind, self._watched)
        if kind is SignalKind.CANARY:
            last = self._samples[kind][-1] if self._samples[kind] else None
            confirms = last is not None and last.status is SignalStatus.FAIL and not last.numbers.get("confirms")
            return await canary_sample(world, self._spec, deployment, whom, control, confirms)
        http = self._samples[SignalKind.HTTP]
        if http:
            gap = world.clock.now().since(http[-1].at)
            counts = gap <= _GAP_COUNTED * self._spec.health.interval_seconds
            self._watched += gap if counts else 0.0
        return await http_sample(world, self._spec, deployment, whom, control, self._watched)

    def _next(self, kind: SignalKind, last: Moment | None, now: Moment) -> float:
        """Ticks at which a signal is due next."""
        if last is None or last.boot != now.boot:
            return now.ticks
        samples = self._samples[kind]
        match kind:
            case SignalKind.HTTP:
                wait = next_probe(probes_of(samples), self._spec.health.interval_seconds, self._limits.http)
                wait *= 1.0 - _UNEVEN * (samples[-1].seq * _GOLDEN % 1.0)
            case SignalKind.PROCESS:
                wait = self._spec.health.interval_seconds
            case SignalKind.CANARY:
                failed = samples[-1].status is not SignalStatus.OK and not samples[-1].numbers.get("confirms")
                wait = self._spec.canary.confirm_seconds if failed else self._spec.canary.interval_seconds
            case SignalKind.RATE:
                wait = self._spec.rate.interval_seconds
        return last.ticks + wait


async def watch(service: Ground, deployment: Deployment) -> Deployment | None:
    """Watch until the deployment leaves its watched states; gives what it is then, None when another moved it."""
    watching = (ClassicWatch if deployment.profile == "classic" else Watch)(service, deployment)
    await watching.restore(deployment)
    while deployment.state in (State.MONITORING, State.NEEDS_ATTENTION):
        decision = await watching.round(deployment)
        if decision.happening is not None:
            moved = await _act(service, deployment, decision, watching)
            if moved is None:
                return None
            deployment = moved
            continue
        if await service.changed.wait_for_change(service.world.clock.real(watching.seconds_to_next())):
            again = await service.read_with_runs(deployment.id)
            if again is None:
                return None
            deployment = again
    return deployment


async def _act(
    service: Ground, deployment: Deployment, decision: Decision, watching: Watch | ClassicWatch
) -> Deployment | None:
    assert decision.happening is not None
    numbers = dict(decision.numbers) | {"key": decision.key}
    if decision.signal is not None:
        numbers[SIGNAL] = decision.signal.value
    watching.remember(decision.key if decision.happening is Happening.ASK else "")
    move = partial(service.move, deployment, decision.happening, decision.reason, numbers=numbers)
    if decision.happening is Happening.ANOMALY:
        return await move(rollback_reason=_as_json(decision))
    if decision.happening in (Happening.CLEAN, Happening.DEADLINE):
        return await move(closed=service.world.clock.now())
    moved = await move()
    if moved is not None and decision.happening is Happening.ASK:
        tell_beside(service, moved)
    return moved


def _as_json(decision: Decision) -> str:
    """The signal as JSON, with the keys the seed's `rollback_reason` has."""
    import json

    signal = decision.signal.value if decision.signal is not None else ""
    return json.dumps({"signal_type": signal, "status": "fail", "detail": decision.reason}, ensure_ascii=False)


def _number(numbers: Mapping[str, object], key: str) -> float:
    value = numbers.get(key)
    return float(value) if isinstance(value, int | float) else 0.0
