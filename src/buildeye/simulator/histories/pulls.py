"""Ordinary pull requests, and the mistakes that their authors make."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from buildeye.simulator.events import PullDraft
from buildeye.simulator.histories.hazards import Blow, Hazard, JobKey, natural
from buildeye.simulator.histories.lives import AUTHOR_BUG, Life, live
from buildeye.simulator.histories.places import BUILDS, KERNEL_BUILDS, LINT, MYPY, NATIVE, SUITES, named, with_step
from buildeye.simulator.histories.vocabulary import TEAM, Spot, spot, title_of, words_of
from buildeye.simulator.histories.world import World

BUGGY = 0.33
"""The part of ordinary pull requests whose author makes a mistake."""


@dataclass(frozen=True, slots=True)
class _Mistake:
    """One kind of mistake: how common, which texts, in which jobs, which file of the place it is in."""

    weight: float
    failures: tuple[str, ...]
    jobs: frozenset[JobKey] | None = None
    file: str = "file"
    suites: tuple[str, ...] = ()


_TITLE = named("validate-pr-title")
_MISTAKES = (
    _Mistake(10, ("own-assert", "own-attribute", "own-argument", "own-value", "own-key"), suites=("ut", "ut-npu")),
    _Mistake(5, ("own-close", "own-npu", "own-deadlock", "own-many"), suites=("ut-npu", "single-0", "four-cards")),
    _Mistake(3, ("own-assert", "own-close", "own-value"), suites=("single-1", "two-cards", "matrix-single")),
    _Mistake(3, ("own-import", "own-module", "own-syntax"), suites=("ut", "ut-cpu", "single-0")),
    _Mistake(1.5, ("own-crash",), suites=("ut-npu", "single-0")),
    _Mistake(7, ("own-ruff", "own-format", "own-codespell"), LINT),
    _Mistake(5, ("own-mypy", "own-mypy-return"), MYPY),
    _Mistake(3, ("own-declared", "own-signature", "own-link"), BUILDS - NATIVE, "kernel"),
    _Mistake(2, ("own-kernel",), KERNEL_BUILDS - NATIVE, "kernel"),
    _Mistake(2, ("own-cmake", "own-setup"), BUILDS - NATIVE, "build"),
    _Mistake(3, ("own-gtest", "own-ctest-crash", "own-asan"), NATIVE, "kernel"),
    _Mistake(1, ("own-clang-format",), LINT, "kernel"),
    _Mistake(2, ("own-link-dead", "own-sphinx"), with_step("linkcheck"), "docs"),
    _Mistake(1.5, ("own-eslint",), with_step("eslint"), "front"),
    _Mistake(1.5, ("own-title",), _TITLE),
    _Mistake(1, ("own-tool",), LINT, "hooks"),
    _Mistake(2, ("own-pin", "own-conflict"), with_step("pip") - LINT - MYPY, "requirements"),
    _Mistake(1, ("own-image",), with_step("image"), "docker"),
)
_OTHER_FILES = {
    "docs": ("docs/source/{page}.md",),
    "front": ("{front}",),
    "hooks": (".pre-commit-config.yaml", "tools/hooks/{stem}.sh"),
    "requirements": ("requirements.txt", "pyproject.toml"),
    "docker": ("Dockerfile.a2",),
    "build": ("csrc/CMakeLists.txt", "setup.py"),
}
_SIDE_FILES = ("docs/source/user_guide/graph_mode.md", "tools/dashboard/src/RunTable.tsx", "Dockerfile.a2", "")


def author(rng: Random) -> str:
    """Somebody of the team; a few do most of the work."""
    return TEAM[min(int(rng.expovariate(1 / 8)), len(TEAM) - 1)]


def draft_at(place: Spot, key: str, rng: Random, who: str = "", files: tuple[str, ...] = ()) -> PullDraft:
    """A pull request that changes a place, perhaps with its tests, its kernel, or a page of the docs."""
    found = list(files or (place.file,))
    if not files:
        if rng.random() < 0.45:
            found.append(place.test_file())
        if rng.random() < 0.14:
            found += [place.kernel, place.native_test]
        if rng.random() < 0.2:
            found.append(spot(rng).file)
        if rng.random() < 0.08:
            found.append(rng.choice(_SIDE_FILES[:3]))
    return PullDraft(key, title_of(place, rng), who or author(rng), tuple(dict.fromkeys(found)))


def ordinary(world: World, key: str, at: datetime, rng: Random) -> None:
    """One pull request of no story but its own; one in three has a mistake to mend."""
    place = spot(rng)
    life = Life(world, draft_at(place, key, rng), rng, rng.random() < 0.2, rng.choice((0, 0, 0, 1, 1, 2)))
    if rng.random() < BUGGY:
        mistaken(life, place, rng)
        if rng.random() < 0.12:
            mistaken(life, place, rng)
    live(life, at)


def mistaken(life: Life, place: Spot, rng: Random, failure: str = "") -> None:
    """The author makes a mistake that lives for one push or several; mostly in the first push."""
    chosen = [one for one in _MISTAKES if not failure or failure in one.failures]
    mistake = rng.choices(chosen, [one.weight for one in chosen])[0]
    key = failure or rng.choice(mistake.failures)
    suite = SUITES[rng.choice(mistake.suites)] if mistake.suites else None
    words = dict(words_of(place, rng, suite.folder if suite else "ut"))
    package = rng.choice(("numpy", "transformers", "pydantic", "scipy", "einops"))
    words |= {
        "package": package,
        "wrong": f"{rng.randint(7, 99)}.{rng.randint(0, 9)}.0",
        "old": "1.4.0",
        "version": "1.5.2",
    }
    first = 0 if rng.random() < 0.75 else 1
    length = rng.choices((1, 2, 3, 4), (60, 24, 11, 5))[0]
    jobs = suite.jobs if suite else mistake.jobs
    if mistake.suites:
        life.ready = life.ready or not any(workflow == "light" for workflow, _ in jobs or ())
    life.gives_up = life.gives_up or rng.random() < 0.08
    _change(life, place, mistake, words, rng)
    if key == "own-title":
        first, life.good_title, life.title_until = 0, life.draft.title, length
        life.draft = replace(life.draft, title=life.draft.title.partition("] ")[2])
    hazard = Hazard(
        f"own/{life.key}/{key}",
        (Blow(key, words),),
        natural(key, AUTHOR_BUG),
        life.world.start - timedelta(days=1),
        jobs=jobs,
        only=life.key,
        pushes=range(first, first + length),
    )
    life.world.stage.own.setdefault(life.key, []).append(hazard)


def _change(life: Life, place: Spot, mistake: _Mistake, words: dict[str, str], rng: Random) -> None:
    """The files that make the mistake the author's; of three tests one imports what was changed elsewhere."""
    files = list(life.draft.files)
    if mistake.file in _OTHER_FILES:
        files += [path.format(**words) for path in _OTHER_FILES[mistake.file]]
    elif mistake.file == "kernel":
        files += [place.kernel]
    elif mistake.suites and rng.random() < 0.3:
        files = [path for path in files if place.stem not in path] + [Spot(place.area, spot(rng).stem).file]
    life.draft = replace(life.draft, files=tuple(dict.fromkeys(files)))


def twins(world: World, key: str, at: datetime, rng: Random) -> None:
    """Two authors make the same mistake on one day, in different places."""
    failure = rng.choice(("own-ruff", "own-format", "own-mypy", "own-codespell"))
    for number, who in enumerate(rng.sample(TEAM, 2)):
        place = spot(rng)
        life = Life(world, draft_at(place, f"{key}-{number}", rng, who), rng, False, 0)
        mistaken(life, place, rng, failure)
        live(life, at + timedelta(minutes=rng.uniform(0, 300)))
