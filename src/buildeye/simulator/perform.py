"""Plays one attempt of a run: when each job and step starts and ends, on which runner, and how.

All chance comes from the generator given; all that changes is the roster of runners. A job ends in one of four ways:
as planned, cut off (cancelled, or still going now), skipped because an earlier job failed, or never started.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from buildeye.model import Cause, Job, Step
from buildeye.simulator.events import Ending, Mishap
from buildeye.simulator.facts import Plot, Truth
from buildeye.simulator.failures import FAILURES, Failure
from buildeye.simulator.roster import Roster
from buildeye.simulator.shapes import CLOSING, POOLS, JobShape, WorkflowShape

NONE = Truth(Cause.NONE, "none")
SUPERSEDED = Truth(Cause.CANCELLED, "superseded")


@dataclass(frozen=True, slots=True)
class Played:
    """One job as it went; the job still has id 0 and belongs to no run."""

    job: Job
    plot: Plot


@dataclass(frozen=True, slots=True)
class Cut:
    """The moment after which nothing more happens, and whether that is a cancellation or the present."""

    at: datetime
    cancels: bool


def play(
    shape: WorkflowShape, ending: Ending, start: datetime, now: datetime, rng: Random, roster: Roster
) -> tuple[Played, ...]:
    """The jobs of one attempt that starts at `start`, on runners that `roster` has free."""
    if ending.kind == "skipped":
        return tuple(without_run(job, start, "completed", "skipped") for job in shape.jobs)
    if ending.kind == "queued":
        return tuple(without_run(job, start, "queued", None) for job in shape.jobs if job.stage == 0)
    cut = Cut(min(start + ending.after, now), True) if ending.kind == "cancelled" else Cut(now, False)
    mishaps = {mishap.job: mishap for mishap in ending.mishaps}
    return tuple(_by_stage(shape, mishaps, start, cut, rng, roster))


def _by_stage(
    shape: WorkflowShape, mishaps: Mapping[str, Mishap], start: datetime, cut: Cut, rng: Random, roster: Roster
) -> Iterator[Played]:
    at, healthy = start, True
    for stage in sorted({job.stage for job in shape.jobs}):
        ends = []
        for job in (job for job in shape.jobs if job.stage == stage):
            if not healthy:
                if cut.cancels or at < cut.at:
                    yield without_run(job, min(at, cut.at), "completed", "skipped")
                continue
            planned = _planned(job, mishaps.get(job.name), at + timedelta(seconds=1), rng, roster)
            ends.append(planned)
            if cut.cancels or at < cut.at:
                yield cut_off(planned, cut)
        done = [played.job.completed_at for played in ends if played.job.completed_at]
        at = max([at, *done]) + timedelta(seconds=rng.randint(1, 4))
        healthy = healthy and all(played.job.conclusion == "success" for played in ends)


def without_run(shape: JobShape, at: datetime, status: str, conclusion: str | None) -> Played:
    """A job that no runner took: skipped, or still waiting."""
    done = at if status == "completed" else None
    job = Job(0, 0, shape.name, status, conclusion, created_at=at, started_at=at, completed_at=done)
    return Played(replace(job, labels=POOLS[shape.pool].labels if conclusion != "skipped" else ()), Plot("", NONE))


def _planned(shape: JobShape, mishap: Mishap | None, created: datetime, rng: Random, roster: Roster) -> Played:
    """The job as it goes when nobody interferes."""
    pool = POOLS[shape.pool]
    start = created + timedelta(seconds=rng.randint(*pool.queue))
    length = timedelta(minutes=rng.uniform(*shape.minutes))
    failure = FAILURES[mishap.failure] if mishap else None
    steps = steps_of(shape, failure, start, length, rng)
    end = start + timedelta(seconds=rng.randint(40, 70)) if failure and not steps else last_of(steps, start)
    if failure and failure.dies:
        end += timedelta(minutes=10) + (length * rng.uniform(0.1, 0.3) if steps else timedelta())
    runner = roster.pick(pool, (start, end), rng, mishap.runner if mishap else None)
    truth = (mishap.truth if mishap and mishap.truth else failure.truth) if failure else NONE
    return Played(
        Job(
            id=0,
            run_id=0,
            name=shape.name,
            status="completed",
            conclusion=failure.conclusion if failure else "success",
            created_at=created,
            started_at=start,
            completed_at=end,
            runner_id=1000 + list(POOLS).index(shape.pool) * 100 + pool.runners.index(runner),
            runner_name=runner,
            runner_group_name=pool.group,
            labels=pool.labels,
            steps=steps,
        ),
        Plot(mishap.failure if mishap else "", truth),
    )


def last_of(steps: tuple[Step, ...], otherwise: datetime) -> datetime:
    """The last moment that steps tell of."""
    times = [step.completed_at or step.started_at for step in steps]
    return max([time for time in times if time], default=otherwise)


def steps_of(
    shape: JobShape, failure: Failure | None, start: datetime, length: timedelta, rng: Random
) -> tuple[Step, ...]:
    """The steps in order; after the failing one only the closing steps run, none of them on a runner that died."""
    if failure and not failure.at:
        return ()
    total = sum(step.weight for step in shape.steps)
    steps: list[Step] = []
    at, failed = start, False
    for number, step in enumerate(shape.steps, 1):
        span = length * (step.weight / total) * rng.uniform(0.8, 1.1)
        fails_here = failure is not None and not failed and step.kind == failure.at
        if failed and failure and failure.dies:
            steps.append(Step(step.name, number, "pending"))
            continue
        if failed and step.kind not in CLOSING:
            steps.append(Step(step.name, number, "completed", "skipped", at, at))
            continue
        if failure and fails_here and failure.dies:
            steps.append(Step(step.name, number, "in_progress", None, _second(at), None))
            failed = True
            continue
        span *= rng.uniform(0.4, 0.8) if fails_here and failure and failure.conclusion == "failure" else 1
        end = _second(at + span)
        conclusion = failure.conclusion if failure and fails_here else "success"
        steps.append(Step(step.name, number, "completed", conclusion, _second(at), end))
        failed, at = failed or fails_here, end
    if failure and not failed:
        raise KeyError(f"job {shape.name!r} has no step of kind {failure.at!r}")
    return tuple(steps)


def _second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


def cut_off(played: Played, cut: Cut, why: Truth = SUPERSEDED) -> Played:
    """The same job when everything stops at the cut; `why` is the truth when that is a cancellation."""
    job = played.job
    if job.completed_at and job.completed_at <= cut.at:
        return played
    truth = why if cut.cancels else NONE
    if job.started_at and job.started_at >= cut.at:
        status, conclusion = ("completed", "cancelled") if cut.cancels else ("queued", None)
        bare = replace(
            job,
            status=status,
            conclusion=conclusion,
            steps=(),
            runner_id=None,
            runner_name=None,
            runner_group_name=None,
        )
        created = min(job.created_at or cut.at, cut.at)
        done = cut.at if cut.cancels else None
        at = cut.at if cut.cancels else created
        return Played(
            replace(bare, created_at=created, started_at=at, completed_at=done),
            replace(played.plot, failure="", truth=truth),
        )
    steps = tuple(_cut_step(step, cut) for step in job.steps)
    if cut.cancels:
        job = replace(job, conclusion="cancelled", completed_at=cut.at, steps=steps)
        return Played(job, replace(played.plot, failure=truth.category, truth=truth))
    return Played(
        replace(job, status="in_progress", conclusion=None, completed_at=None, steps=steps),
        replace(played.plot, failure="", truth=truth),
    )


def _cut_step(step: Step, cut: Cut) -> Step:
    if step.completed_at and step.completed_at <= cut.at:
        return step
    if step.started_at and (step.started_at < cut.at or (cut.cancels and step.started_at == cut.at)):
        if cut.cancels:
            return replace(step, conclusion="cancelled", completed_at=cut.at)
        return replace(step, status="in_progress", conclusion=None, completed_at=None)
    if cut.cancels:
        return replace(step, conclusion="skipped", started_at=cut.at, completed_at=cut.at)
    return replace(step, status="queued", conclusion=None, started_at=None, completed_at=None)
