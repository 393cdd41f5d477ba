"""The pipelines of the simulated repository: workflows, their jobs and steps, and the runners they run on."""

from dataclasses import dataclass

CLOSING = frozenset({"post", "stop", "complete", "upload"})
"""Kinds of steps that run even after a failure."""


@dataclass(frozen=True, slots=True)
class StepShape:
    """A step: `kind` names its log (see `noise`), `weight` its share of the job's time."""

    name: str
    kind: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Pool:
    """Runners of one kind; `queue` is the usual wait for one in seconds, from and to."""

    labels: tuple[str, ...]
    runners: tuple[str, ...]
    queue: tuple[int, int]
    group: str = "Default"


@dataclass(frozen=True, slots=True)
class JobShape:
    """A job: it starts when all jobs of lower `stage` are through; `minutes` it takes, `lines` of its noisiest step."""

    name: str
    pool: str
    minutes: tuple[float, float]
    steps: tuple[StepShape, ...]
    lines: int
    stage: int = 0


@dataclass(frozen=True, slots=True)
class WorkflowShape:
    """A workflow file and its jobs."""

    id: int
    name: str
    file: str
    jobs: tuple[JobShape, ...]


def _runners(stem: str, count: int) -> tuple[str, ...]:
    return tuple(f"{stem}-{number:02}" for number in range(1, count + 1))


POOLS: dict[str, Pool] = {
    "cpu": Pool(("linux-amd64-cpu-8",), _runners("amd64-cpu-8", 40), (2, 25)),
    "arm": Pool(("linux-arm64-cpu-16",), _runners("arm64-cpu-16", 8), (5, 90)),
    "a2": Pool(("linux-aarch64-a2-1",), _runners("a2-1", 28), (5, 240)),
    "a2x2": Pool(("linux-aarch64-a2-2",), _runners("a2-2", 12), (20, 600)),
    "a3": Pool(("linux-aarch64-a3-4",), _runners("a3-4", 18), (30, 900)),
    "hosted": Pool(
        ("ubuntu-latest",), tuple(f"GitHub Actions 10002{number}" for number in range(18, 24)), (2, 9), "GitHub Actions"
    ),
}

SICK_RUNNER = "a3-4-07"
"""The runner that goes away in the last day."""

_SETUP = StepShape("Set up job", "setup", 0.3)
_CONTAINERS = StepShape("Initialize containers", "containers", 3)
_CHECKOUT = StepShape("Checkout repository", "checkout", 0.6)
_TAIL = (
    StepShape("Post Checkout repository", "post", 0.1),
    StepShape("Stop containers", "stop", 0.2),
    StepShape("Complete job", "complete", 0.05),
)


def _steps(*middle: StepShape) -> tuple[StepShape, ...]:
    return (_SETUP, _CONTAINERS, _CHECKOUT, *middle, *_TAIL)


_INSTALL = (
    StepShape("Config mirrors", "config", 0.1),
    StepShape("Install system dependencies", "apt", 1.5),
    StepShape("Install vllm from source", "pip", 4),
    StepShape("Get csrc hash", "config", 0.1),
    StepShape("Cache csrc", "cache", 1),
    StepShape("Install vllm-ascend-sim", "build", 8),
)
_NPU = StepShape("Check npu and CANN info", "npu", 0.2)

_CHANGES = _steps(StepShape("Filter changed paths", "paths", 0.5), StepShape("Determine test scope", "config", 0.3))
_PRE_COMMIT = _steps(
    StepShape("Install pre-commit", "pip", 3),
    StepShape("Run pre-commit", "pre-commit", 5),
    StepShape("Run mypy", "mypy", 3),
)
_TITLE = (
    _SETUP,
    StepShape("Validate PR title", "title", 0.2),
    StepShape("Complete job", "complete", 0.05),
)
_UNIT = _steps(*_INSTALL, StepShape("Run unit tests", "test", 20))
_UNIT_NPU = _steps(_NPU, *_INSTALL, StepShape("Run unit tests", "test", 20))
_E2E = _steps(_NPU, *_INSTALL, StepShape("Run e2e test", "test", 40), StepShape("Upload timing data", "upload", 0.3))
_NIGHTLY = _steps(
    _NPU,
    StepShape("Install vllm-ascend-sim", "build", 4),
    StepShape("Run nightly test", "test", 60),
    StepShape("Upload Ascend logs", "upload", 0.6),
)
_LINKS = _steps(
    StepShape("Collect changed docs files", "config", 0.2),
    StepShape("Install docs dependencies", "pip", 3),
    StepShape("Run Sphinx linkcheck for changed docs", "linkcheck", 5),
)
_IMAGE = _steps(StepShape("Build image", "image", 20))
_CSRC = _steps(*_INSTALL)
_DASHBOARD = (
    _SETUP,
    _CHECKOUT,
    StepShape("Install packages", "npm", 3),
    StepShape("Lint dashboard", "eslint", 2),
    *_TAIL[::2],
)

_FULL_JOBS = (
    JobShape("changes", "cpu", (0.6, 1.2), _CHANGES, 30),
    JobShape("e2e-full (v0.20.2) / singlecard-full (0)", "a2", (38, 52), _E2E, 6500, 1),
    JobShape("e2e-full (v0.20.2) / singlecard-full (1)", "a2", (35, 50), _E2E, 5200, 1),
    JobShape("e2e-full (v0.20.2) / multicard-2-full (0)", "a2x2", (40, 55), _E2E, 8200, 1),
    JobShape("e2e-full (v0.20.2) / multicard-4-full (0)", "a3", (42, 60), _E2E, 14000, 1),
    JobShape("e2e-full (v0.20.2) / unit", "a2", (18, 26), _UNIT_NPU, 2300, 1),
)


WORKFLOWS: dict[str, WorkflowShape] = {
    "light": WorkflowShape(
        228664101,
        "E2E-Light",
        "pr_test_light.yaml",
        (
            JobShape("changes", "cpu", (0.6, 1.2), _CHANGES, 30),
            JobShape("lint / validate-pr-title", "cpu", (0.3, 0.5), _TITLE, 20),
            JobShape("lint / pre-commit", "cpu", (3, 5), _PRE_COMMIT, 90),
            JobShape("smart test (v0.20.2) / smart-ut (cpu x0)", "cpu", (9, 14), _UNIT, 1900, 1),
            JobShape("smart test (v0.20.2) / smart-ut (a2 x1)", "a2", (12, 18), _UNIT_NPU, 2400, 1),
            JobShape("e2e-light (v0.20.2) / singlecard-light (0)", "a2", (16, 24), _E2E, 3600, 1),
            JobShape("e2e-light (v0.20.2) / multicard-4-light (0)", "a3", (18, 28), _E2E, 6800, 1),
        ),
    ),
    "full": WorkflowShape(228664102, "E2E-Full", "pr_test_full.yaml", _FULL_JOBS),
    "docs": WorkflowShape(
        228664103, "Docs link check", "docs_linkcheck.yaml", (JobShape("Sphinx linkcheck", "cpu", (3, 6), _LINKS, 260),)
    ),
    "image": WorkflowShape(
        228664104,
        "Image build lint",
        "image_build_lint.yaml",
        (JobShape("build a2 image", "arm", (14, 22), _IMAGE, 1500),),
    ),
    "dashboard": WorkflowShape(
        228664105, "Dashboard", "dashboard.yaml", (JobShape("lint", "hosted", (1, 2), _DASHBOARD, 40),)
    ),
    "csrc": WorkflowShape(
        228664106,
        "Cache csrc Build Artifacts",
        "cache_csrc.yaml",
        (
            JobShape("build-ARM64-a2-ubuntu-cache", "arm", (14, 20), _CSRC, 620),
            JobShape("build-X64-a2-ubuntu-cache", "cpu", (12, 18), _CSRC, 600),
        ),
    ),
    "nightly-a2": WorkflowShape(
        228664107,
        "Nightly-A2",
        "schedule_nightly_test_a2.yaml",
        (
            JobShape("single-node-accuracy (qwen3-dense)", "a2x2", (70, 95), _NIGHTLY, 9000),
            JobShape("doc-test", "a2", (20, 30), _NIGHTLY, 1600),
        ),
    ),
    "nightly-a3": WorkflowShape(
        228664108,
        "Nightly-A3",
        "schedule_nightly_test_a3.yaml",
        (
            JobShape("single-node (mla-graph)", "a3", (60, 80), _NIGHTLY, 12000),
            JobShape("multi-node (pd-disaggregated)", "a3", (75, 100), _NIGHTLY, 24000),
        ),
    ),
    "weekly": WorkflowShape(
        228664109,
        "Weekly-Accuracy",
        "schedule_weekly_accuracy.yaml",
        (
            JobShape("accuracy (gsm8k)", "a3", (110, 118), _NIGHTLY, 21000),
            JobShape("accuracy (ceval)", "a3", (90, 110), _NIGHTLY, 18000),
        ),
    ),
    "vllm-main": WorkflowShape(
        228664110,
        "vLLM Main Schedule Test",
        "schedule_vllm_main.yaml",
        (
            JobShape("e2e (v0.20.2) / singlecard (0)", "a2", (30, 40), _E2E, 4200),
            JobShape("e2e (main) / singlecard (0)", "a2", (30, 40), _E2E, 4200),
        ),
    ),
}
"""By the key that the story uses."""

_NATIVE = _steps(
    StepShape("Install system dependencies", "apt", 1.5),
    StepShape("Configure and build", "build", 8),
    StepShape("Run native tests", "ctest", 6),
)
_LEGS = tuple((vllm, python) for vllm in ("v0.20.2", "main") for python in ("py3.11", "py3.12"))

MORE_WORKFLOWS: dict[str, WorkflowShape] = {
    "matrix": WorkflowShape(
        228664111,
        "E2E-Matrix",
        "pr_test_matrix.yaml",
        (
            *(JobShape(f"matrix ({vllm}, {python}) / unit", "a2", (12, 18), _UNIT_NPU, 1700) for vllm, python in _LEGS),
            *(JobShape(f"matrix ({vllm}) / singlecard", "a2", (24, 34), _E2E, 3200) for vllm in ("v0.20.2", "main")),
        ),
    ),
    "native": WorkflowShape(
        228664112,
        "Native tests",
        "native_tests.yaml",
        tuple(
            JobShape(f"native ({leg})", pool, (9, 15), _NATIVE, 900)
            for leg, pool in (("gcc-12", "cpu"), ("gcc-13", "arm"), ("clang-15 asan", "cpu"))
        ),
    ),
    "main": WorkflowShape(
        228664113,
        "Main-Checks",
        "main_checks.yaml",
        (
            JobShape("lint / pre-commit", "cpu", (3, 5), _PRE_COMMIT, 90),
            JobShape("unit (cpu)", "cpu", (9, 13), _UNIT, 1800),
        ),
    ),
}
"""Workflows that only long histories have (see `histories`), by the key that they use."""
