"""What the change itself touches, which leg of a matrix fails, and what moved under the job."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from buildeye.model import Thing
from buildeye.triage.evidence.ground import judge_ground
from buildeye.triage.evidence.matrix import judge_matrix
from buildeye.triage.evidence.own import judge_own
from buildeye.triage.files import is_machinery, is_manifest, overlap
from buildeye.triage.results import Result, is_version, leg_of
from tests.triage.cases import (
    OTHER,
    OWN,
    again,
    diagnosis,
    in_pull,
    merge,
    on_base,
    on_main,
    passed,
    pieces,
    pull,
    sha_of,
    subject,
    thing,
)

TOUCHES: dict[str, tuple[dict[str, tuple[str, ...]], tuple[str, ...], set[str]]] = {
    "nothing is known of the change": ({"files": ("src/rope.py",)}, (), set()),
    "the failure names no file": ({}, ("src/rope.py",), set()),
    "a file that is named": ({"files": ("src/rope.py",)}, ("src/rope.py",), {"own-files"}),
    "the same file below another root": ({"files": ("/build/src/rope.py",)}, ("src/rope.py",), {"own-files"}),
    "a file of that name elsewhere": ({"files": ("/build/rope.py",)}, ("rope.py",), {"own-area"}),
    "the test that fails": ({"tests": ("tests/test_rope.py::test_a[1]",)}, ("tests/test_rope.py",), {"own-files"}),
    "what the test is about": ({"tests": ("tests/test_rope.py::T::test_a",)}, ("src/rope.py",), {"own-area"}),
    "something else": ({"files": ("src/rope.py",)}, ("src/attention.py",), {"foreign-files"}),
    "what is installed": ({}, ("requirements-dev.txt", "src/a.py"), {"own-dependencies"}),
    "CI itself": ({}, (".github/workflows/ci.yml",), {"own-machinery"}),
    "an image": ({}, ("deploy/Dockerfile.npu",), {"own-machinery"}),
}


@pytest.mark.parametrize(("named", "changed", "found"), TOUCHES.values(), ids=TOUCHES.keys())
def test_what_the_change_touches(named: dict[str, tuple[str, ...]], changed: tuple[str, ...], found: set[str]) -> None:
    of = subject(diagnosis(**named), pull(changed_files=changed))
    assert pieces(judge_own, of).keys() == found


@pytest.mark.parametrize(("category", "pinned"), [("dependency", True), ("import", True), ("test-failure", False)])
def test_a_change_of_what_is_installed_says_more_where_installing_failed(category: str, pinned: bool) -> None:
    of = subject(diagnosis(category=category), pull(changed_files=("requirements.txt",)))
    assert ("own-pin" in pieces(judge_own, of)) is pinned
    assert "own-pin" not in pieces(judge_own, subject(diagnosis(category=category), pull(changed_files=("src/a.py",))))


def test_on_the_base_branch_the_change_is_the_merge_that_was_built() -> None:
    of = on_main(diagnosis(files=("src/rope.py",)), sha=sha_of(60))
    assert pieces(judge_own, of, merges=[merge(60, -1, "src/rope.py")]).keys() == {"own-files"}
    assert pieces(judge_own, of, merges=[merge(61, -1, "src/rope.py")]) == {}


CLOSE = [
    ("src/ops/rope.py", "src/ops/rope.py", 2),
    ("src/ops/rope.py", "/__w/app/src/ops/rope.py", 2),
    ("src/ops/rope.py", "tests/ops/test_rope.py", 1),
    ("src/ops/rope.py", "tests/ops/rope_test.py", 1),
    ("src/ops/rope.py", "tests/ops/rope_tests.py", 1),
    ("lib/rope.rb", "spec/rope_spec.rb", 1),
    ("src/rope.ts", "src/rope.test.ts", 1),
    ("src/rope.ts", "src/rope.spec.ts", 1),
    ("src/main/Rope.java", "src/test/RopeTest.java", 1),
    ("src/ops/rope.py", "tests/ops/test_norm.py", 0),
    ("src/utils.py", "tests/test_utils.py", 0),
    ("src/a.py", "tests/test_a.py", 0),
    ("spec/rope.md", "docs/spec.md", 0),
]


@pytest.mark.parametrize(("changed", "named", "closeness"), CLOSE)
def test_how_close_a_changed_file_is_to_a_named_one(changed: str, named: str, closeness: int) -> None:
    assert overlap([changed], {named}) == closeness


FILES = [
    ("pyproject.toml", True, False), ("web/package.json", True, False), ("requirements/dev.txt", False, False),
    ("requirements.in", True, False), ("constraints-ci.txt", True, False), ("requirements.md", False, False),
    (".github/workflows/a.yml", False, True), ("docker/run.sh", False, True), ("Jenkinsfile", False, True),
    ("src/docker/run.py", False, False), ("Containerfile", False, True),
]  # fmt: skip


@pytest.mark.parametrize(("path", "manifest", "machinery"), FILES)
def test_what_kind_of_file_a_path_is(path: str, manifest: bool, machinery: bool) -> None:
    assert (is_manifest(path), is_machinery(path)) == (manifest, machinery)


LEGS = [
    ("unit", "unit", ()),
    ("unit (3.12)", "unit ()", ("3.12",)),
    ("unit (3.12, linux)", "unit ()", ("3.12", "linux")),
    ("unit (3.12, 2)", "unit ()", ("3.12",)),
    ("unit (2/8)", "unit ()", ()),
    ("unit (shard 1 of 4)", "unit ()", ()),
    ("unit (3.12) / e2e (910b)", "unit () / e2e ()", ("3.12", "910b")),
]


@pytest.mark.parametrize(("name", "skeleton", "values"), LEGS)
def test_values_of_a_matrix_are_told_from_numbers_of_shards(name: str, skeleton: str, values: tuple[str, ...]) -> None:
    assert leg_of(name) == (skeleton, values)


VALUES = [
    "3.12", "v1.2.3", "py312", "python 3.12", "cuda-12", "torch==2.5.1", "nightly", "main", "release-2.1", "oldest",
    "node20",
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_a_version_is_a_value_that_may_break_a_leg(value: str) -> None:
    assert is_version(value)


@pytest.mark.parametrize("value", ["linux", "cpu x4", "910b", "a2", "ubuntu", "x86_64", "npu-2", "gpu", ""])
def test_hardware_and_systems_are_no_versions(value: str) -> None:
    assert not is_version(value)


def _sibling(number: int, name: str, **given: object) -> Result:
    return again(number, attempt=1, name=name, **given)


LEG = subject(name="unit (3.12, linux)")
GREEN_LEG = passed(_sibling(12, "unit (3.11, linux)"))
MATRIX: dict[str, tuple[Sequence[Result], set[str]]] = {
    "no other leg is known": ((), set()),
    "another version passed": ([GREEN_LEG], {"leg-only"}),
    "another version was stopped": ([_sibling(12, "unit (3.11, linux)", conclusion="cancelled")], set()),
    "another version failed alike": ([_sibling(12, "unit (3.11, linux)")], {"other-legs-too"}),
    "one more failed otherwise": ([GREEN_LEG, _sibling(13, "unit (3.10, linux)", signature=OTHER)], set()),
    "the same version failed on another system": ([GREEN_LEG, _sibling(13, "unit (3.12, mac)", signature=OTHER)],
                                                  {"leg-only"}),
    "the same version passed on another system": ([GREEN_LEG, passed(_sibling(13, "unit (3.12, mac)"))], set()),
    "another job passed": ([passed(_sibling(12, "lint (3.11, linux)"))], set()),
    "another attempt passed": ([passed(again(12, name="unit (3.11, linux)"))], set()),
    "the leg fails elsewhere": ([GREEN_LEG, in_pull(7, name="unit (3.12, linux)")],
                                {"leg-only", "leg-fails-elsewhere"}),
    "the leg fails elsewhere, days before": ([GREEN_LEG, in_pull(7, -25, name="unit (3.12, linux)")], {"leg-only"}),
    "another leg fails elsewhere": ([GREEN_LEG, in_pull(7, name="unit (3.11, linux)")], {"leg-only"}),
    "it and another fail elsewhere": (
        [GREEN_LEG, in_pull(7, name="unit (3.12, linux)"), in_pull(8, name="unit (3.11, linux)")], {"leg-only"},
    ),
    "the leg failed in this pull request": ([GREEN_LEG, in_pull(OWN, name="unit (3.12, linux)")], {"leg-only"}),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), MATRIX.values(), ids=MATRIX.keys())
def test_one_leg_of_a_matrix(results: Sequence[Result], found: set[str]) -> None:
    assert pieces(judge_matrix, LEG, results).keys() == found


@pytest.mark.parametrize(
    ("own", "other"), [("unit (1/2)", "unit (2/2)"), ("unit (910b)", "unit (a2)"), ("unit", "unit (3.12)")]
)
def test_shards_hardware_and_jobs_without_a_matrix_have_no_legs(own: str, other: str) -> None:
    assert pieces(judge_matrix, subject(name=own), [passed(_sibling(12, other))]) == {}


NPU, NEW = thing("npu", "sha256:aaaa", "image"), thing("npu", "sha256:bbbb", "image")
OLD_NUMPY, NUMPY = thing("numpy", "2.3.1"), thing("numpy", "2.4.0")
GIT, NEW_GIT = thing("git", "2.51.0", "tool"), thing("git", "2.52.0", "tool")
GREEN = passed(on_base(50, -3))


def _ground(
    before: Sequence[Thing], after: Sequence[Thing], results: Sequence[Result] = (GREEN,), line: str = "", **of: object
) -> dict[str, str]:
    named = diagnosis(summary=line)
    found = pieces(
        judge_ground, subject(named, pull(**of)), results, things={GREEN.job_id: before, subject().own.job_id: after}
    )
    return {name: piece.quote for name, piece in found.items()}


def test_an_image_that_moved_since_the_last_pass_is_told() -> None:
    assert _ground([NPU], [NEW]) == {"image-moved": "npu sha256:aaaa -> sha256:bbbb"}


def test_what_did_not_move_is_not_told() -> None:
    assert _ground([NPU, OLD_NUMPY], [NPU, OLD_NUMPY]) == {}


def test_a_package_that_appeared_did_not_move() -> None:
    assert _ground([GIT], [GIT, NUMPY]) == {}


def test_packages_and_tools_are_told_apart() -> None:
    assert _ground([OLD_NUMPY, GIT], [NUMPY, NEW_GIT]).keys() == {"package-moved", "tool-moved"}


LINES = {
    "AttributeError: module 'numpy' has no attribute 'a'": True,
    "numpy.core failed": True,
    "error in numpy": True,
    "error in NumPy": True,
    "cannot build numpy-2.4.0-cp311.whl": True,
    "error in mynumpy": False,
    "error in numpy_groupies": False,
    "error in numpy-stubs": False,
    "error in scipy": False,
}


@pytest.mark.parametrize(("line", "named"), LINES.items())
def test_a_package_that_moved_is_named_as_a_word(line: str, named: bool) -> None:
    assert ("moved-is-named" in _ground([OLD_NUMPY], [NUMPY], line=line)) is named


def test_packages_are_imported_with_underscores_for_their_dashes() -> None:
    found = _ground([thing("torch-npu", "2.5")], [thing("torch-npu", "2.6")], line="import torch_npu failed")
    assert found["moved-is-named"] == "torch-npu 2.5 -> 2.6"


def test_an_image_is_not_named_by_a_word() -> None:
    assert _ground([NPU], [NEW], line="npu is not there").keys() == {"image-moved"}


@pytest.mark.parametrize("path", ["requirements.txt", ".github/workflows/ci.yml", "docker/Dockerfile"])
def test_what_the_change_pins_itself_moved_by_the_change(path: str) -> None:
    found = _ground([NPU, OLD_NUMPY, GIT], [NEW, NUMPY, NEW_GIT], changed_files=(path,))
    assert found.keys() == {"image-moved-by-change", "package-moved-by-change", "tool-moved-by-change"}


def test_an_ordinary_change_moves_nothing_itself() -> None:
    assert _ground([NPU], [NEW], changed_files=("src/a.py",)).keys() == {"image-moved"}


COMPARED: dict[str, tuple[Sequence[Result], bool]] = {
    "it passed on the base branch": ([GREEN], True),
    "it passed in another pull request": ([passed(in_pull(7, -2, job_id=50))], True),
    "no pass is known": ([on_base(50, -3)], False),
    "another job passed": ([replace(GREEN, name="lint")], False),
    "it passed afterwards": ([passed(on_base(50, 1))], False),
    "equal failures began before it passed": ([in_pull(7, -4), GREEN], False),
}


@pytest.mark.parametrize(("results", "compared"), COMPARED.values(), ids=COMPARED.keys())
def test_a_job_is_compared_with_its_last_pass_before_the_failures_began(
    results: Sequence[Result], compared: bool
) -> None:
    assert bool(_ground([NPU], [NEW], results)) is compared


def test_where_nobody_read_what_a_job_ran_in_nothing_moved() -> None:
    assert pieces(judge_ground, subject(), [GREEN], things={50: [NPU]}) == {}
    assert pieces(judge_ground, subject(), [GREEN], things={11: [NEW]}) == {}


SAME = "a" * 40
SAME_COMMIT: dict[str, tuple[Sequence[Result], set[str]]] = {
    "it passed before": ([passed(on_base(50, -2, head_sha=SAME))], {"same-commit-passed-before"}),
    "it passed before and afterwards": (
        [passed(on_base(50, -2, head_sha=SAME)), passed(on_base(51, 2, head_sha=SAME))], set(),
    ),
    "it passed afterwards": ([passed(on_base(51, 2, head_sha=SAME))], set()),
    "another commit passed before": ([passed(on_base(50, -2))], set()),
}  # fmt: skip


@pytest.mark.parametrize(("results", "found"), SAME_COMMIT.values(), ids=SAME_COMMIT.keys())
def test_a_commit_of_the_base_branch_that_passed_before_has_other_ground(
    results: Sequence[Result], found: set[str]
) -> None:
    assert pieces(judge_ground, on_main(), results).keys() == found
