"""Stories of what moves outside the repository: an image behind a tag, a package on the index, what one leg tests."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from buildeye.model import Cause
from buildeye.simulator.events import PullDraft
from buildeye.simulator.facts import Truth
from buildeye.simulator.histories.hazards import Blow, Hazard, JobKey
from buildeye.simulator.histories.lives import land, start_runs
from buildeye.simulator.histories.places import BUILDS, LINT, MYPY, SUITES, named, on_pool, with_step
from buildeye.simulator.histories.surroundings import IMAGES, Pin
from buildeye.simulator.histories.vocabulary import MAINTAINERS, spot, words_of
from buildeye.simulator.histories.world import World

IMAGE, RELEASE, LEG = "image-update", "upstream-release", "matrix-leg"


def image_update(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """Another image is behind a tag; jobs in it fail until the old one is put back, or a better one follows."""
    names = sorted({IMAGES[pool] for pool in ("a2", "a3", "cpu", "arm")})
    image = world.claim(rng.sample(names, len(names)), since, until)
    around = world.stage.surroundings
    before = around.digest(image, since)
    around.digests[image] = [move for move in around.digests[image] if not since <= move[0] < until]
    around.move_image(image, since)
    if rng.random() < 0.6:
        around.set_digest(image, until, before)
    else:
        around.move_image(image, until)
    words = dict(words_of(spot(rng), rng)) | {
        "glibc": rng.choice(("31", "32")),
        "library": rng.choice(("libopenblas.so.0", "libnuma.so.1", "libgomp.so.1", "libhccl.so")),
        "header": rng.choice(("acl/acl_rt.h", "hccl/hccl_types.h", "numa.h")),
        "tool": rng.choice(("cmake", "ninja", "ccache", "patchelf")),
    }
    there = frozenset(job for pool, name in IMAGES.items() if name == image for job in on_pool(pool))
    failures = {
        "image-libstdc": with_step("test"),
        "image-symbol": with_step("test"),
        "image-library": with_step("test"),
        "image-tool": BUILDS,
        "image-header": BUILDS,
        "image-hook": LINT,
    }
    failure = rng.choice([name for name, jobs in failures.items() if jobs & there])
    jobs = failures[failure] & there
    truth = Truth(Cause.INTERFERENCE, "image-update", story=IMAGE)
    world.stage.hazards.append(Hazard(key, (Blow(failure, words),), truth, since, until, jobs=jobs, clock="start"))


@dataclass(frozen=True, slots=True)
class _Release:
    """What a new release of a package breaks."""

    package: str
    failure: str
    attribute: str
    module: str = ""
    error: str = ""


_RELEASES = (
    _Release("numpy", "release-attribute", "row_stack"),
    _Release("numpy", "release-attribute", "trapz"),
    _Release("transformers", "release-import", "AutoModelForVision2Seq"),
    _Release("transformers", "release-default", "rope_theta"),
    _Release("transformers", "release-default", "sliding_window"),
    _Release("mypy", "release-mypy", ""),
    _Release("pydantic", "release-import", "root_validator"),
    _Release("huggingface-hub", "release-import", "HfFolder", "huggingface_hub"),
    _Release("safetensors", "release-argument", "mmap"),
    _Release("scipy", "release-attribute", "misc"),
    _Release("pillow", "release-attribute", "ANTIALIAS", "PIL"),
    _Release(
        "setuptools", "release-build", "parse_version", "pkg_resources",
        "ModuleNotFoundError: No module named 'pkg_resources'",
    ),
)  # fmt: skip


def upstream_release(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """A package is released and jobs that resolve it fail, until it is pinned or the next release mends it."""
    packages = sorted({one.package for one in _RELEASES})
    package = world.claim(rng.sample(packages, len(packages)), world.start, world.now)
    kind = rng.choice([one for one in _RELEASES if one.package == package])
    around = world.stage.surroundings
    around.releases[kind.package] = [move for move in around.releases[kind.package] if not since <= move[0] < until]
    before, version = around.release(kind.package, since, rng, major=rng.random() < 0.5)
    suite = SUITES[rng.choice(("ut", "ut-cpu", "single-0", "ut"))]
    words = dict(words_of(spot(rng), rng, suite.folder)) | {
        "package": kind.package,
        "package_module": kind.module or kind.package,
        "attribute": kind.attribute,
        "version": version,
        "old": before,
        "build_error": kind.error,
    }
    jobs = {"release-mypy": MYPY, "release-build": BUILDS & with_step("pip")}.get(kind.failure, suite.jobs)
    truth = Truth(Cause.INTERFERENCE, "upstream-change", story=RELEASE)
    hazard = Hazard(key, (Blow(kind.failure, words),), truth, since, jobs=jobs, clock="start")
    world.stage.hazards.append(hazard)
    if rng.random() < 0.3:
        around.release(kind.package, until, rng)
        hazard.until = until
    else:
        draft = PullDraft(
            f"{key}-pin", f"[CI] Pin {kind.package} to {before}", rng.choice(MAINTAINERS), ("requirements.txt",)
        )
        _adapt(world, hazard, draft, until, rng, Pin(kind.package, before, until))


def _adapt(
    world: World, hazard: Hazard, draft: PullDraft, until: datetime, rng: Random, pin: Pin | None = None
) -> None:
    """A pull request that passes where others fail, and mends main when it merges."""
    hazard.spared.add(draft.key)
    if pin:
        world.pins[draft.key] = pin

    def push(at: datetime) -> None:
        world.push(draft, at)
        start_runs(world, draft.key, at, ready=rng.random() < 0.5)

    def merged(_: str, __: int, at: datetime) -> None:
        hazard.mended = at
        if pin:
            world.stage.surroundings.pins.append(Pin(pin.package, pin.version, at))

    world.on_merge[draft.key] = merged
    world.at(hazard.since + (until - hazard.since) * rng.uniform(0.5, 0.9), push)
    world.at(until, lambda at: land(world, draft.key, at))


_AXES: tuple[tuple[str, ...], ...] = (("(main",), ("(main",), ("(main",), ("py3.12",))


def matrix_leg(world: World, key: str, since: datetime, until: datetime, rng: Random) -> None:
    """What one axis value of the matrix tests against has moved; its legs fail, the others pass."""
    marks = rng.choice(_AXES)
    legs: frozenset[JobKey] = named(*marks)
    folder = "singlecard" if rng.random() < 0.3 else "ut"
    if marks == ("(main",):
        wanted = SUITES["matrix-single"].jobs | named("e2e (main)") if folder == "singlecard" else with_step("test")
        legs &= wanted
    words = dict(words_of(spot(rng), rng, folder))
    area = rng.choice(("core.sched.scheduler", "worker.gpu_model_runner", "attention.backends.abstract", "engine.core"))
    words |= {
        "vllm_class": rng.choice(("Scheduler", "GPUModelRunner", "AttentionMetadataBuilder", "EngineCore")),
        "vllm_module": f"vllm.v1.{area}",
        "vllm_file": f"vllm/v1/{area.replace('.', '/')}.py",
    }
    words["removed"] = rng.choice(("distutils", "imp", "asynchat"))
    failure = rng.choice(("leg-argument", "leg-import", "leg-attribute", "leg-abstract"))
    if marks == ("py3.12",):
        failure = "leg-python"
    truth = Truth(Cause.INTERFERENCE, "version-matrix", story=LEG)
    hazard = Hazard(key, (Blow(failure, words),), truth, since, jobs=legs, clock="start")
    world.stage.hazards.append(hazard)
    if marks == ("(main",):
        at, digits = since - timedelta(minutes=5), f"{rng.getrandbits(160):040x}"
        world.stage.surroundings.upstream.append((at, digits))
        world.stage.surroundings.upstream.sort()
    if rng.random() < 0.3:
        hazard.until = until
    else:
        title = f"[BugFix] Follow the {words['vllm_class']} of vLLM main"
        _adapt(world, hazard, PullDraft(f"{key}-adapt", title, rng.choice(MAINTAINERS), (words["file"],)), until, rng)
