"""Does the failure name what the change touches?"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from buildeye.triage.evidence.piece import Piece, Window
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject

_MANIFESTS = frozenset(
    {
        "pyproject.toml", "setup.py", "setup.cfg", "package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",
        "Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "pom.xml", "build.gradle", "build.gradle.kts", "Gemfile",
        "Gemfile.lock", "uv.lock", "poetry.lock", "environment.yml", "conanfile.txt", "vcpkg.json",
    }
)  # fmt: skip
_MACHINERY = (".github/", ".ci/", "ci/", "docker/", ".gitlab", ".pre-commit")


def judge_own(subject: Subject, history: History, window: Window, alike: Sequence[Result]) -> Iterator[Piece]:
    """Files of the failure beside files of the change, and changes to dependencies and to CI itself."""
    changed = _changed(subject, history)
    if not changed:
        return
    named = named_files(subject)
    touched = [path for path in changed if path in named or any(_same_end(path, name) for name in named)]
    near = [] if touched else sorted({path for path in changed for name in named if related(path, name)})
    if touched:
        yield Piece("own-files", 1.0, ", ".join(touched[:4]), "this change touches a file that the failure names")
    elif near:
        yield Piece("own-area", 1.0, ", ".join(near[:4]), "this change touches what the failing test is about")
    elif named:
        yield Piece(
            "foreign-files",
            1.0,
            ", ".join(sorted(named)[:3]),
            "this change touches none of the files the failure names",
        )
    manifests = [path for path in changed if is_manifest(path)]
    if manifests:
        yield Piece("own-dependencies", 1.0, ", ".join(manifests[:3]), "this change touches what is installed")
    machinery = [path for path in changed if is_machinery(path)]
    if machinery:
        yield Piece("own-machinery", 1.0, ", ".join(machinery[:3]), "this change touches CI itself")


def _changed(subject: Subject, history: History) -> tuple[str, ...]:
    if subject.own.on_base:
        merge = history.merge_of.get(subject.own.head_sha)
        return merge.files if merge else ()
    return subject.pull_request.changed_files if subject.pull_request else ()


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


def _same_end(path: str, name: str) -> bool:
    """Logs name files from other roots: `/build/src/a.py` is `src/a.py`."""
    return "/" in path and name.endswith(f"/{path}")


def related(path: str, name: str) -> bool:
    """Is one the test of the other, by their names? `tests/ops/test_rope.py` is of `src/ops/rope.py`."""
    return path != name and bool(_stem(path)) and _stem(path) == _stem(name)


def _stem(path: str) -> str:
    stem = PurePosixPath(path).name.split(".")[0].lower()
    for mark in ("test_", "_test", "tests_", "-test", "test-"):
        stem = stem.removeprefix(mark) if mark[-1] in "_-" else stem.removesuffix(mark)
    stem = stem.removesuffix("spec").removesuffix("tests").removesuffix("test")
    return stem if len(stem) > 3 and stem not in _COMMON else ""


_COMMON = frozenset({"__init__", "conftest", "main", "index", "readme", "utils", "common", "setup", "config", "types"})


def overlap(files: Iterable[str], named: set[str]) -> int:
    """How closely changed files match named ones: 2 a file that is named, 1 one that is related, 0 none."""
    return max((_closeness(path, named) for path in files), default=0)


def _closeness(path: str, named: set[str]) -> int:
    if path in named or any(_same_end(path, name) for name in named):
        return 2
    return int(any(related(path, name) for name in named))
