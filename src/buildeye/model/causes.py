"""What kind of problem a failure is, and which one: the vocabulary of the diagnosis contract.

A category has a home cause, but the cause is judged: a timeout of one test is `code`, of the runner `infrastructure`.
"""

from enum import StrEnum


class Cause(StrEnum):
    """Whose problem a failure is."""

    CODE = "code"
    CONFIGURATION = "configuration"
    INFRASTRUCTURE = "infrastructure"
    INTERFERENCE = "interference"
    CANCELLED = "cancelled"
    NONE = "none"
    UNKNOWN = "unknown"


class Determinism(StrEnum):
    """Would the same commit fail again?"""

    DETERMINISTIC = "deterministic"
    FLAKY = "flaky"
    UNKNOWN = "unknown"


class Cost(StrEnum):
    """What following a suggestion costs the person who follows it."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


CATEGORIES: dict[Cause, tuple[str, ...]] = {
    Cause.CODE: (
        "test-failure", "test-crash", "sanitizer", "snapshot", "benchmark-regression", "coverage", "compile", "link",
        "kernel-compile", "build-script", "syntax", "import", "api-incompatibility", "type-check", "lint", "format",
        "docs", "generated-files", "policy", "merge-conflict",
    ),
    Cause.CONFIGURATION: (
        "workflow", "missing-tool", "missing-artifact", "upstream-job", "permission", "secret", "dependency",
        "vulnerability-audit", "image-build",
    ),
    Cause.INFRASTRUCTURE: (
        "network", "rate-limit", "github-service", "package-index", "image-pull", "cache-service", "cache",
        "artifact-service", "storage", "runner-lost", "runner-unavailable", "runner-host", "disk-full",
        "out-of-memory", "timeout", "accelerator", "driver", "collective",
    ),
    Cause.INTERFERENCE: (
        "broken-trunk", "concurrent-merge", "version-matrix", "runner-contention", "image-update", "shared-resource",
        "upstream-change",
    ),
    Cause.CANCELLED: ("superseded", "by-user", "fail-fast", "shutdown"),
    Cause.NONE: ("none",),
    Cause.UNKNOWN: ("unknown",),
}  # fmt: skip

_HOME = {category: cause for cause, categories in CATEGORIES.items() for category in categories}


def home_cause(category: str) -> Cause | None:
    """The cause a category belongs to unless judged otherwise; None for a category that a pack added."""
    return _HOME.get(category)
