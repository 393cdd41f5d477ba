"""Stories of machines and services: a sick runner, full disks, a crowd before one pool, GitHub away."""

from datetime import datetime, timedelta
from random import Random

from buildeye.model import Cause, Determinism, Incident
from buildeye.simulator.facts import Truth
from buildeye.simulator.histories.hazards import Blow, Hazard, flaky, natural
from buildeye.simulator.histories.places import SUITES, Suite, named, with_step
from buildeye.simulator.histories.vocabulary import spot, words_of
from buildeye.simulator.histories.world import World
from buildeye.simulator.more_failures import failure_of
from buildeye.simulator.shapes import POOLS

SICK, DISK, CROWD, OUTAGE, NOISE = "sick-runner", "full-disk", "contention", "github-outage", "noise"
_HOST = Truth(Cause.INFRASTRUCTURE, "runner-host", Determinism.FLAKY, SICK)


_TESTS_A_SUITE = 3
_PLACES = {
    **{name: SUITES[name] for name in ("ut", "single-0", "single-1", "matrix-single", "two-cards", "four-cards")},
    "nightly": Suite("nightly/single_node", named("single-node", "multi-node", "accuracy (", "doc-test")),
}
_ONLY = {
    "hccl-timeout": named("multi-node", "multicard"),
    "hub-limit": named("singlecard"),
    "own-npu": with_step("npu"),
    "sick-card": with_step("npu"),
}


def _blows(keys: tuple[str, ...], story: str, rng: Random) -> tuple[Blow, ...]:
    """Every key in places of its own, with the truth that it looks like; tests of a job are tests of its suite."""
    found = []
    for key in keys:
        failure = failure_of(key)
        truth = flaky(natural(key, story))
        jobs = _ONLY.get(key)
        if failure is None or not (failure.test == "$test" or key == "sick-card"):
            found.append(Blow(key, words_of(spot(rng), rng), truth, jobs))
            continue
        for suite in _PLACES.values():
            there = suite.jobs if jobs is None else suite.jobs & jobs
            found += [Blow(key, words_of(spot(rng), rng, suite.folder), truth, there) for _ in range(_TESTS_A_SUITE)]
    return tuple(found)


def sick_runner(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """One runner fails most of its jobs in several ways, and fails them fast, so that it draws more."""
    pool = rng.choice(("a2", "a2", "a3", "a3", "cpu", "a2x2"))
    runner = rng.choice(POOLS[pool].runners)
    ways: tuple[str, ...] = (
        "sick-docker",
        "sick-crash",
        "sick-odd",
        "sick-clock",
        "sick-readonly",
        "runner-lost",
        "runner-gone",
    )
    if pool.startswith("a"):
        ways = ("sick-smi", "sick-card", "npu-unavailable", *ways)
    keys = tuple(rng.sample(ways, rng.randint(3, 5)))
    world.stage.hazards.append(
        Hazard(
            key, _blows(keys, SICK, rng), _HOST, since, until, clock="start", rate=rng.uniform(0.7, 0.95),
            runner=runner, steady=False,
        )
    )  # fmt: skip
    world.stage.magnets.setdefault(pool, []).append((runner, since, until))


def full_disk(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """The machines of one pool run full, and fail wherever they write."""
    pool = rng.choice(("a2", "a3", "cpu", "arm"))
    keys = ("disk-pip", "disk-docker", "disk-linker", "disk-pytest", "disk-git", "disk-full")
    blows = _blows(tuple(rng.sample(keys, rng.randint(3, 6))), DISK, rng)
    truth = flaky(natural("disk-full", DISK))
    world.stage.hazards.append(
        Hazard(
            key, blows, truth, since, until, clock="start", rate=rng.uniform(0.3, 0.6), pools=frozenset({pool}),
            steady=False,
        )
    )  # fmt: skip


def contention(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """Others keep all but one or two runners of a pool busy; jobs wait long, and some run out of time."""
    pool = world.claim(rng.sample(("a2", "a3", "cpu"), 3), since, until)
    left = {"a2": 10, "a3": 4, "cpu": 4}[pool]
    for runner in rng.sample(POOLS[pool].runners, len(POOLS[pool].runners))[left:]:
        begin = since - timedelta(minutes=rng.uniform(0, 40))
        length = until - begin + timedelta(minutes=rng.uniform(0, 90))
        if world.stage.runners.wait(runner, begin, length) == begin:
            world.stage.runners.take(runner, (begin, begin + length))
            world.elsewhere.setdefault(pool, []).append((begin, begin + length))
    truth = Truth(Cause.INTERFERENCE, "runner-contention", Determinism.FLAKY, CROWD)
    for name, keys, rate, waited in (
        ("late", ("crowd-test", "crowd-server", "crowd-step"), rng.uniform(0.25, 0.4), 300.0),
        ("never", ("crowd-never",), 0.03, 900.0),
    ):
        world.stage.hazards.append(
            Hazard(
                f"{key}/{name}", _blows(keys, CROWD, rng), truth, since, until + timedelta(hours=1), clock="start",
                rate=rate, pools=frozenset({pool}), waited=waited, steady=False,
            )
        )  # fmt: skip


def github_outage(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """GitHub fails for an hour or three, in everything that needs it; mostly it says so some time later."""
    keys = (
        "out-action", "out-git", "out-auth", "out-api", "out-artifact", "out-cache", "out-silent", "git-fetch",
        "github-api", "artifact-upload", "csrc-cache",
    )  # fmt: skip
    blows = _blows(tuple(rng.sample(keys, rng.randint(5, 9))), OUTAGE, rng)
    truth = flaky(natural("out-git", OUTAGE))
    world.stage.hazards.append(
        Hazard(key, blows, truth, since, until, clock="start", rate=rng.uniform(0.3, 0.65), steady=False)
    )
    if rng.random() < 0.66:
        declare(
            world, since + timedelta(minutes=rng.uniform(8, 50)), until + timedelta(minutes=rng.uniform(5, 80)), rng
        )


def declare(world: World, since: datetime, until: datetime, rng: Random) -> None:
    """GitHub declares a disturbance, of this repository or not."""
    parts = rng.choice(
        (("Actions",), ("Actions", "API Requests"), ("Git Operations", "Actions"), ("Actions", "Packages"))
    )
    since, until = since.replace(microsecond=0), until.replace(microsecond=0)
    ended = until <= world.now
    if since > world.now:
        return
    world.incidents.append(
        Incident(
            id=f"{rng.getrandbits(48):012x}",
            name=f"Disruption with {' and '.join(parts)}",
            started_at=since,
            updated_at=min(until, world.now),
            impact=rng.choice(("minor", "major")),
            status="resolved" if ended else "investigating",
            components=parts,
            resolved_at=until if ended else None,
        )
    )


def noise(world: World, rate: float, rng: Random) -> None:
    """What fails for a moment and for one job alone, any day."""
    keys = (
        "pip-index", "docker-pull", "oom-killed", "apt-network", "hub-limit", "npu-unavailable", "runner-lost",
        "hccl-timeout", "csrc-cache", "git-fetch", "github-api", "artifact-upload", "job-timeout",
    )  # fmt: skip
    blows = _blows(keys, NOISE, rng)
    truth = flaky(natural("pip-index", NOISE))
    world.stage.hazards.append(Hazard("noise", blows, truth, world.start, clock="start", rate=rate, steady=False))
