"""Cleaning a line: what the runner put around it goes, what the tool printed stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.text import bare, clean, looks_binary, strip_ansi

STAMP = "2026-05-12T08:14:02.1234567Z "

CASES = [
    (f"{STAMP}E   AssertionError: no", "E   AssertionError: no"),
    (f"\ufeff{STAMP}Current runner version: '2.334.0'", "Current runner version: '2.334.0'"),
    (f"{STAMP}\x1b[31;1m        FAIL\x1b[0m [   9.875s] a::b", "        FAIL [   9.875s] a::b"),
    (f"{STAMP}#12 3.456 make: *** [all] Error 2", "make: *** [all] Error 2"),
    (f"{STAMP}(EngineCore pid=16727) ValueError: x", "ValueError: x"),
    ("(Worker_TP0 pid=99) RuntimeError: y", "RuntimeError: y"),
    ("[2026-07-13T19:39:36Z] FAILED a.py::t", "FAILED a.py::t"),
    ("[taskcluster 2025-02-13 21:39:55.345Z] Task ID: x", "Task ID: x"),
    ("build\tRun tests\t2026-05-12T08:14:02.1234567Z FAILED a.py::t", "FAILED a.py::t"),
    ("_bk;t=1752435576000\x07FAILED a.py::t", "FAILED a.py::t"),
    ("12:34:56  ERROR: boom", "ERROR: boom"),
    ("[gw3] [ 12%] FAILED tests/test_a.py::test_b", "FAILED tests/test_a.py::test_b"),
    ("Downloading 10%\rDownloading 50%\rdone", "done"),
    ("progress\r\n", "progress"),
    ("##[error]Process completed with exit code 1.", "##[error]Process completed with exit code 1."),
    ("2026-03-02 10:00:00.123456 | ubuntu-jammy | E: not found", "E: not found"),
    ("2026-01-01T10:00:00.123456Z 01O fatal: no", "fatal: no"),
    ("@acme/api:build: error TS2345: no", "error TS2345: no"),
    ("web-1  | panic: boom", "panic: boom"),
    ("a\tb\tc", "a\tb\tc"),
    ("nul\x00 byte", "nul byte"),
    ("    indented stays", "    indented stays"),
]


@pytest.mark.parametrize(("raw", "wanted"), CASES, ids=[w[:30] for _, w in CASES])
def test_a_cleaned_line_is_what_the_tool_printed(raw: str, wanted: str) -> None:
    assert clean(raw.encode()) == wanted


def test_invalid_utf8_is_replaced_and_not_refused() -> None:
    assert clean(b"caf\xe9 error: x") == "caf\ufffd error: x"


@given(st.binary(max_size=2000))
def test_cleaning_any_bytes_gives_one_line_without_control_characters(raw: bytes) -> None:
    text = clean(raw.replace(b"\n", b""))
    assert "\n" not in text
    assert not any(ord(c) < 32 and c != "\t" for c in text)


@given(st.binary(max_size=2000))
def test_removing_colour_never_moves_a_line(raw: bytes) -> None:
    assert strip_ansi(raw).count(b"\n") == raw.count(b"\n")


def test_the_annotation_mark_is_not_part_of_what_was_said() -> None:
    assert bare("##[error]Error: a.py:3: bad") == "a.py:3: bad"


@pytest.mark.parametrize(
    ("sample", "binary"),
    [
        (b"", False),
        (b"plain text\n" * 9, False),
        (b"one NUL\x00 here, text else\n" * 9, False),
        (bytes(range(256)) * 9, True),
    ],
)
def test_binary_is_told_from_text_with_stray_bytes(sample: bytes, binary: bool) -> None:
    assert looks_binary(sample) is binary
