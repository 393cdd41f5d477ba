"""Every way a job of the simulated repository can fail, as a table; the log text of each is `texts/KEY.txt`."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from buildeye.model import Cause, Determinism
from buildeye.simulator.facts import Truth


@dataclass(frozen=True, slots=True)
class Failure:
    """One way to fail.

    `at` is the kind of step that fails (see `shapes`), `exit_code` what its process ended with (None: the step is an
    action, or its text ends with the error mark). `dies` says that the runner went away
    there: no later step, no teardown.
    """

    at: str
    cause: Cause
    category: str
    exit_code: int | None = 1
    conclusion: str = "failure"
    dies: bool = False
    determinism: Determinism = Determinism.DETERMINISTIC
    test: str = ""

    @property
    def truth(self) -> Truth:
        """What is true of a job that fails so, unless the story says otherwise."""
        return Truth(self.cause, self.category, self.determinism)


@cache
def failure_text(key: str) -> str:
    """The log text of a failure, with `$name` placeholders."""
    return (files(__package__) / "texts" / f"{key}.txt").read_text(encoding="utf-8")


_CODE, _CONFIGURATION, _INFRASTRUCTURE = Cause.CODE, Cause.CONFIGURATION, Cause.INFRASTRUCTURE
_FLAKY = Determinism.FLAKY

FAILURES: dict[str, Failure] = {
    "pytest-assertion": Failure(
        "test", _CODE, "test-failure", test="tests/ut/sample/test_topk_sampler.py::test_topk_keeps_the_largest_values"
    ),
    "trunk-dflash": Failure(
        "test",
        _CODE,
        "test-failure",
        test="tests/ut/spec_decode/test_dflash_spec.py::test_dflash_spec_matches_greedy[4-8]",
    ),
    "trunk-rope": Failure(
        "test", _CODE, "test-failure", test="tests/ut/ops/test_rotary_embedding.py::test_mrope_cache_is_shared"
    ),
    "merge-collision": Failure("test", _CODE, "import", exit_code=2),
    "flaky-eviction": Failure(
        "test",
        _CODE,
        "test-failure",
        determinism=_FLAKY,
        test="tests/e2e/singlecard/test_prefix_cache.py::test_prefix_cache_evicts_under_concurrent_load",
    ),
    "import-error": Failure("test", _CODE, "import", exit_code=2),
    "vllm-api": Failure(
        "test",
        _CODE,
        "api-incompatibility",
        test="tests/e2e/singlecard/test_chunked_prefill.py::test_scheduler_runs_with_chunked_prefill",
    ),
    "segfault": Failure("test", _CODE, "test-crash", exit_code=139),
    "mypy": Failure("mypy", _CODE, "type-check"),
    "ruff-format": Failure("pre-commit", _CODE, "format"),
    "ruff-lint": Failure("pre-commit", _CODE, "lint"),
    "kernel-compile": Failure("build", _CODE, "kernel-compile"),
    "cpp-compile": Failure("build", _CODE, "compile"),
    "cmake": Failure("build", _CODE, "build-script"),
    "docs-link": Failure("linkcheck", _CODE, "docs"),
    "eslint": Failure("eslint", _CODE, "lint"),
    "pr-title": Failure("title", _CONFIGURATION, "policy"),
    "missing-tool": Failure("pre-commit", _CONFIGURATION, "missing-tool"),
    "pip-conflict": Failure("build", _CONFIGURATION, "dependency"),
    "pip-index": Failure("pip", _INFRASTRUCTURE, "cache-service", determinism=_FLAKY),
    "docker-pull": Failure("containers", _INFRASTRUCTURE, "image-pull", exit_code=None, determinism=_FLAKY),
    "disk-full": Failure("build", _INFRASTRUCTURE, "disk-full", determinism=_FLAKY),
    "oom-killed": Failure("test", _INFRASTRUCTURE, "out-of-memory", exit_code=137, determinism=_FLAKY),
    "git-fetch": Failure("checkout", _INFRASTRUCTURE, "github-service", exit_code=None, determinism=_FLAKY),
    "artifact-upload": Failure("upload", _INFRASTRUCTURE, "artifact-service", exit_code=None, determinism=_FLAKY),
    "csrc-cache": Failure("cache", _INFRASTRUCTURE, "cache", exit_code=None, determinism=_FLAKY),
    "hccl-timeout": Failure("test", _INFRASTRUCTURE, "collective", determinism=_FLAKY),
    "npu-unavailable": Failure("npu", _INFRASTRUCTURE, "accelerator", determinism=_FLAKY),
    "apt-network": Failure("apt", _INFRASTRUCTURE, "network", exit_code=100, determinism=_FLAKY),
    "github-api": Failure("paths", _INFRASTRUCTURE, "github-service", exit_code=None, determinism=_FLAKY),
    "hub-limit": Failure(
        "test",
        _INFRASTRUCTURE,
        "rate-limit",
        determinism=_FLAKY,
        test="tests/e2e/singlecard/test_offline_inference.py::test_models_answer[Qwen3-0.6B]",
    ),
    "job-timeout": Failure(
        "test", _INFRASTRUCTURE, "timeout", exit_code=None, conclusion="cancelled", determinism=_FLAKY
    ),
    "runner-lost": Failure("test", _INFRASTRUCTURE, "runner-lost", exit_code=None, dies=True, determinism=_FLAKY),
    "runner-gone": Failure("", _INFRASTRUCTURE, "runner-lost", exit_code=None, dies=True, determinism=_FLAKY),
}
"""By key. `runner-gone` has no text: no step ran and GitHub keeps no log."""
