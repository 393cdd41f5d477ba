"""Stories of code: main broken by one merge or by two, tests that fail now and then."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from buildeye.model import Cause, Determinism
from buildeye.simulator.events import PullDraft
from buildeye.simulator.facts import Truth
from buildeye.simulator.histories.hazards import Blow, Hazard, JobKey, Trial, flaky, natural
from buildeye.simulator.histories.lives import Life, land, live, start_runs
from buildeye.simulator.histories.places import BUILDS, HIDDEN, LINT, MYPY, NATIVE, SUITES, named, on_pool, only
from buildeye.simulator.histories.pulls import author, draft_at
from buildeye.simulator.histories.vocabulary import MAINTAINERS, Spot, spot, words_of
from buildeye.simulator.histories.world import World

TRUNK, TOGETHER, FLAKY = "broken-trunk", "concurrent-merge", "flaky"
_NEVER = datetime.max.replace(tzinfo=UTC)
"""Since when something is broken that has not merged."""
_MANY_JOBS = 7
"""When more jobs than that are broken, people hurry."""


@dataclass(slots=True)
class _Breakage:
    """Main broken: what everybody meets, and who brought it; `head` is the commit whose own run tells of it first."""

    hazards: list[Hazard]
    place: Spot
    first: Truth
    culprits: tuple[int, ...] = ()
    head: str = ""
    claims: bool = False

    def truth_of(self, trial: Trial) -> Truth:
        """The truth of one that met it: of the first run on main it is another one."""
        if self.claims and not self.head and trial.event == "push":
            self.head = trial.sha
        if self.head and trial.sha == self.head and trial.event == "push":
            return self.first
        return Truth(Cause.INTERFERENCE, TRUNK, story=self.first.story, culprits=self.culprits)


def broken_trunk(world: World, key: str, at: datetime, rng: Random) -> None:
    """One pull request passes and merges at a time, and main fails until a fix merges."""
    place = spot(rng)
    suite, failures, jobs = _what_breaks(rng)
    words = words_of(place, rng, suite)
    blow = Blow(rng.choice(failures), words)
    elsewhere = rng.random() < 0.4
    files = (Spot(place.area, spot(rng).stem).file,) if elsewhere else ()
    culprit = draft_at(place, f"{key}-{place.stem}".replace("_", "-"), rng, files=files)
    truth = natural(blow.failure, TRUNK)
    breakage = _Breakage(_hazards(key, blow, truth, jobs, rng), place, truth)

    def merged(sha: str, number: int, when: datetime) -> None:
        breakage.head, breakage.culprits = sha, (number,)
        breakage.first = natural(blow.failure, TRUNK, (number,))
        _broken(world, breakage, when)
        _repair(world, f"{key}-fix", breakage, when, rng)

    world.on_merge[culprit.key] = merged
    _short_life(world, culprit, at - timedelta(hours=rng.uniform(1.5, 9)), at, rng)
    _innocents(world, key, place, at, rng)


def _what_breaks(rng: Random) -> tuple[str, tuple[str, ...], frozenset[JobKey]]:
    """Folder of the tests, texts, and jobs of one way to break main."""
    tests = ("own-assert", "own-attribute", "own-argument", "own-value", "own-close", "own-key", "own-many", "own-npu")
    kind = rng.random()
    if kind < 0.62:
        suite = SUITES[rng.choice((*HIDDEN, "ut-npu", "ut-cpu", "ut-cpu", "ut", "four-cards", "single-0"))]
        return suite.folder, tests, suite.jobs
    if kind < 0.76:
        suite = SUITES[rng.choice(("ut", "ut-npu", "full-unit"))]
        return suite.folder, ("own-import", "own-module"), suite.jobs
    if kind < 0.86:
        pool = rng.choice(("cpu", "cpu", "arm", "a3", "a2"))
        failures = ("own-declared", "own-link") if pool == "cpu" else ("own-declared", "own-link", "own-kernel")
        return "ut", failures, (BUILDS - NATIVE) & on_pool(pool)
    if kind < 0.93:
        return "ut", ("own-gtest", "own-asan"), NATIVE
    return rng.choice((("ut", ("own-mypy-return",), MYPY), ("ut", ("own-ruff",), LINT)))


def _hazards(key: str, blow: Blow, truth: Truth, jobs: frozenset[JobKey], rng: Random) -> list[Hazard]:
    """What is broken on main: the long workflows always meet it, E2E-Light only where it chose those tests."""
    light = only(jobs, "light")
    rate = rng.uniform(0.3, 0.9) if blow.failure not in ("own-declared", "own-link", "own-kernel") else 1.0
    return [
        Hazard(f"{key}/long", (blow,), truth, _NEVER, jobs=jobs - light),
        Hazard(f"{key}/light", (blow,), truth, _NEVER, jobs=light, rate=rate, by_pull=True),
    ]


def concurrent_merge(world: World, key: str, at: datetime, rng: Random) -> None:
    """Two pull requests pass alone and merge minutes or hours apart, the second at a time; together they fail."""
    place, user = spot(rng), spot(rng)
    suite = SUITES[rng.choice(("ut", "ut", "ut-npu", "ut-cpu", "single-0"))]
    words = dict(words_of(user, rng, suite.folder))
    symbol = f"{place.stem.split('_')[0]}_{rng.choice(('slots', 'spans', 'sizes', 'ranks'))}"
    failure = rng.choice(("own-import", "own-argument", "own-attribute", "own-signature"))
    words |= {"symbol": symbol}
    jobs = suite.jobs
    if failure == "own-import":
        words |= {"module": f"vllm_ascend_sim.{place.area}.{place.stem}", "file": place.file}
    if failure == "own-signature":
        jobs = (BUILDS - NATIVE) & on_pool(rng.choice(("cpu", "a3", "a2")))
        words |= {"stem": place.stem}
    kernel = failure == "own-signature"
    files = ((place.kernel, place.file), (user.kernel,)) if kernel else ((place.file,), (user.file, user.test_file()))
    drafts = [
        draft_at(where, f"{key}-{name}", rng, files=some)
        for where, name, some in zip((place, user), "ab", files, strict=True)
    ]
    truth = Truth(Cause.INTERFERENCE, TOGETHER, story=TOGETHER)
    hazards = _hazards(key, Blow(failure, words), truth, jobs, rng)
    breakage = _Breakage(hazards, place, truth, claims=True)
    merged: list[int] = []

    def one_more(sha: str, number: int, when: datetime) -> None:
        merged.append(number)
        if len(merged) == 2:
            breakage.culprits = tuple(merged)
            breakage.first = Truth(Cause.INTERFERENCE, TOGETHER, story=TOGETHER, culprits=breakage.culprits)
            _broken(world, breakage, when)
            _repair(world, f"{key}-fix", breakage, when, rng)

    rng.shuffle(drafts)
    first = at - timedelta(minutes=rng.choice((rng.uniform(2, 30), rng.uniform(30, 240))))
    for draft, when in zip(drafts, (first, at), strict=True):
        world.on_merge[draft.key] = one_more
        _short_life(world, draft, first - timedelta(hours=rng.uniform(1.2, 8)), when, rng)
    _innocents(world, key, place, at, rng)


def _broken(world: World, breakage: _Breakage, at: datetime) -> None:
    for hazard in breakage.hazards:
        hazard.since, hazard.until = at, None
        hazard.truth_of = breakage.truth_of
        world.stage.hazards.append(hazard)


def _short_life(world: World, draft: PullDraft, opened: datetime, merged: datetime, rng: Random) -> None:
    """A pull request that is pushed once, or twice, and merges when the story wants it."""
    again = opened + (merged - opened) * rng.uniform(0.2, 0.5)

    def push(at: datetime) -> None:
        world.push(draft, at)
        start_runs(world, draft.key, at, ready=False)

    world.at(opened, push)
    if rng.random() < 0.4:
        world.at(again, push)
    world.at(merged, lambda at: land(world, draft.key, at, alone=rng.random() < 0.8))


def _repair(world: World, key: str, breakage: _Breakage, at: datetime, rng: Random) -> None:
    """A fix or a revert merges after twenty minutes or after two days, mostly within a shift; sooner when all fails."""
    everywhere = sum(len(hazard.jobs or ()) for hazard in breakage.hazards) > _MANY_JOBS
    last = min(max(rng.lognormvariate(0.8 if everywhere else 1.5, 1.0), 0.35), 50.0)
    until = at + timedelta(hours=last)
    place = breakage.place
    brought = breakage.culprits[-1]
    pull = next(one for one in world.pulls.values() if one.number == brought)
    title = rng.choice((f'Revert "{pull.title}"', f"[BugFix] Repair the {place.stem.replace('_', ' ')} on main"))
    files = pull.changed_files if title.startswith("Revert") else (place.file,)
    who = rng.choice((pull.author, rng.choice(MAINTAINERS)))
    draft = PullDraft(key, title, who, files)
    for hazard in breakage.hazards:
        hazard.spared.add(key)

    def push(when: datetime) -> None:
        world.push(draft, when)
        start_runs(world, key, when, ready=rng.random() < 0.5)

    def merged(_: str, __: int, when: datetime) -> None:
        for hazard in breakage.hazards:
            hazard.until = when

    world.on_merge[key] = merged
    world.at(at + (until - at) * rng.uniform(0.4, 0.9), push)
    world.at(until, lambda when: land(world, key, when))


def _innocents(world: World, key: str, place: Spot, at: datetime, rng: Random) -> None:
    """While main is broken, others work on the very file that fails, and have nothing to do with it."""
    for number in range(rng.choice((1, 1, 2, 3))):
        draft = draft_at(place, f"{key}-near{number}", rng)
        life = Life(world, draft, rng, rng.random() < 0.7, 0)
        live(life, at + timedelta(hours=rng.uniform(0.3, 9)))


def flaky_test(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """A test fails in some three of a hundred runs of its job, on main and in pull requests alike."""
    place = spot(rng)
    suite = SUITES[rng.choice(("single-0", "single-0", "four-cards", "ut-npu", "ut-cpu", "single-1", "two-cards"))]
    failure = rng.choice(("own-race", "own-race", "own-close", "own-assert", "own-deadlock"))
    jobs = suite.jobs if rng.random() < 0.6 else frozenset(rng.sample(sorted(suite.jobs), 1))
    if rng.random() < 0.15:
        failure, jobs = "own-gtest", named("native (gcc-13)")
    truth = flaky(natural(failure, FLAKY))
    assert truth.determinism is Determinism.FLAKY
    blow = Blow(failure, words_of(place, rng, suite.folder))
    rate = rng.uniform(0.02, 0.045)
    world.stage.hazards.append(Hazard(key, (blow,), truth, since, until, jobs=jobs, clock="start", rate=rate))
    span = (until - since) / timedelta(hours=1)
    for number in range(rng.choice((1, 2, 3))):
        draft = draft_at(place, f"{key}-near{number}", rng, author(rng))
        live(Life(world, draft, rng, True, 1), since + timedelta(hours=rng.uniform(0, max(span, 1))))
