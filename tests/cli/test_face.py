"""What `build-eye explain` shows a person: the answer first, the line in its context, what to do, nothing too wide."""

import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import buildeye
from buildeye.cli.face import Effort, name_line, show_diagnosis
from buildeye.cli.terminal import Look, cells, cut, folded, look_of, wants_color, wrapped
from buildeye.logs.diagnose import LogReading
from buildeye.model import (
    Cause,
    Cost,
    Determinism,
    Diagnosis,
    Evidence,
    Excerpt,
    KeyLine,
    LogLine,
    Suggestion,
)
from tests.cli.program import build_eye
from tests.cli.test_explain import RED

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
KEY = "E   TypeError: Sampler.__init__() got an unexpected keyword argument 'mode'"
TESTS = tuple(f"tests/test_sampler.py::test_{name}" for name in ("topk", "topp", "greedy"))
FOUND = Diagnosis(
    log="job.log",
    cause=Cause.CODE,
    category="test-failure",
    determinism=Determinism.DETERMINISTIC,
    confidence=0.94,
    summary=f"{TESTS[0]}: unexpected argument mode (and 2 more tests). "
    'Step "Run unit tests" failed: failing test (pytest).',
    key_line=KeyLine(1875, KEY),
    excerpts=(Excerpt(1871, 1885, "the key line and what belongs to it"),),
    evidence=(
        Evidence("rule", "python.unexpected", KEY, "Caller and callee disagree. One moved. Nobody says which.", 1875),
        Evidence("rule", "pytest.failed", "FAILED", "a test failed", 1880),
        Evidence("step", "tally", "==== 3 failed, 212 passed in 98.41s ====", "how many failed", 1890),
        Evidence("step", "step", "Run unit tests", "the step that failed", 1400),
        Evidence("step", "exit", "##[error]Process completed with exit code 1.", "how it ended", 1895),
    ),
    tests=TESTS,
    suggestions=(
        Suggestion("Run it alone", Cost.LOW, ("From the root",), f"pytest {TESTS[0]}"),
        Suggestion("Guard the argument by version", Cost.MEDIUM),
        Suggestion("Write another sampler", Cost.HIGH),
    ),
    retry_helps=False,
)
LINES = tuple(LogLine(n, KEY if n == 1875 else f"line {n}") for n in range(1860, 1890))
READ = LogReading(FOUND, LINES)
EFFORT = Effort(12402, 18.2, {"python.unexpected", "network.reset"})


def shown(reading: LogReading = READ, look: Look | None = None, effort: Effort | None = EFFORT) -> list[str]:
    return show_diagnosis(reading, look or Look(), effort).splitlines()


def test_the_first_line_is_the_verdict_with_the_count_of_tests_at_the_right() -> None:
    first = shown()[0]
    assert first.startswith("code / test-failure · deterministic · 94 % sure  ")
    assert first.endswith("  3 tests, 1 cause")
    assert len(first) == 100


def test_another_rule_that_names_a_cause_leaves_the_number_of_causes_open() -> None:
    other = Evidence("rule", "network.reset", "reset", "the connection broke", 1700)
    lines = shown(LogReading(replace(FOUND, evidence=(*FOUND.evidence, other)), LINES))
    assert lines[0].endswith("  3 tests")
    assert "other candidates: network.reset · rule python.unexpected" in "\n".join(lines)


def test_a_test_that_is_named_in_two_ways_is_one_test() -> None:
    assert shown(LogReading(replace(FOUND, tests=(TESTS[0], "test_topk")), LINES))[0].endswith("  1 test")


def test_the_headline_is_the_first_sentence_without_what_is_told_elsewhere() -> None:
    assert shown()[1:3] == [f"{TESTS[0]}: unexpected argument mode", ""]


def test_a_log_that_is_not_whole_says_so_below_the_headline() -> None:
    early = replace(FOUND, summary=f"{FOUND.summary} The log ends early: the archive is damaged.")
    assert shown(LogReading(early, LINES))[2] == "The log ends early: the archive is damaged."


def test_the_key_line_stands_in_its_context_with_the_numbers_of_the_log() -> None:
    rows = [line for line in shown() if " │ " in line]
    assert [int(row[1:].split()[0]) for row in rows] == [1872, 1873, 1874, 1875, 1876, 1877, 1878, 1890]
    assert rows[3] == f"▶ 1875 │ {KEY}"
    assert rows[0] == "  1872 │ line 1872"
    assert "3 failed, 212 passed" in rows[-1]


def test_lines_behind_the_end_of_the_failure_are_not_shown() -> None:
    behind = Evidence("words", "context", "Post job cleanup.", "beside the key line", 1896)
    lines = shown(LogReading(replace(FOUND, evidence=(*FOUND.evidence, behind)), LINES))
    assert not [line for line in lines if "Post job" in line]


def test_why_names_the_step_and_takes_two_sentences_of_the_rule() -> None:
    why = next(line for line in shown() if line.startswith("Why "))
    assert why == 'Why    Step "Run unit tests" failed. Caller and callee disagree. One moved.'


def test_what_to_do_is_numbered_with_its_cost_and_its_command() -> None:
    lines = shown()
    start = next(i for i, line in enumerate(lines) if line.startswith("Do "))
    assert lines[start : start + 5] == [
        "Do     1  low   Run it alone",
        "                - From the root",
        f"                $ pytest {TESTS[0]}",
        "       2  mid   Guard the argument by version",
        "       3  high  Write another sampler",
    ]


@pytest.mark.parametrize(
    ("helps", "said"), [(False, "A re-run will not help."), (True, "A re-run may help."), (None, "")]
)
def test_the_last_line_says_whether_a_re_run_helps_and_what_the_verdict_came_from(
    helps: bool | None, said: str
) -> None:
    wide = Look(120)
    last = shown(LogReading(replace(FOUND, retry_helps=helps), LINES), wide)[-1]
    assert last.startswith(said)
    assert last.endswith("other candidates: none · rule python.unexpected · 12,402 lines in 18 ms")
    assert len(last) == 120


def test_without_effort_nothing_is_said_of_time() -> None:
    assert shown(effort=None)[-1] == "A re-run will not help."


def test_an_unknown_says_so_and_offers_the_passing_log() -> None:
    words = (Evidence("words", "words", "it broke", "what was said last", 3),)
    d = Diagnosis("a.log", confidence=0.3, summary="No rule knows this; read first: it broke.",
                  key_line=KeyLine(3, "it broke"), evidence=words)  # fmt: skip
    text = "\n".join(shown(LogReading(d)))
    assert text.startswith("unknown · the log does not say enough\n")
    assert "% sure" not in text
    assert "▶ 3 │ it broke" in text
    assert "--baseline GOOD" in text
    assert "no rule · 12,402 lines" in text


def test_a_rule_that_is_too_weak_is_named_with_its_probability() -> None:
    weak = replace(FOUND, cause=Cause.UNKNOWN, category="unknown", confidence=0.42)
    why = " ".join(line.strip() for line in shown(LogReading(weak, LINES)))
    assert "Rule python.unexpected knows the line, but too weakly to decide (42 %)." in why


def test_where_nothing_failed_there_is_nothing_to_do() -> None:
    d = Diagnosis("a.log", Cause.NONE, "none", confidence=0.97, summary="Nothing failed: the job ended as success.",
                  retry_helps=False)  # fmt: skip
    lines = shown(LogReading(d))
    assert lines[:2] == ["none · 97 % sure", "Nothing failed: the job ended as success"]
    assert len(lines) == 4
    assert lines[-1].strip() == "12,402 lines in 18 ms"


def test_colour_marks_the_verdict_and_the_key_line_and_changes_no_text() -> None:
    colored = show_diagnosis(READ, Look(color=True), EFFORT)
    assert "\x1b[1;31mcode / test-failure" in colored
    assert f"\x1b[1m▶ 1875 │ {KEY}\x1b[0m" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == show_diagnosis(READ, Look(), EFFORT)


COLOURS = [
    ({}, True, True),
    ({}, False, False),
    ({"NO_COLOR": "1"}, True, False),
    ({"NO_COLOR": ""}, True, True),
    ({"TERM": "dumb"}, True, False),
    ({"FORCE_COLOR": "1"}, False, True),
    ({"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
    ({"FORCE_COLOR": "0"}, True, False),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
]


@pytest.mark.parametrize(("environ", "terminal", "colored"), COLOURS)
def test_who_wants_colour(environ: dict[str, str], terminal: bool, colored: bool) -> None:
    assert wants_color(environ, terminal=terminal) is colored


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("7", 40), ("", 100), ("0", 100), ("wide", 100)])
def test_the_width_is_the_terminals(columns: str, width: int) -> None:
    assert look_of(_Terminal(), {"COLUMNS": columns}).width == width


def test_what_is_no_terminal_is_a_hundred_wide() -> None:
    assert look_of(io.StringIO(), {"COLUMNS": "80"}) == Look(100, color=False)


CELLS = [("plain", 5), ("编译失败", 8), ("エラー", 6), ("e\u0301", 1), ("✅", 2), ("a\u200bb", 2), ("", 0)]


@pytest.mark.parametrize(("text", "size"), CELLS)
def test_wide_signs_take_two_cells_and_marks_none(text: str, size: int) -> None:
    assert cells(text) == size


@pytest.mark.parametrize(("width", "expected"), [(8, "编译失败"), (7, "编译失…"), (6, "编译…"), (1, "…"), (0, "")])
def test_a_text_is_cut_by_cells(width: int, expected: str) -> None:
    assert cut("编译失败", width) == expected


def test_a_long_key_line_goes_on_below_itself_and_another_is_cut() -> None:
    key, other = "x" * 150, "y" * 150
    d = replace(FOUND, key_line=KeyLine(1875, key))
    rows = [r for r in shown(LogReading(d, (LogLine(1876, other),))) if "│" in r]
    assert "".join(r.split("│ ")[1] for r in rows[:2]) == key
    assert rows[2] == f"  1876 │ {'y' * 90}…"


@given(st.text(), st.integers(2, 60), st.integers(1, 4))
def test_folded_and_wrapped_text_stays_within_its_width(text: str, width: int, most: int) -> None:
    for lines in (folded(text, width, most), wrapped(text, width, most=most)):
        assert len(lines) <= most
        assert all(cells(line) <= width for line in lines)


@given(st.text(), st.integers(2, 60))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    assert "".join("".join(wrapped(text, width)).split()) == "".join(text.split())


ANY = st.text(max_size=300)


@given(ANY, ANY, ANY, st.lists(ANY, max_size=4), st.integers(40, 130))
def test_no_text_breaks_the_layout(summary: str, line: str, why: str, tests: list[str], width: int) -> None:
    d = Diagnosis(
        log=summary, cause=Cause.CODE, category="test-failure", confidence=0.9, summary=summary,
        key_line=KeyLine(5, line), evidence=(Evidence("rule", why, line, why, 5), Evidence("step", "step", why, "", 1)),
        tests=tuple(tests), suggestions=(Suggestion(why, Cost.LOW, (summary,)),), retry_helps=True,
    )  # fmt: skip
    look = Look(width)
    text = show_diagnosis(LogReading(d, (LogLine(4, why), LogLine(6, summary))), look, EFFORT)
    for row in (*text.split("\n"), name_line(summary, look)):
        assert cells(row) <= width
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e]", row)


def test_explaining_loads_nothing_heavy_of_ours() -> None:
    loaded = "import sys; from buildeye.cli import face, explain; from buildeye.logs import brief, diagnose, source; "
    heavy = ("pydantic", "yaml", "rich", "chdb", "httpx2", "buildeye.config")
    code = f"{loaded} sys.exit(str([m for m in {heavy} if m in sys.modules] or ''))"
    env = os.environ | {"PYTHONPATH": str(Path(buildeye.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""


def test_a_single_log_is_not_named() -> None:
    Path("job.log").write_text(RED)
    assert "──" not in build_eye("explain", "job.log").out


def test_several_logs_stand_below_their_names() -> None:
    for name in ("a.log", "b.log"):
        Path(name).write_text(RED)
    lines = build_eye("explain", "a.log", "b.log").out.splitlines()
    named = [i for i, line in enumerate(lines) if line.startswith("── ")]
    assert [lines[i].split()[1] for i in named] == ["a.log", "b.log"]
    assert named[0] == 0
    assert lines[named[1] - 1] == ""


def test_the_jobs_of_an_archive_are_named() -> None:
    with zipfile.ZipFile("logs.zip", "w") as archive:
        archive.writestr("0_unit.txt", RED)
    assert build_eye("explain", "logs.zip").out.startswith("── logs.zip:unit ")


def test_secrets_and_controls_are_not_shown() -> None:
    token = "ghp_" + "a1B2" * 9
    Path("job.log").write_text(RED.replace("collected 3 items", f"\x1b[31mtoken {token}\x07"))
    out = build_eye("explain", "job.log").out
    assert token not in out
    assert not {"\x1b", "\x07"} & set(out)


def test_colour_can_be_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("job.log").write_text(RED)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert build_eye("explain", "job.log").out.startswith("\x1b[1;31mcode / test-failure")


def test_how_many_lines_were_read_is_said_right() -> None:
    Path("job.log").write_text(RED.rstrip("\n"))
    assert re.search(rf"· {RED.count(chr(10))} lines in \d+ ms$", build_eye("explain", "job.log").out.rstrip())


def _ours(name: str) -> bool:
    return int(hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest(), 16) % 2 == 0


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the corpus is not at {CORPUS}")
@pytest.mark.parametrize("kind", ["logdx", "cases"])
def test_real_logs_fit_the_width_and_show_the_line_that_json_names(kind: str) -> None:
    logs = [str(path / "log.gz") for path in sorted((CORPUS / kind).iterdir()) if _ours(path.name)][:25]
    faces = build_eye("explain", *logs).out.split("\n\n── ")
    keys = [json.loads(line)["key_line"] for line in build_eye("explain", "--json", *logs).out.splitlines()]
    assert len(faces) == len(keys) == len(logs)
    for face, key in zip(faces, keys, strict=True):
        assert not key or re.search(rf"^▶ +{key['number']} │", face, re.MULTILINE)
        wide = [line for line in face.splitlines() if cells(line) > 100 and not line.strip().startswith("$ ")]
        assert wide == []


def test_a_log_that_is_packed_counts_its_unpacked_lines() -> None:
    Path("job.log.gz").write_bytes(gzip.compress(RED.encode()))
    assert f"{RED.count(chr(10))} lines in" in build_eye("explain", "job.log.gz").out
