"""Watching by the profile `classic`: a pass each five minutes, the seed's limits and the seed's decisions.

Kept out of it is only what this supervisor cannot do: a late pass after the end of a deployment moves nothing.
"""

import sqlite3
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Final
from urllib.parse import unquote

from buildeye.deploy.classic import Approvals, Limits, count_approvals, rate_signal
from buildeye.deploy.classic.approvals import tasks_since
from buildeye.deploy.classic.decisions import (
    CANARY_INTERVAL,
    RATE_DEVIATION,
    SAMPLE_INTERVAL,
    is_anomaly,
    no_baseline_signal,
    status_after,
)
from buildeye.deploy.states import Happening
from buildeye.deploy.supervisor.decision import NOTHING, Decision
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.sampling import canary_sample, http_sample, process_sample
from buildeye.model import OutsideError
from buildeye.model.deployments import Deployment, HealthSample, SignalKind, SignalStatus, State

_KEPT: Final = 12
_PREFIX: Final = "sqlite:///"
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class _Counted:
    """What the application's tables say: approvals since and before the cutover, and tasks created since."""

    since: Approvals | None
    before: Approvals | None
    tasks: int


class ClassicWatch:
    """The watch over one deployment, as the seed's monitor keeps it."""

    def __init__(self, service: Ground, deployment: Deployment) -> None:
        self._service = service
        self._spec = service.spec_of(deployment)
        self._statuses: dict[SignalKind, deque[str]] = {kind: deque(maxlen=_KEPT) for kind in SignalKind}
        self._canary_due = self._due = 0.0
        process, health = self._spec.process, self._spec.health
        self._limits = Limits(
            crash_samples=max(1, int(process.window_seconds) // SAMPLE_INTERVAL), http_failures=health.failures
        )

    async def restore(self, deployment: Deployment) -> None:
        """Know again what was sampled before."""
        world = self._service.world
        stored = await world.ask(world.journal.last_samples, [deployment.id], _KEPT)
        now = world.clock.now()
        self._due = self._canary_due = now.ticks
        for sample in stored.get(deployment.id, []):
            self._statuses[sample.signal].appendleft(sample.status.value)
            if sample.at.boot == now.boot and sample.signal is SignalKind.CANARY:
                self._canary_due = sample.at.ticks + CANARY_INTERVAL
            if sample.at.boot == now.boot and sample.signal is SignalKind.PROCESS:
                self._due = sample.at.ticks + SAMPLE_INTERVAL

    async def round(self, deployment: Deployment) -> Decision:
        """One pass, when it is time for one: sample, store, judge, until the first anomaly."""
        clock = self._service.world.clock
        if clock.ticks() < self._due:
            return NOTHING
        self._due = clock.ticks() + SAMPLE_INTERVAL
        for kind in (SignalKind.PROCESS, SignalKind.HTTP, SignalKind.CANARY):
            if kind is SignalKind.CANARY and not self._runs_canary():
                continue
            sample = await self._service.store(await self._sample(deployment, kind))
            if self._is_anomaly(sample):
                return _anomaly(sample)
        counted = await self._service.world.elsewhere(self._count, deployment)
        sample = await self._service.store(self._rate(deployment, counted))
        if self._is_anomaly(sample):
            return _anomaly(sample)
        since = clock.now().since(deployment.cutover) / _HOUR if deployment.cutover is not None else 0.0
        if status_after(since, counted.tasks, self._limits) is State.MONITORING_WINDOW_CLEAN and not deployment.paused:
            return Decision(Happening.CLEAN, None, f"{since:.1f} h passed, {counted.tasks} tasks were created", "clean")
        return NOTHING

    def seconds_to_next(self) -> float:
        """Seconds until the next pass."""
        return max(0.0, self._due - self._service.world.clock.ticks())

    def remember(self, key: str) -> None:
        """The seed asks nobody anything."""
        del key

    def _runs_canary(self) -> bool:
        clock = self._service.world.clock
        if not self._spec.canary.given or clock.ticks() < self._canary_due:
            return False
        self._canary_due = clock.ticks() + CANARY_INTERVAL
        return True

    async def _sample(self, deployment: Deployment, kind: SignalKind) -> HealthSample:
        service, world = self._service, self._service.world
        live, whom = service.versions.live.get(deployment.id), service.asked(deployment.id)
        if kind is SignalKind.PROCESS or whom is None:
            status = process_sample(world, deployment, live is not None, live.run.pid if live is not None else 0, 0)
            return HealthSample(deployment.id, kind, status.status, status.at, numbers=status.numbers)
        if kind is SignalKind.HTTP:
            return _two_valued(await http_sample(world, self._spec, deployment, whom, None, 0.0))
        return _two_valued(await canary_sample(world, self._spec, deployment, whom, None, confirms=False))

    def _is_anomaly(self, sample: HealthSample) -> bool:
        statuses = self._statuses[sample.signal]
        statuses.appendleft(sample.status.value)
        counted: Sequence[str] = list(statuses)[: self._limits.counted(sample.signal)]
        return is_anomaly(sample.signal, counted, self._limits)

    def _rate(self, deployment: Deployment, counted: _Counted) -> HealthSample:
        before = counted.before
        signal = (
            no_baseline_signal()
            if before is None
            else rate_signal(counted.since, Fraction(before.approved, before.tasks), RATE_DEVIATION)
        )
        status = SignalStatus(str(signal["status"]))
        now, detail = self._service.world.clock.now(), str(signal["detail"])
        return HealthSample(deployment.id, SignalKind.RATE, status, now, detail)

    def _count(self, deployment: Deployment) -> _Counted:
        """Ask the application's tables; without any, nothing is known. OutsideError: they cannot be read."""
        rate, cutover = self._service.world.ready(deployment).rate, deployment.cutover
        if not rate.given or cutover is None:
            return _Counted(None, None, 0)
        since = f"{cutover.wall:%Y-%m-%d %H:%M:%S}"
        path = unquote(rate.dsn.removeprefix(_PREFIX))
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as tables:
                begin = tables.execute("SELECT datetime(?, '-24 hours')", (since,)).fetchone()[0]
                return _Counted(
                    count_approvals(tables, rate.project, since),
                    count_approvals(tables, rate.project, begin, since),
                    tasks_since(tables, rate.project, since),
                )
        except sqlite3.Error as e:
            raise OutsideError(f"rate.dsn: the application's tables cannot be read ({e})") from e


def _two_valued(sample: HealthSample) -> HealthSample:
    """The seed knows only ok and fail."""
    status = SignalStatus.OK if sample.status is SignalStatus.OK else SignalStatus.FAIL
    return HealthSample(sample.deployment_id, sample.signal, status, sample.at, sample.detail, sample.numbers)


def _anomaly(sample: HealthSample) -> Decision:
    numbers: Mapping[str, object] = sample.numbers
    return Decision(
        Happening.ANOMALY, sample.signal, sample.detail or sample.signal.value, f"{sample.signal}:{sample.seq}", numbers
    )
