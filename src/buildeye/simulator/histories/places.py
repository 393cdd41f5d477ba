"""Which jobs run what: the suites of tests, the builds, the checks, by workflow key and job name."""

from collections.abc import Callable
from dataclasses import dataclass

from buildeye.simulator.histories.hazards import JobKey
from buildeye.simulator.histories.world import ALL_WORKFLOWS
from buildeye.simulator.shapes import JobShape


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests in one folder (`ut`, or one of `tests/e2e`) and the jobs that run them."""

    folder: str
    jobs: frozenset[JobKey]


def _where(fits: Callable[[str, JobShape], bool]) -> frozenset[JobKey]:
    return frozenset((key, job.name) for key, shape in ALL_WORKFLOWS.items() for job in shape.jobs if fits(key, job))


def with_step(kind: str, pools: tuple[str, ...] = ()) -> frozenset[JobKey]:
    """Jobs that have a step of this kind, on these pools when given."""
    return _where(lambda _, job: any(step.kind == kind for step in job.steps) and (not pools or job.pool in pools))


def named(*marks: str) -> frozenset[JobKey]:
    """Jobs whose name holds one of these."""
    return _where(lambda _, job: any(mark in job.name for mark in marks))


def on_pool(pool: str) -> frozenset[JobKey]:
    """Jobs of one pool."""
    return _where(lambda _, job: job.pool == pool)


def only(jobs: frozenset[JobKey], *workflows: str) -> frozenset[JobKey]:
    """Those of the jobs that are in these workflows."""
    return frozenset(job for job in jobs if job[0] in workflows)


_UT_CPU = named("smart-ut (cpu", "unit (cpu)")
_UT_NPU = named("smart-ut (a2", ") / unit")

SUITES: dict[str, Suite] = {
    "ut": Suite("ut", _UT_CPU | _UT_NPU),
    "ut-cpu": Suite("ut", _UT_CPU),
    "ut-npu": Suite("ut", _UT_NPU),
    "single-0": Suite("singlecard", named("singlecard-light (0)", "singlecard-full (0)", ") / singlecard (0)")),
    "single-1": Suite("singlecard", named("singlecard-full (1)")),
    "matrix-single": Suite("singlecard", named("matrix (v0.20.2) / singlecard", "matrix (main) / singlecard")),
    "two-cards": Suite("multicard/2-cards", named("multicard-2-full (0)")),
    "four-cards": Suite("multicard/4-cards", named("multicard-4-light (0)", "multicard-4-full (0)")),
    "full-unit": Suite("ut", named("e2e-full (v0.20.2) / unit")),
    "matrix-unit": Suite("ut", only(_UT_NPU, "matrix")),
}
"""By name; those of `full` and `matrix` alone are what a pull request without the label does not run."""

HIDDEN = ("single-1", "two-cards", "full-unit", "matrix-unit", "matrix-single")
"""Suites that a pull request without the label does not run."""

BUILDS = with_step("build")
KERNEL_BUILDS = with_step("build", ("a2", "a2x2", "a3", "arm"))
LINT = with_step("pre-commit")
MYPY = with_step("mypy")
NATIVE = with_step("ctest")
