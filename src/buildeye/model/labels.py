"""The categories of the diagnosis contract as people say them in English; reports hold the other languages."""

ENGLISH = {
    "test-failure": "Failing test",
    "test-crash": "Test process crashed",
    "sanitizer": "Sanitizer error",
    "snapshot": "Snapshot differs",
    "benchmark-regression": "Benchmark got slower",
    "coverage": "Coverage too low",
    "compile": "Compile error",
    "link": "Link error",
    "kernel-compile": "Kernel does not compile",
    "build-script": "Build script failed",
    "syntax": "Syntax error",
    "import": "Import error",
    "api-incompatibility": "Incompatible API",
    "type-check": "Type errors",
    "lint": "Lint errors",
    "format": "Formatting differs",
    "docs": "Documentation does not build",
    "generated-files": "Generated files are out of date",
    "policy": "A policy check failed",
    "merge-conflict": "Merge conflict",
    "workflow": "Workflow error",
    "missing-tool": "Missing tool",
    "missing-artifact": "Missing artifact",
    "upstream-job": "An earlier job failed",
    "permission": "Missing permission",
    "secret": "Missing secret",
    "dependency": "Dependency versions conflict",
    "vulnerability-audit": "Vulnerability audit failed",
    "image-build": "Image does not build",
    "network": "Network failure",
    "rate-limit": "Rate limit reached",
    "github-service": "GitHub service failure",
    "package-index": "Package index unreachable",
    "image-pull": "Image could not be pulled",
    "cache-service": "Cache service failure",
    "cache": "Cache failure",
    "artifact-service": "Artifact service failure",
    "storage": "Storage failure",
    "runner-lost": "Runner lost",
    "runner-unavailable": "No runner available",
    "runner-host": "Runner host failure",
    "disk-full": "Disk full",
    "out-of-memory": "Out of memory",
    "timeout": "Timeout",
    "accelerator": "Accelerator failure",
    "driver": "Driver failure",
    "collective": "Collective communication failure",
    "broken-trunk": "Broken trunk",
    "concurrent-merge": "Merges close together",
    "version-matrix": "One version of the matrix fails",
    "runner-contention": "Runners contended",
    "image-update": "The image moved",
    "shared-resource": "A shared resource collided",
    "upstream-change": "An upstream project moved",
    "superseded": "Superseded by a newer run",
    "by-user": "Cancelled by a person",
    "fail-fast": "Stopped because another job failed",
    "shutdown": "Stopped by a shutdown",
    "none": "Nothing failed",
    "unknown": "No known error",
}


def plain(category: str) -> str:
    """A category in words to use inside a sentence; a category that a pack added is said as it is written."""
    return uncapitalised(ENGLISH.get(category, category))


def uncapitalised(label: str) -> str:
    """A label as it reads inside a sentence; one that starts with a name or an abbreviation stays as it is."""
    is_name = label[1:2].isupper() or label.startswith("GitHub") or not label.isascii()
    return label if is_name else label[:1].lower() + label[1:]
