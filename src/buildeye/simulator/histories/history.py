"""Writes a history: plans the stories, lets people work, and makes a past of all that happened."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

from buildeye.model import Job, Run
from buildeye.simulator.chance import chance
from buildeye.simulator.chronicle import FIRST_JOB, outcome
from buildeye.simulator.facts import Past, Plot, Workflow
from buildeye.simulator.histories.acting import Stage, cut_all
from buildeye.simulator.histories.lives import awake, retry
from buildeye.simulator.histories.loads import pool_loads
from buildeye.simulator.histories.pulls import ordinary, twins
from buildeye.simulator.histories.runners import Runners
from buildeye.simulator.histories.stories_code import broken_trunk, concurrent_merge, flaky_test
from buildeye.simulator.histories.stories_machines import (
    contention,
    declare,
    full_disk,
    github_outage,
    noise,
    sick_runner,
)
from buildeye.simulator.histories.stories_outside import image_update, matrix_leg, upstream_release
from buildeye.simulator.histories.surroundings import settle
from buildeye.simulator.histories.vocabulary import FORKERS
from buildeye.simulator.histories.world import ALL_WORKFLOWS, CARETAKER, SUPERSEDED, Record, World
from buildeye.simulator.past import NAME, OWNER
from buildeye.simulator.perform import Cut

LOST_LOGS = 0.02
"""The part of logs that nobody can get any more."""

_Moment = Callable[[World, str, datetime, Random], None]
_Span = Callable[[World, str, datetime, datetime, Random], None]
_MOMENTS: tuple[tuple[str, _Moment, float], ...] = (
    ("trunk", broken_trunk, 12.0),
    ("together", concurrent_merge, 5.0),
    ("twins", twins, 9.0),
)
"""Name, story, and how many of it sixty days have."""
_SPANS: tuple[tuple[str, _Span, float, tuple[float, float]], ...] = (
    ("flaky", flaky_test, 7.0, (240, 900)),
    ("sick", sick_runner, 9.0, (8, 70)),
    ("disk", full_disk, 6.0, (4, 14)),
    ("image", image_update, 7.0, (2, 10)),
    ("release", upstream_release, 7.0, (3, 14)),
    ("leg", matrix_leg, 6.0, (8, 50)),
    ("crowd", contention, 10.0, (5, 12)),
    ("outage", github_outage, 5.0, (1, 3)),
)
"""Name, story, how many of it sixty days have, and how many hours it lasts."""
_TIMERS = {"nightly-a3": 17.5, "nightly-a2": 18.2, "vllm-main": 13.0, "csrc": 21.0}
"""The hour of each daily timer, in UTC."""
_HOURS = (3, 5, 7, 8, 8, 6, 7, 8, 8, 8, 6, 4, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2)
"""How much is pushed in each hour of a day, in UTC."""


def build_history(seed: int, now: datetime, *, days: float = 60, runs: int = 10_000) -> Past:
    """So many days up to `now` (aware, cut to the second), with about so many runs and all kinds of stories.

    Equal arguments give an equal past. How many stories there are goes with `days`; few days may lack a kind.
    """
    end = now.astimezone(UTC).replace(microsecond=0)
    start = end - timedelta(days=days)
    rng = chance(seed, "history")
    stage = Stage([], {}, Runners(), settle(start, end, chance(seed, "surroundings")), {})
    world = World(seed, start, end, f"{OWNER}/{NAME}", stage, rng)
    files = ("pyproject.toml",)
    world.main = world.commit("Pin the simulated toolchain", CARETAKER, start - timedelta(hours=3), "main", (), files)
    noise(world, 0.005, chance(seed, "noise"))
    _plan(world, days)
    _timers(world, days)
    for day in range(int(days) + 1):
        world.at(start + timedelta(days=day), partial(_work, world, day, days, runs))
    world.happen()
    return _past(world, days)


def _plan(world: World, days: float) -> None:
    """When the stories begin: at any hour, also in the night, and over one another."""
    for name, moment, often in _MOMENTS:
        for number in range(_count(often, days, world.rng)):
            rng = chance(world.seed, name, number)
            at = world.start + timedelta(days=rng.uniform(0.02, 0.97) * days)
            moment(world, f"{name}-{number}", awake(at, rng) if rng.random() < 0.7 else at, rng)
    for name, story, often, (low, high) in _SPANS:
        for number in range(_count(often, days, world.rng)):
            rng = chance(world.seed, name, number)
            length = timedelta(hours=rng.uniform(low, high))
            latest = max(days - length / timedelta(days=1), 0.1)
            since = world.start + timedelta(days=rng.uniform(0.0, latest))
            if name != "flaky" and rng.random() < 0.6:
                since = awake(since, rng)
            story(world, f"{name}-{number}", since, since + length, rng)
    for number in range(_count(3.0, days, world.rng)):
        rng = chance(world.seed, "declared", number)
        since = world.start + timedelta(days=rng.uniform(0, days))
        declare(world, since, since + timedelta(hours=rng.uniform(0.5, 4)), rng)


def _count(often: float, days: float, rng: Random) -> int:
    """How many stories of a kind there are: about as many as usual, one at least."""
    return max(1, round(often * days / 60 * rng.uniform(0.75, 1.25)))


def _timers(world: World, days: float) -> None:
    """The nightly, daily and weekly schedules."""

    def fire(workflow: str) -> Callable[[datetime], None]:
        def start(at: datetime) -> None:
            retry(world, world.run(workflow, "schedule", at))

        return start

    midnight = world.start.replace(hour=0, minute=0, second=0)
    for day in range(int(days) + 2):
        for workflow, hour in _TIMERS.items():
            at = midnight + timedelta(days=day, hours=hour)
            if at >= world.start:
                world.at(at, fire(workflow))
        if day % 7 == 2:
            world.at(midnight + timedelta(days=day, hours=22), fire("weekly"))


def _work(world: World, day: int, days: float, runs: int, at: datetime) -> None:
    """The pull requests that open on one day: as many as it takes to come to so many runs in the end."""
    rng = chance(world.seed, "day", day)
    opened = max(len(world.pulls), 1)
    each = world.started / opened if day > 4 else 12.0
    left = max(days - day, 0.5)
    wanted = max(runs - world.started, 0) / left / each
    busy = 0.35 if at.weekday() >= 5 else 1.25
    for number in range(round(wanted * busy * rng.uniform(0.85, 1.15))):
        hour = rng.choices(range(24), _HOURS)[0]
        when = at.replace(hour=0, minute=0, second=0) + timedelta(hours=hour, seconds=rng.randrange(3600))
        if when < at:
            when += timedelta(days=1)
        ordinary(world, f"pr-{day}-{number}", when, rng)


def _past(world: World, days: float) -> Past:
    """All that happened as a past, with jobs numbered in the order of their runs."""
    records = sorted(world.records, key=lambda record: (record.start, record.run.id))
    attempts: list[Run] = []
    jobs: list[Job] = []
    plots: dict[int, Plot] = {}
    present = Cut(world.now, False)
    for record in records:
        if record.end > world.now:
            record.played = cut_all(record.played, present, SUPERSEDED)
        run = _closed(record, world.now)
        attempts.append(run)
        for one in record.played:
            identity = FIRST_JOB + 7 * len(jobs)
            jobs.append(_numbered(one.job, identity, run))
            plots[identity] = one.plot
    rng = chance(world.seed, "lost")
    return Past(
        seed=world.seed,
        now=world.now,
        owner=OWNER,
        name=NAME,
        workflows=tuple(Workflow(one.id, one.name, f".github/workflows/{one.file}") for one in ALL_WORKFLOWS.values()),
        commits=tuple(world.commits),
        pulls=tuple(world.pulls.values()),
        attempts=tuple(attempts),
        jobs=tuple(jobs),
        forks=FORKERS,
        log_days=days + 2,
        plots=plots,
        loads=tuple(pool_loads(jobs, world.elsewhere, world.start, world.now)),
        incidents=tuple(sorted(world.incidents, key=lambda incident: incident.started_at)),
        lost_logs=frozenset(job.id for job in jobs if rng.random() < LOST_LOGS),
    )


def _closed(record: Record, now: datetime) -> Run:
    status, conclusion = outcome(record.played)
    times = [time for one in record.played for time in (one.job.created_at, one.job.started_at, one.job.completed_at)]
    updated = max((time for time in times if time), default=record.start)
    later = timedelta(seconds=2 if status == "completed" else 0)
    return replace(record.run, status=status, conclusion=conclusion, updated_at=min(updated + later, now))


def _numbered(job: Job, identity: int, run: Run) -> Job:
    return replace(
        job,
        id=identity,
        run_id=run.id,
        run_attempt=run.run_attempt,
        workflow_name=run.name,
        head_sha=run.head_sha,
        head_branch=run.head_branch,
        html_url=f"{run.html_url}/job/{identity}",
        repository_full_name=run.repository_full_name,
    )
