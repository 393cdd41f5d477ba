"""The life of a pull request: pushes, the runs they start, what its author makes of red ones, review, merge."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from buildeye.simulator.chance import chance
from buildeye.simulator.events import PullDraft
from buildeye.simulator.histories.vocabulary import MAINTAINERS
from buildeye.simulator.histories.world import BY_USER, Record, World

_AREAS = {"docs/": "docs", "tools/dashboard/": "dashboard", "Dockerfile": "image", "csrc/": "native"}
_SLOW = timedelta(minutes=25)
"""The slow workflows do not start on main more often than that."""

AUTHOR_BUG = "author-bug"


@dataclass(slots=True)
class Life:
    """One pull request on its way. `ready` is the label that starts the long workflows, `reviews` are still to come."""

    world: World
    draft: PullDraft
    rng: Random
    ready: bool
    reviews: int
    gives_up: bool = False
    good_title: str = ""
    title_until: int = 0
    retries: int = 0
    looks: int = 0
    patience: int = 4

    @property
    def key(self) -> str:
        """The key of its draft."""
        return self.draft.key


def minutes(low: float, high: float, rng: Random) -> timedelta:
    """A time span, spread evenly between so many minutes."""
    return timedelta(minutes=rng.uniform(low, high))


def awake(at: datetime, rng: Random) -> datetime:
    """The same moment, or mostly the next morning when it is in the night (15 to 24 UTC) or on a weekend."""
    if at.hour >= 15 and rng.random() < 0.75:
        at = at.replace(hour=0, minute=rng.randrange(60)) + timedelta(hours=24 + rng.uniform(0.5, 4))
    if at.weekday() >= 5 and rng.random() < 0.6:
        at += timedelta(days=7 - at.weekday())
    return at


def live(life: Life, at: datetime) -> None:
    """A pull request opens at a time; the rest of its life follows."""
    life.world.at(at, lambda when: _push(life, when))


def _push(life: Life, at: datetime) -> None:
    world, rng = life.world, life.rng
    if life.key in world.pulls and not world.is_open(life.key):
        return
    if life.good_title and world.pushes.get(life.key, -1) + 1 >= life.title_until:
        life.draft = replace(life.draft, title=life.good_title)
    world.push(life.draft, at)
    start_runs(world, life.key, at, life.ready)
    life.looks = life.retries = 0
    mood = rng.random()
    if mood < 0.08:
        world.at(at + minutes(2, 24, rng), lambda when: _push(life, when))
        return
    if mood < 0.1:
        world.at(at + minutes(4, 25, rng), lambda when: world.cancel(life.key, when, BY_USER))
    _look_later(life, at)


def start_runs(world: World, key: str, at: datetime, ready: bool) -> list[Record]:
    """The runs of a push: E2E-Light always, the long ones when labelled ready, others by the files changed."""
    records = [world.run("light", "pull_request", at, key)]
    records += [world.run(workflow, "pull_request", at, key, skip=not ready) for workflow in ("full", "matrix")]
    return records + [world.run(workflow, "pull_request", at, key) for workflow in by_files(world.drafts[key].files)]


def retry(world: World, record: Record) -> None:
    """Somebody may run a failed run of main once more, some hours later."""
    rng = chance(world.seed, "retry", record.run.id)
    if record.failed and rng.random() < 0.3:
        when = awake(record.end + minutes(10, 400, rng), rng)

        def again(at: datetime) -> None:
            world.rerun(record, at, rng.choice(MAINTAINERS))

        world.at(when, again)


def by_files(files: tuple[str, ...]) -> list[str]:
    """Workflows that run when such files change."""
    return [workflow for prefix, workflow in _AREAS.items() if any(path.startswith(prefix) for path in files)]


def _look_later(life: Life, at: datetime) -> None:
    """The author looks some time after the runs are through, or after three hours."""
    world, push = life.world, life.world.pushes[life.key]
    end = min(max(record.end for record in world.latest_of(life.key)), at + timedelta(hours=3))
    when = awake(max(end, at) + minutes(3, 80, life.rng), life.rng)

    def look(at: datetime) -> None:
        if world.pushes[life.key] == push and world.is_open(life.key):
            _look(life, at)

    world.at(when, look)


def _look(life: Life, at: datetime) -> None:
    world, rng = life.world, life.rng
    records = world.latest_of(life.key)
    life.looks += 1
    if any(record.end > at for record in records) and life.looks < 4:
        _look_later(life, at)
        return
    failed = [record for record in records if record.failed and record.push == world.pushes[life.key]]
    own = any(one.plot.truth.story == AUTHOR_BUG for record in failed for one in record.played)
    if own:
        _mend(life, failed, at)
    elif failed:
        _suffer(life, failed, at)
    elif not life.ready and rng.random() < 0.3:
        life.ready = True
        for workflow in ("full", "matrix"):
            world.run(workflow, "pull_request", at, life.key)
        _look_later(life, at)
    elif life.reviews > 0:
        life.reviews -= 1
        _later(life, at, 30, 900, _push)
    elif rng.random() < 0.86:
        _later(life, at, 10, 600, _land)
    elif rng.random() < 0.5:
        _later(life, at, 600, 4000, lambda one, when: world.close(one.key, when))


def _later(life: Life, at: datetime, low: float, high: float, deed: Callable[[Life, datetime], None]) -> None:
    life.world.at(awake(at + minutes(low, high, life.rng), life.rng), lambda when: deed(life, when))


def _mend(life: Life, failed: list[Record], at: datetime) -> None:
    """The author sees the own mistake: runs it again in vain, gives up, or pushes."""
    if life.retries == 0 and life.rng.random() < 0.13:
        _again(life, failed, at)
    elif life.gives_up:
        _later(life, at, 200, 3000, lambda one, when: one.world.close(one.key, when))
    else:
        _later(life, at, 8, 300, _push)


def _suffer(life: Life, failed: list[Record], at: datetime) -> None:
    """What failed is not the author's: run it again, push again, wait, or merge all the same."""
    mood = life.rng.random()
    life.patience -= 1
    if life.patience <= 0 and life.reviews == 0:
        _later(life, at, 60, 900, _land)
    elif life.retries < 2 and mood < 0.55:
        _again(life, failed, at)
    elif mood < 0.75:
        _later(life, at, 20, 500, _push)
    elif mood < 0.9 and life.reviews == 0:
        _later(life, at, 20, 600, _land)
    else:
        _later(life, at, 300, 1500, _push)


def _again(life: Life, failed: list[Record], at: datetime) -> None:
    life.retries += 1
    by = life.draft.author if life.rng.random() < 0.6 else life.rng.choice(MAINTAINERS)
    for record in failed:
        if record.end <= at:
            life.world.rerun(record, at, by)
    _look_later(life, at)


def _land(life: Life, at: datetime) -> None:
    push = life.world.pushes[life.key]
    if any(push in bug.pushes for bug in life.world.stage.own.get(life.key, ())):
        _push(life, at)
        return
    land(life.world, life.key, at, alone=life.rng.random() < 0.72)


def land(world: World, key: str, at: datetime, alone: bool = True) -> None:
    """A pull request merges; when not `alone` it waits for the next one, and both are one push to main."""
    if not world.is_open(key):
        return
    if not alone:
        world.waiting.append(key)
        return
    batch, world.waiting = [*world.waiting, key], []
    for one in batch:
        world.merge(one, at)
    files = tuple(path for one in batch for path in world.pulls[one].changed_files)
    push_runs(world, key, files, at)


def push_runs(world: World, key: str, files: tuple[str, ...], at: datetime) -> None:
    """The runs of a push to main: the checks always, the long workflows when they did not start of late."""
    records = [world.run("main", "push", at, key)]
    for workflow in ("full", "matrix", "native"):
        if at - world.last_slow.get(workflow, world.start - _SLOW) >= _SLOW:
            world.last_slow[workflow] = at
            records.append(world.run(workflow, "push", at, key))
    for record in records:
        retry(world, record)
    for workflow in by_files(files):
        if workflow != "native":
            world.run(workflow, "push", at, key)
    if any(path.startswith("csrc/") for path in files):
        world.run("csrc", "push", at, key)
