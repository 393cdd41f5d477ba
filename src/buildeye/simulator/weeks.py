"""Ordinary weeks before the last day: pull requests that pass, fail for many reasons, are pushed again, merge."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle
from random import Random

from buildeye.simulator.cast import AUTHORS, TOPICS
from buildeye.simulator.chance import chance
from buildeye.simulator.events import (
    GREEN,
    SKIPPED,
    Ending,
    Event,
    Plan,
    PullDraft,
    Scene,
    cancelled,
    hours,
    plan,
    red,
)
from buildeye.simulator.scenes import NPU_BUILDS, SINGLE, SMART_UNIT

PULLS = 130
FIRST, LAST = 20.9 * 24, 31.0
"""When ordinary work begins and ends, in hours before now."""

QUIET = ((209.0, 217.5), (139.0, 146.0))
"""Hours in which only the scenes act, because main is broken then."""

_CPU, _A2 = "smart test (v0.20.2) / smart-ut (cpu x0)", SMART_UNIT
_SINGLE, _LINT = SINGLE, "lint / pre-commit"
_FULL_0, _FULL_1 = "e2e-full (v0.20.2) / singlecard-full (0)", "e2e-full (v0.20.2) / singlecard-full (1)"


@dataclass(frozen=True, slots=True)
class _Trouble:
    """One reason to fail: where, whether a re-run heals it, and the files and title that make it this author's."""

    failure: str
    workflow: str
    job: str | tuple[str, ...]
    heals: bool = False
    files: tuple[str, ...] = ()
    title: str = ""


_TROUBLES = (
    _Trouble("pytest-assertion", "light", _CPU, files=("vllm_ascend_sim/sample/topk_sampler.py",)),
    _Trouble("pip-index", "light", _CPU, heals=True),
    _Trouble("ruff-format", "light", _LINT, files=("vllm_ascend_sim/attention/mla_chunked.py",)),
    _Trouble("docker-pull", "light", _SINGLE, heals=True),
    _Trouble("mypy", "light", _LINT, files=("vllm_ascend_sim/worker/model_runner.py",)),
    _Trouble("github-api", "light", "changes", heals=True),
    _Trouble("import-error", "light", _A2, files=("vllm_ascend_sim/quantization/w4a8_dynamic.py",)),
    _Trouble("git-fetch", "light", _CPU, heals=True),
    _Trouble("vllm-api", "full", _FULL_0, files=("vllm_ascend_sim/core/scheduler.py",)),
    _Trouble("disk-full", "light", _A2, heals=True),
    _Trouble("kernel-compile", "light", NPU_BUILDS, files=("csrc/kernels/mla_preprocess.cpp",)),
    _Trouble("oom-killed", "full", "e2e-full (v0.20.2) / multicard-4-full (0)", heals=True),
    _Trouble("pr-title", "light", "lint / validate-pr-title", title="speed up the block table"),
    _Trouble("artifact-upload", "full", _FULL_1, heals=True),
    _Trouble("cmake", "light", (_CPU, *NPU_BUILDS), files=("csrc/CMakeLists.txt",)),
    _Trouble("npu-unavailable", "light", _SINGLE, heals=True),
    _Trouble("docs-link", "docs", "Sphinx linkcheck", files=("docs/source/user_guide/feature_guide/graph_mode.md",)),
    _Trouble("apt-network", "light", _CPU, heals=True),
    _Trouble("eslint", "dashboard", "lint", files=("tools/dashboard/src/RunTable.tsx",)),
    _Trouble("hub-limit", "full", _FULL_1, heals=True),
    _Trouble("ruff-lint", "light", _LINT, files=("vllm_ascend_sim/distributed/kv_transfer/pool.py",)),
    _Trouble("csrc-cache", "light", _SINGLE, heals=True),
    _Trouble("segfault", "light", _A2, files=("vllm_ascend_sim/ops/gather.py",)),
    _Trouble("missing-tool", "light", _LINT, files=(".pre-commit-config.yaml",)),
    _Trouble("pip-conflict", "light", (_CPU, *NPU_BUILDS), files=("pyproject.toml",)),
    _Trouble("cpp-compile", "light", (_CPU, *NPU_BUILDS), files=("csrc/torch_binding.cpp",)),
)
_AREAS = {"docs/": "docs", "tools/dashboard/": "dashboard", "Dockerfile": "image"}


@dataclass(frozen=True, slots=True)
class Pace:
    """How many pull requests begin between `first` and `last`, and when the last merges are, in hours before now.

    `troubled` is the share of them that meets trouble on its way.
    """

    pulls: int
    first: float
    last: float
    merged: float
    quiet: tuple[tuple[float, float], ...] = ()
    troubled: float = 0.42


ORDINARY = Pace(PULLS, FIRST, LAST, 27.5, QUIET)


def ordinary_weeks(seed: int, pace: Pace = ORDINARY) -> Scene:
    """Some 130 pull requests over twenty days, two of five in some trouble on the way; or as many as `pace` says."""
    rng = chance(seed, "weeks")
    troubles = cycle(_TROUBLES)
    pulls: list[PullDraft] = []
    events: list[Event] = []
    for number in range(pace.pulls):
        topic, title, files = TOPICS[number % len(TOPICS)]
        part = number // len(TOPICS) + 1
        trouble = next(troubles) if rng.random() < pace.troubled else None
        if trouble:
            title, files = trouble.title or title, tuple(dict.fromkeys((*trouble.files, *files)))
        elif part > 1:
            title = f"{title}, part {part}"
        pull = PullDraft(f"{topic}-{part}", title, rng.choice(AUTHORS), files)
        pulls.append(pull)
        at = pace.first - (pace.first - pace.last) * (number + rng.random()) / pace.pulls
        events.extend(event for event in _life(pull, at, trouble, rng, pace) if not _quiet(event.ago, pace))
    return Scene(tuple(pulls), tuple(events))


def _quiet(ago: timedelta, pace: Pace) -> bool:
    return any(low <= ago / hours(1) <= high for low, high in pace.quiet)


def _life(pull: PullDraft, at: float, trouble: _Trouble | None, rng: Random, pace: Pace) -> Iterator[Event]:
    """What one pull request goes through, from its first push `at` hours before now."""
    if any(low - 4 <= at <= high + 4 for low, high in pace.quiet):
        at = next(high + 4.5 for low, high in pace.quiet if low - 4 <= at <= high + 4)
    ready = rng.random() < 0.5 or (trouble is not None and trouble.workflow == "full")
    if rng.random() < 0.3:
        minutes = rng.randint(6, 28)
        yield Event(hours(at), "push", pull.key, _plans(pull, ready=False, light=cancelled(minutes)))
        at -= minutes / 60
    yield Event(hours(at), "push", pull.key, _plans(pull, ready, trouble=trouble))
    at -= rng.uniform(1.6, 2.2)
    if trouble and not trouble.heals:
        if rng.random() < 0.25:
            yield Event(hours(at), "close", pull.key)
            return
        yield Event(hours(at), "push", pull.key, _plans(pull, ready))
        at -= 1.8
    if rng.random() < 0.7:
        yield Event(hours(max(at, pace.merged)), "merge", pull.key, (plan("full"),))


def _plans(pull: PullDraft, ready: bool, light: Ending = GREEN, trouble: _Trouble | None = None) -> tuple[Plan, ...]:
    """The runs that one push starts: E2E-Light always, E2E-Full when labelled ready, others by the files changed."""
    plans = {"light": plan("light", light), "full": plan("full", GREEN if ready else SKIPPED)}
    for path in pull.files:
        for prefix, workflow in _AREAS.items():
            if path.startswith(prefix):
                plans[workflow] = plan(workflow)
    if trouble:
        failed = red(trouble.job, trouble.failure)
        plans[trouble.workflow] = plan(trouble.workflow, *((failed, GREEN) if trouble.heals else (failed,)))
    return tuple(plans.values())
