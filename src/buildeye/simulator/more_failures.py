"""More ways to fail, for long histories: their texts have placeholders, so that each story has its own names.

`$test`, `$func`, `$file`, `$symbol` and the like are the words of a `Plot`. A failure here has the category that is its
own; the story says the truth where another one is true.
"""

from buildeye.model import Cause, Determinism
from buildeye.simulator.failures import FAILURES, Failure

_CODE, _CONFIGURATION, _INFRASTRUCTURE = Cause.CODE, Cause.CONFIGURATION, Cause.INFRASTRUCTURE
_INTERFERENCE, _FLAKY = Cause.INTERFERENCE, Determinism.FLAKY


def _test(category: str = "test-failure") -> Failure:
    return Failure("test", _CODE, category, test="$test")


def _collection(category: str = "import") -> Failure:
    return Failure("test", _CODE, category, exit_code=2)


def _machine(at: str, category: str, exit_code: int | None = 1, test: str = "") -> Failure:
    return Failure(at, _INFRASTRUCTURE, category, exit_code=exit_code, determinism=_FLAKY, test=test)


def _crowd(at: str, exit_code: int | None = 1, conclusion: str = "failure", test: str = "") -> Failure:
    return Failure(at, _INTERFERENCE, "runner-contention", exit_code, conclusion, determinism=_FLAKY, test=test)


MORE_FAILURES: dict[str, Failure] = {
    "own-assert": _test(),
    "own-attribute": _test(),
    "own-argument": _test(),
    "own-value": _test(),
    "own-close": _test(),
    "own-many": _test(),
    "own-key": _test(),
    "own-deadlock": _test(),
    "own-npu": _test(),
    "own-race": _test(),
    "own-import": _collection(),
    "own-module": _collection(),
    "own-syntax": _collection("syntax"),
    "own-crash": Failure("test", _CODE, "test-crash", exit_code=139),
    "own-gtest": Failure("ctest", _CODE, "test-failure", exit_code=8),
    "own-ctest-crash": Failure("ctest", _CODE, "test-crash", exit_code=8),
    "own-asan": Failure("ctest", _CODE, "sanitizer", exit_code=8),
    "own-declared": Failure("build", _CODE, "compile"),
    "own-signature": Failure("build", _CODE, "compile"),
    "own-link": Failure("build", _CODE, "link"),
    "own-kernel": Failure("build", _CODE, "kernel-compile"),
    "own-cmake": Failure("build", _CODE, "build-script"),
    "own-setup": Failure("build", _CODE, "build-script"),
    "own-ruff": Failure("pre-commit", _CODE, "lint"),
    "own-format": Failure("pre-commit", _CODE, "format"),
    "own-clang-format": Failure("pre-commit", _CODE, "format"),
    "own-codespell": Failure("pre-commit", _CODE, "lint"),
    "own-mypy": Failure("mypy", _CODE, "type-check"),
    "own-mypy-return": Failure("mypy", _CODE, "type-check"),
    "own-eslint": Failure("eslint", _CODE, "lint"),
    "own-link-dead": Failure("linkcheck", _CODE, "docs"),
    "own-sphinx": Failure("linkcheck", _CODE, "docs"),
    "own-title": Failure("title", _CONFIGURATION, "policy"),
    "own-tool": Failure("pre-commit", _CONFIGURATION, "missing-tool"),
    "own-pin": Failure("pip", _CONFIGURATION, "dependency"),
    "own-conflict": Failure("pip", _CONFIGURATION, "dependency"),
    "own-image": Failure("image", _CONFIGURATION, "image-build"),
    "disk-pip": _machine("pip", "disk-full"),
    "disk-docker": _machine("containers", "disk-full", None),
    "disk-linker": _machine("build", "disk-full"),
    "disk-pytest": _machine("test", "disk-full", 3),
    "disk-git": _machine("checkout", "disk-full", None),
    "sick-smi": _machine("npu", "accelerator"),
    "sick-card": _machine("test", "accelerator"),
    "sick-crash": _machine("test", "runner-host", 135),
    "sick-odd": _machine("test", "runner-host", test="$test"),
    "sick-docker": _machine("containers", "runner-host", None),
    "sick-clock": _machine("pip", "runner-host"),
    "sick-readonly": _machine("build", "runner-host"),
    "out-action": _machine("setup", "github-service", None),
    "out-git": _machine("checkout", "github-service", None),
    "out-auth": _machine("checkout", "github-service", None),
    "out-api": _machine("paths", "github-service", None),
    "out-artifact": _machine("upload", "artifact-service", None),
    "out-cache": _machine("cache", "cache", None),
    "out-silent": _machine("", "github-service", None),
    "crowd-test": _crowd("test", test="$test"),
    "crowd-server": _crowd("test", test="$test"),
    "crowd-step": _crowd("test", None),
    "crowd-never": _crowd("", None, "cancelled"),
    "image-libstdc": _collection(),
    "image-symbol": _collection(),
    "image-library": _collection(),
    "image-tool": Failure("build", _CONFIGURATION, "missing-tool"),
    "image-header": Failure("build", _CODE, "compile"),
    "image-hook": Failure("pre-commit", _CONFIGURATION, "missing-tool"),
    "release-attribute": _test(),
    "release-import": _collection(),
    "release-default": _test(),
    "release-argument": _test(),
    "release-mypy": Failure("mypy", _CODE, "type-check"),
    "release-build": Failure("build", _CODE, "build-script"),
    "leg-argument": _test("api-incompatibility"),
    "leg-import": _collection("api-incompatibility"),
    "leg-attribute": _test("api-incompatibility"),
    "leg-abstract": _test("api-incompatibility"),
}
"""By key. `out-silent` and `crowd-never` have no text: no step ran."""


def failure_of(key: str) -> Failure | None:
    """A failure of either table; None for a key that only has a text, as `superseded` has."""
    return FAILURES.get(key) or MORE_FAILURES.get(key)
