"""Plays one attempt of a run under the hazards of its moment: queues, runners, steps, and what strikes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from buildeye.model import Cause, Job
from buildeye.simulator.facts import Plot, Truth
from buildeye.simulator.histories.hazards import Blow, Hazard, Trial
from buildeye.simulator.histories.runners import Runners
from buildeye.simulator.histories.surroundings import Pin, Surroundings
from buildeye.simulator.more_failures import failure_of
from buildeye.simulator.perform import NONE, Cut, Played, cut_off, last_of, steps_of, without_run
from buildeye.simulator.shapes import POOLS, JobShape, WorkflowShape

FAIL_FAST = Truth(Cause.CANCELLED, "fail-fast", story="cancelled")
_MATRICES = ("native (", "singlecard-full (")
"""Jobs whose names have one of these are legs of one matrix that stops at the first failure."""
_POOLS = list(POOLS)


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt to play: everything about it that its jobs depend on."""

    workflow: str
    shape: WorkflowShape
    event: str
    base: datetime
    start: datetime
    sha: str
    base_sha: str
    pull: str
    number: int
    push: int
    run: int
    attempt: int
    pin: Pin | None = None


@dataclass(slots=True)
class Stage:
    """Where runs are played: the hazards (`own`: of one pull request, by its key), the runners, what surrounds them."""

    hazards: list[Hazard]
    own: dict[str, list[Hazard]]
    runners: Runners
    surroundings: Surroundings
    magnets: dict[str, list[tuple[str, datetime, datetime]]]
    """By pool: runners that fail fast and are free early, so that they draw jobs, and when."""

    def play(self, call: Call, rng: Random) -> list[Played]:
        """The jobs of one attempt, as they end when nobody interferes."""
        return list(self._by_stage(call, rng))

    def _by_stage(self, call: Call, rng: Random) -> Iterator[Played]:
        at, healthy = call.start, True
        for stage in sorted({job.stage for job in call.shape.jobs}):
            shapes = [job for job in call.shape.jobs if job.stage == stage]
            if not healthy:
                yield from (without_run(job, at, "completed", "skipped") for job in shapes)
                continue
            done = _fail_fast([self._job(job, call, at, rng) for job in shapes])
            yield from done
            ends = [played.job.completed_at for played in done if played.job.completed_at]
            at = max([at, *ends]) + timedelta(seconds=rng.randint(1, 4))
            healthy = all(played.job.conclusion == "success" for played in done)

    def _job(self, shape: JobShape, call: Call, at: datetime, rng: Random) -> Played:
        created = at + timedelta(seconds=1)
        pool = POOLS[shape.pool]
        usual = timedelta(seconds=rng.randint(*pool.queue))
        start, runner = self._runner(shape, created + usual, rng)
        waited = (start - created - usual).total_seconds()
        trial = Trial(
            call.workflow, shape, call.event, call.base, start, runner, call.sha, call.pull, call.push, call.run,
            call.attempt, waited,
        )  # fmt: skip
        struck = self._struck(trial)
        leg = "main" if "(main" in shape.name else ""
        around = self.surroundings.tell(shape.pool, leg, start, call.base, call.pin)
        if call.event == "pull_request":
            around = around | {"base": call.base_sha, "pr": str(call.number)}
        if not any(step.kind == "pip" for step in shape.steps):
            around = around | {"build_versions": around["versions"]}
        return _played(shape, struck, (created, start), runner, around, rng)

    def _runner(self, shape: JobShape, start: datetime, rng: Random) -> tuple[datetime, str]:
        """When a runner is free, and which; a sick one that fails fast is free more often than others."""
        length = timedelta(minutes=shape.minutes[1] * 1.45 + 13)
        for runner, since, until in self.magnets.get(shape.pool, ()):
            if since <= start < until and rng.random() < 0.4 and self.runners.wait(runner, start, length) == start:
                self.runners.take(runner, (start, start + length))
                return start, runner
        return self.runners.seize(POOLS[shape.pool], start, length, rng)

    def _struck(self, trial: Trial) -> tuple[int, str, Blow, Truth] | None:
        """What fails first in the job; of two things in one step, the one that is older."""
        hazards = (*self.hazards, *self.own.get(trial.pull, ()))
        found = [hit for hazard in hazards if (hit := hazard.strikes(trial))]
        return min(found, key=lambda hit: hit[0]) if found else None


def _played(
    shape: JobShape,
    struck: tuple[int, str, Blow, Truth] | None,
    when: tuple[datetime, datetime],
    runner: str,
    around: dict[str, str],
    rng: Random,
) -> Played:
    created, start = when
    pool = POOLS[shape.pool]
    length = timedelta(minutes=rng.uniform(*shape.minutes))
    failure = failure_of(struck[1]) if struck else None
    if struck and struck[1] == "crowd-never":
        end = created + timedelta(hours=24)
        job = Job(0, 0, shape.name, "completed", "cancelled", created_at=created, started_at=end, completed_at=end)
        return Played(replace(job, labels=pool.labels), Plot("crowd-never", struck[3]))
    steps = steps_of(shape, failure, start, length, rng)
    if failure and failure.at == "setup":
        steps = steps[:1]
    end = start + timedelta(seconds=rng.randint(8, 70)) if failure and not steps else last_of(steps, start)
    if failure and failure.dies:
        end += timedelta(minutes=10) + (length * rng.uniform(0.1, 0.3) if steps else timedelta())
    job = Job(
        id=0,
        run_id=0,
        name=shape.name,
        status="completed",
        conclusion=failure.conclusion if failure else "success",
        created_at=created,
        started_at=start,
        completed_at=end,
        runner_id=1000 + _POOLS.index(shape.pool) * 100 + pool.runners.index(runner),
        runner_name=runner,
        runner_group_name=pool.group,
        labels=pool.labels,
        steps=steps,
    )
    if struck is None:
        return Played(job, Plot("", NONE, around=around))
    return Played(job, Plot(struck[1], struck[3], struck[2].words, around))


def _fail_fast(played: list[Played]) -> list[Played]:
    """The legs of a matrix that stops at its first failure are cut off a few seconds after it."""
    for mark in _MATRICES:
        legs = [one for one in played if mark in one.job.name]
        failed = [one.job.completed_at for one in legs if one.job.conclusion == "failure" and one.job.completed_at]
        if failed:
            cut = Cut(min(failed) + timedelta(seconds=4), True)
            played = [cut_off(one, cut, FAIL_FAST) if one in legs else one for one in played]
    return played


def cut_all(played: Sequence[Played], cut: Cut, why: Truth) -> list[Played]:
    """The jobs of an attempt when everything stops at the cut."""
    found = []
    for one in played:
        job = one.job
        if job.conclusion == "skipped" and job.completed_at and job.completed_at > cut.at:
            if cut.cancels:
                at = cut.at
                found.append(replace(one, job=replace(job, created_at=at, started_at=at, completed_at=at)))
        elif cut.cancels or (job.created_at and job.created_at < cut.at):
            found.append(cut_off(one, cut, why))
    return found
