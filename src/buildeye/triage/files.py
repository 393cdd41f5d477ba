"""Files that a failure names beside files that a change touches, and what kind of file these are."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from buildeye.triage.results import Subject

_MANIFESTS = frozenset(
    {
        "pyproject.toml", "setup.py", "setup.cfg", "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",
        "Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "pom.xml", "build.gradle", "build.gradle.kts", "Gemfile",
        "Gemfile.lock", "uv.lock", "poetry.lock", "environment.yml", "conanfile.txt", "vcpkg.json",
    }
)  # fmt: skip
_MACHINERY = (".github/", ".ci/", "ci/", "docker/", ".gitlab", ".pre-commit")


def named_files(subject: Subject) -> set[str]:
    """Repository paths that the failure names: its files, and those of its tests."""
    tests = (test.split("::")[0] for test in subject.diagnosis.tests)
    return {path for path in (*subject.diagnosis.files, *tests) if "/" in path or "." in path}


def is_manifest(path: str) -> bool:
    """Does the file say what is installed?"""
    name = PurePosixPath(path).name
    return name in _MANIFESTS or (name.startswith(("requirements", "constraints")) and name.endswith((".txt", ".in")))


def is_machinery(path: str) -> bool:
    """Is the file part of CI, or of the images it runs in?"""
    name = PurePosixPath(path).name.lower()
    return path.startswith(_MACHINERY) or name.startswith(("dockerfile", "containerfile")) or name == "jenkinsfile"


def is_touched(path: str, named: set[str]) -> bool:
    """Is a changed file among those named? Logs name files from other roots: `/build/src/a.py` is `src/a.py`."""
    return path in named or ("/" in path and any(name.endswith(f"/{path}") for name in named))


def related(path: str, name: str) -> bool:
    """Is one the test of the other, by their names? `tests/ops/test_rope.py` is of `src/ops/rope.py`."""
    return path != name and bool(_stem(path)) and _stem(path) == _stem(name)


def _stem(path: str) -> str:
    stem = PurePosixPath(path).name.split(".")[0].lower()
    for mark in ("test_", "_test", "tests_", "-test", "test-"):
        stem = stem.removeprefix(mark) if mark[-1] in "_-" else stem.removesuffix(mark)
    stem = stem.removesuffix("spec").removesuffix("tests").removesuffix("test").rstrip("_-")
    return stem if len(stem) > 3 and stem not in _COMMON else ""


_COMMON = frozenset({"__init__", "conftest", "main", "index", "readme", "utils", "common", "setup", "config", "types"})


def overlap(files: Iterable[str], named: set[str]) -> int:
    """How closely changed files match named ones: 2 a file that is named, 1 one that is related, 0 none."""
    return max((_closeness(path, named) for path in files), default=0)


def _closeness(path: str, named: set[str]) -> int:
    if is_touched(path, named):
        return 2
    return int(any(related(path, name) for name in named))
