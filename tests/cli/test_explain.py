"""`build-eye explain`: one answer a log, in the order given, whatever form the log has."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from buildeye.simulator.failures import FAILURES, failure_text
from tests.cli.contract import check
from tests.cli.program import build_eye

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
RED = """\
2026-05-28T01:02:03.1000000Z ##[group]Run pytest tests
2026-05-28T01:02:03.2000000Z ##[endgroup]
2026-05-28T01:02:04.0000000Z collected 3 items
2026-05-28T01:02:05.0000000Z tests/test_a.py:7: in test_b
2026-05-28T01:02:05.0000000Z E   AssertionError: assert 3 == 2
2026-05-28T01:02:05.0000000Z FAILED tests/test_a.py::test_b - AssertionError: assert 3 == 2
2026-05-28T01:02:05.0000000Z ========================= 1 failed, 2 passed in 3.21s =========================
2026-05-28T01:02:06.0000000Z ##[error]Process completed with exit code 1.
"""
KEY = 5
STRANGE_GREEN = "alpha ready\nbeta ready\ngamma ready\n"
STRANGE_RED = "alpha ready\nbeta gave up on flange 7\ngamma ready\n##[error]Process completed with exit code 4.\n"
JOB = {
    "id": 7, "run_id": 1, "name": "unit", "status": "completed", "conclusion": "failure", "run_attempt": 1,
    "head_sha": "a" * 40, "head_branch": "topic", "workflow_name": "E2E", "labels": [], "steps": [],
    "created_at": "2026-05-28T01:00:00Z", "started_at": "2026-05-28T01:00:00Z", "completed_at": "2026-05-28T01:05:00Z",
    "html_url": "", "runner_id": 1, "runner_name": "r", "runner_group_name": "g",
}  # fmt: skip


def _json(*arguments: str, stdin: bytes = b"") -> list[dict[str, Any]]:
    answer = build_eye("explain", "--json", *arguments, stdin=stdin)
    assert answer.code == 0, answer.err
    diagnoses = [json.loads(line) for line in answer.out.splitlines()]
    for diagnosis in diagnoses:
        check(diagnosis)
    return diagnoses


def _zip(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def test_the_answer_is_the_contracts_object() -> None:
    Path("job.log").write_text(RED)
    (diagnosis,) = _json("job.log")
    assert (diagnosis["log"], diagnosis["cause"], diagnosis["category"]) == ("job.log", "code", "test-failure")
    assert diagnosis["key_line"]["number"] == KEY
    assert diagnosis["tests"] == ["tests/test_a.py::test_b"]
    assert "tests/test_a.py" in diagnosis["files"]


def test_every_failure_of_the_simulator_has_an_answer_the_contract_allows() -> None:
    names = sorted(key for key in FAILURES if key != "runner-gone")
    for name in names:
        Path(f"{name}.log").write_text(failure_text(name))
    diagnoses = _json(*(f"{name}.log" for name in names))
    assert [diagnosis["log"] for diagnosis in diagnoses] == [f"{name}.log" for name in names]


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the corpus is not at {CORPUS}")
@pytest.mark.parametrize("kind", ["cases", "logdx", "pytorch"])
def test_every_real_log_has_an_answer_the_contract_allows(kind: str) -> None:
    logs = [str(path) for path in sorted((CORPUS / kind).glob("*/log.gz"))[:40]]
    assert [diagnosis["log"] for diagnosis in _json(*logs)] == logs


def test_several_logs_are_answered_in_the_order_given() -> None:
    for name in "cab":
        Path(name).write_text(RED)
    assert [diagnosis["log"] for diagnosis in _json("c", "a", "b", "a")] == ["c", "a", "b", "a"]


FORMS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    ".gz": lambda text: gzip.compress(text.encode()),
    ".zst": lambda text: zstandard.compress(text.encode()),
    "GitHub's .zip": lambda text: _zip({"0_unit.txt": text, "unit/1_Set up job.txt": "ready\n"}),
    "UTF-16": lambda text: text.encode("utf-16"),
    "carriage returns": lambda text: text.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("pack", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("piped", [False, True], ids=["a file", "standard input"])
def test_a_log_says_the_same_in_every_form(pack: Callable[[str], bytes], piped: bool) -> None:
    raw = pack(RED)
    Path("job.log").write_bytes(raw)
    Path("plain.log").write_text(RED)
    (expected,) = _json("plain.log")
    (diagnosis,) = _json("-", stdin=raw) if piped else _json("job.log")
    del expected["log"], diagnosis["log"]
    assert diagnosis == expected


def test_each_job_of_a_zip_is_answered_under_its_own_name() -> None:
    Path("logs.zip").write_bytes(_zip({"0_unit.txt": RED, "1_lint.txt": RED}))
    assert [diagnosis["log"] for diagnosis in _json("logs.zip")] == ["logs.zip:unit", "logs.zip:lint"]


def test_what_a_passing_log_does_not_have_is_the_line_to_read() -> None:
    Path("green.log").write_text(STRANGE_GREEN)
    Path("red.log").write_text(STRANGE_RED)
    (diagnosis,) = _json("--baseline", "green.log", "red.log")
    assert diagnosis["key_line"] == {"number": 2, "text": "beta gave up on flange 7"}
    assert diagnosis["evidence"][0]["kind"] == "baseline"


def test_a_passing_log_is_unpacked_like_any_other() -> None:
    Path("green.log").write_bytes(zstandard.compress(STRANGE_GREEN.encode()))
    Path("red.log").write_text(STRANGE_RED)
    (diagnosis,) = _json("--baseline", "green.log", "red.log")
    assert diagnosis["key_line"]["number"] == 2


@pytest.mark.parametrize("conclusion", ["success", "skipped", "neutral"])
def test_a_job_that_github_says_did_not_fail_has_no_cause(conclusion: str) -> None:
    Path("job.log").write_text(RED)
    Path("job.json").write_text(json.dumps(JOB | {"conclusion": conclusion}))
    (diagnosis,) = _json("--job", "job.json", "job.log")
    assert (diagnosis["cause"], diagnosis["key_line"]) == ("none", None)


def test_the_step_that_github_says_failed_is_named() -> None:
    steps = [
        {"name": "Set up job", "number": 1, "status": "completed", "conclusion": "success"},
        {"name": "Run tests", "number": 2, "status": "completed", "conclusion": "failure"},
    ]
    for step in steps:
        step |= {"started_at": "2026-05-28T01:02:03Z", "completed_at": "2026-05-28T01:02:07Z"}
    Path("job.log").write_text(RED)
    Path("job.json").write_text(json.dumps(JOB | {"steps": steps}))
    (diagnosis,) = _json("--job", "job.json", "job.log")
    assert "Run tests" in diagnosis["summary"]


def test_rules_of_ones_own_come_first() -> None:
    Path("rules").mkdir()
    Path("rules", "own.toml").write_text(
        '[[rule]]\nid = "own.flange"\ncategory = "storage"\ntitle = "The flange gave up"\n'
        "any = ['gave up on flange \\d+']\nexplanation = 'Flanges do.'\n"
        "must_match = ['beta gave up on flange 7']\nmust_not_match = ['the flange is fine']\n"
    )
    Path("red.log").write_text(STRANGE_RED)
    (diagnosis,) = _json("--knowledge", "rules", "red.log")
    assert diagnosis["category"] == "storage"
    assert diagnosis["evidence"][0]["id"] == "own.flange"


def test_a_person_reads_the_answer_first_then_the_line_then_what_to_do() -> None:
    Path("job.log").write_text(RED)
    answer = build_eye("explain", "job.log")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0].startswith("code / test-failure · ")
    assert any(line.startswith(f"▶ {KEY} │ E   AssertionError") for line in lines)
    words = [line.split()[0] for line in lines if line.startswith(("Why ", "Do "))]
    assert words == ["Why", "Do"]
    assert all(len(line) <= 100 for line in lines)


def test_long_sentences_are_wrapped_and_commands_are_not() -> None:
    names = sorted(key for key in FAILURES if key != "runner-gone")
    for name in names:
        Path(f"{name}.log").write_text(failure_text(name))
    said = build_eye("explain", *(f"{name}.log" for name in names)).out.splitlines()
    wide = [line for line in said if len(line) > 100 and "│" not in line]
    assert all(line.lstrip().startswith("$ ") or " " not in line.strip() for line in wide), wide


def test_what_is_not_a_terminal_gets_no_colours() -> None:
    Path("job.log").write_text(RED.replace("assert 3", "\x1b[31massert 3\x1b[0m\x07"))
    for options in ((), ("--json",)):
        answer = build_eye("explain", *options, "job.log")
        assert not {"\x1b", "\x07"} & set(answer.out)
