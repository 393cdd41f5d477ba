"""A stage that is fed a wrong file says what is wrong where, and leaves what was there before."""

import copy
import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Answer, build_eye
from tests.pipeline.conftest import STAGES

INPUTS = {
    "collect-metadata": ("workflow_runs.json", "runs", "fetch-runs"),
    "classify": ("build_metadata.json", "builds", "collect-metadata"),
    "recommend": ("classifications.json", "classifications", "classify"),
    "report": ("recommendations.json", "recommendations", "recommend"),
}
BEFORE = "what was there before"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is current, so that no configuration is found."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def valid(chain: Path) -> Callable[[str], Any]:
    """The content of the file that the stage before wrote."""
    return lambda stage: json.loads((chain / "data" / INPUTS[stage][0]).read_text())


def _fed(stage: str, raw: bytes, name: str = "in.json") -> Answer:
    Path(name).write_bytes(raw)
    return _run(stage, name)


def _run(stage: str, name: str) -> Answer:
    output = Path("out")
    if stage == "report":
        output.mkdir()
    kept = output / "kept.md" if stage == "report" else output
    kept.write_text(BEFORE)
    answer = build_eye(stage, "--input", name, "--output", "out")
    assert kept.read_text() == BEFORE, "a stage that fails leaves what was there"
    assert sorted(p.name for p in Path().iterdir() if p.name.startswith(".")) == []
    assert "Traceback" not in answer.err
    return answer


def _said(answer: Answer, stage: str, *words: str) -> None:
    assert answer.code == 2, answer
    assert answer.err.startswith("build-eye: in.json: ")
    assert f"`build-eye {INPUTS[stage][2]}` writes" in answer.err
    for word in words:
        assert word in answer.err


MISSING = [
    ("collect-metadata", 1, "id"),
    ("collect-metadata", 0, "name"),
    ("classify", 1, "run_id"),
    ("classify", 0, "workflow_run"),
    ("classify", 1, "workflow_run.name"),
    ("classify", 0, "jobs.0.name"),
    ("classify", 5, "jobs.1.steps.0.name"),
    ("recommend", 1, "run"),
    ("recommend", 0, "run.id"),
    ("recommend", 1, "verdict.cause"),
    ("recommend", 0, "jobs.0.diagnosis"),
    ("recommend", 2, "jobs.0.diagnosis.log"),
    ("recommend", 1, "jobs.0.verdict.confidence"),
    ("report", 0, "pipeline_type"),
    ("report", 1, "jobs.0.job.run_id"),
    ("report", 2, "suggestions.0.title"),
]


@pytest.mark.parametrize(("stage", "item", "field"), MISSING)
def test_a_missing_field_is_named_with_its_item(stage: str, item: int, field: str, valid: Callable[[str], Any]) -> None:
    data = valid(stage)
    *path, last = field.split(".")
    item = _first(data[INPUTS[stage][1]], path, item)
    del _at(data[INPUTS[stage][1]][item], path)[last]
    _said(_fed(stage, json.dumps(data).encode()), stage, f"item {item + 1}: field '{field}' is missing")


WRONG = [
    ("collect-metadata", "id", "twelve"),
    ("collect-metadata", "created_at", "yesterday"),
    ("collect-metadata", "pull_requests", 7),
    ("classify", "run_id", None),
    ("classify", "workflow_run", []),
    ("classify", "workflow_run.started_at", "soon"),
    ("classify", "jobs", {"a": 1}),
    ("classify", "jobs.0.steps", "none"),
    ("recommend", "verdict.cause", "bad-luck"),
    ("recommend", "verdict.confidence", "very"),
    ("recommend", "jobs.0.job.steps", 3),
    ("report", "jobs", None),
    ("report", "verdict.level", "sure"),
    ("report", "run.created_at", [1]),
]


@pytest.mark.parametrize(("stage", "field", "value"), WRONG)
def test_a_field_of_a_wrong_kind_is_named_with_its_item(
    stage: str, field: str, value: object, valid: Callable[[str], Any]
) -> None:
    data = valid(stage)
    *path, last = field.split(".")
    item = _first(data[INPUTS[stage][1]], path)
    _at(data[INPUTS[stage][1]][item], path)[last] = value
    _said(_fed(stage, json.dumps(data).encode()), stage, f"item {item + 1}: field '{field}", " is wrong (")


def _first(items: list[Any], path: list[str], begin: int = 0) -> int:
    """The number of the first item, counted from 0, that has such a place."""
    for number, item in enumerate(items[begin:], begin):
        try:
            _at(item, path)
        except (IndexError, KeyError, TypeError):
            continue
        return number
    raise AssertionError(f"no item has {path}")


def _at(item: Any, path: list[str]) -> Any:
    for key in path:
        item = item[int(key) if isinstance(item, list) else key]
    return item


NOT_A_STAGE_FILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not JSON"),
    "words": (b"no JSON at all", "not JSON"),
    "several lines, none JSON": (b"one\ntwo\nthree\n", "not JSON"),
    "cut off": (b'{"runs": [{"id": 1,', "not JSON"),
    "a number": (b"7", "is no list"),
    "another object": (b'{"something": "else"}', "is missing"),
    "items that are no objects": (b"[1, 2]", "item 1: "),
    "binary": (bytes(range(256)) * 4, "cannot be read as text"),
    "UTF-16": ('{"runs": []}'.encode("utf-16"), "cannot be read as text"),
    "cut off gzip": (gzip.compress(b"[]" * 1000)[:-12], "cannot be read as text"),
    "damaged gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + b"\xff" * 40, "cannot be read as text"),
    "nested without end": (b"[" * 200_000, "nested too deep"),
}


@pytest.mark.parametrize("stage", INPUTS)
@pytest.mark.parametrize(("raw", "said"), NOT_A_STAGE_FILE.values(), ids=NOT_A_STAGE_FILE.keys())
def test_what_is_no_stage_file_is_refused_in_one_sentence(stage: str, raw: bytes, said: str) -> None:
    answer = _fed(stage, raw)
    _said(answer, stage, said)
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("stage", INPUTS)
@pytest.mark.parametrize("other", INPUTS)
def test_the_file_of_another_stage_is_refused(stage: str, other: str, valid: Callable[[str], Any]) -> None:
    if stage == other:
        pytest.skip("its own file is no other stage's")
    _said(_fed(stage, json.dumps(valid(other)).encode()), stage, f"field '{INPUTS[stage][1]}' is missing")


@pytest.mark.parametrize("stage", INPUTS)
def test_a_file_that_is_not_there_is_said_with_the_stage_that_makes_it(stage: str) -> None:
    answer = _run(stage, "nowhere.json")
    assert answer.code == 2
    assert f"nowhere.json: no such file; it is what `build-eye {INPUTS[stage][2]}` writes" in answer.err


@pytest.mark.parametrize("stage", INPUTS)
def test_a_folder_is_no_stage_file(stage: str) -> None:
    Path("in.json").mkdir()
    answer = _run(stage, "in.json")
    assert answer.code == 2
    assert "cannot be read as text (Is a directory)" in answer.err


FORMS: dict[str, Callable[[Any, str], bytes]] = {
    "an object with the list": lambda data, key: json.dumps(data).encode(),
    "a list": lambda data, key: json.dumps(data[key]).encode(),
    "one object a line": lambda data, key: "\n".join(json.dumps(item) for item in data[key]).encode(),
    "compressed": lambda data, key: gzip.compress(json.dumps(data).encode()),
    "further fields": lambda data, key: json.dumps(
        {**data, "new": 1, key: [{**item, "later": {"x": 1}} for item in data[key]]}
    ).encode(),
}


@pytest.mark.parametrize(("form"), FORMS.values(), ids=FORMS.keys())
def test_all_forms_of_a_stage_file_are_read_alike(form: Callable[[Any, str], bytes], chain: Path) -> None:
    data = json.loads((chain / "data" / "classifications.json").read_text())
    Path("in.json").write_bytes(form(data, "classifications"))
    answer = build_eye("recommend", "--input", "in.json", "--output", "out.json")
    assert answer.code == 0, answer.err
    assert Path("out.json").read_bytes() == (chain / "data" / "recommendations.json").read_bytes()


UNWRITABLE = {
    "a file where a folder has to be": "taken/out.json",
    "a folder of that name": "folder",
    "a place that takes no files": "/proc/build-eye/out.json",
}


@pytest.mark.parametrize("output", UNWRITABLE.values(), ids=UNWRITABLE.keys())
@pytest.mark.parametrize("stage", ["classify", "recommend"])
def test_a_place_that_cannot_be_written_ends_with_3_and_leaves_no_scraps(
    stage: str, output: str, chain: Path, here: Path
) -> None:
    Path("taken").write_text(BEFORE)
    Path("folder").mkdir()
    shutil.copytree(chain / "data", "data")
    answer = build_eye(stage, "--input", f"data/{INPUTS[stage][0]}", "--output", output)
    assert answer.code == 3
    assert f"{output}: cannot be written (" in answer.err
    assert sorted(p.name for p in here.iterdir()) == ["data", "folder", "taken"]
    assert Path("taken").read_text() == BEFORE


def test_reports_that_cannot_be_written_end_with_3(chain: Path) -> None:
    Path("taken").write_text(BEFORE)
    given = str(chain / "data" / "recommendations.json")
    answer = build_eye("report", "--input", given, "--output", "taken")
    assert answer.code == 3
    assert answer.err.startswith("build-eye: reports cannot be written to taken")
    assert Path("taken").read_text() == BEFORE


WRONG_ARCHIVE = {
    "no folder": (("--input", "nowhere", "--repo", "a.git"), "nowhere: no such folder"),
    "no address": (("--input", "reports"), "no archive: give --repo"),
    "no branch name": (("--input", "reports", "--repo", "a.git", "--branch", "two words"), "two words"),
}


@pytest.mark.parametrize(("options", "said"), WRONG_ARCHIVE.values(), ids=WRONG_ARCHIVE.keys())
def test_an_archive_stage_that_lacks_something_says_what(options: tuple[str, ...], said: str) -> None:
    Path("reports").mkdir()
    answer = build_eye("archive", *options)
    assert answer.code == 2
    assert said in answer.err


def test_times_without_a_zone_are_in_utc(valid: Callable[[str], Any]) -> None:
    data = valid("classify")
    naive, mixed = copy.deepcopy(data), copy.deepcopy(data)
    for number, build in enumerate(naive["builds"]):
        for field in ("created_at", "started_at", "completed_at"):
            at = build["workflow_run"][field]
            build["workflow_run"][field] = at and at.removesuffix("Z")
            mixed["builds"][number]["workflow_run"][field] = at and (at.removesuffix("Z") if number % 2 else at)
    told = []
    for name, form in (("a", data), ("b", naive), ("c", mixed)):
        for build in form["builds"]:
            for job in build["failed_jobs"]:
                job["log_file"] = None
        Path(f"{name}.json").write_text(json.dumps(form))
        assert build_eye("classify", "--input", f"{name}.json", "--output", f"{name}.out").code == 0
        entries = json.loads(Path(f"{name}.out").read_text())["classifications"]
        told.append([(entry["workflow_run_id"], entry["classification"]) for entry in entries])
    assert told[0] == told[1] == told[2]


def test_every_stage_that_reads_a_file_is_in_the_table() -> None:
    assert INPUTS.keys() == {stage[0] for stage in STAGES} - {"fetch-runs", "archive"}
