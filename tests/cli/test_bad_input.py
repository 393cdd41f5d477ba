"""Whatever `explain` is given: a clear message or an honest unknown, a documented exit code, and never a traceback."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from tests.cli.contract import check
from tests.cli.program import build_eye
from tests.cli.test_explain import RED
from tests.pipeline.places import LIMIT, environment

MIB = 1024 * 1024
BOUND = 600 * MIB
"""Most resident memory for a log of any size."""


@dataclass(frozen=True)
class Bad:
    """An input by how it is made, and how it ends."""

    make: Callable[[Path], object]
    code: int
    said: str


def _bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("0_unit.txt", "w") as file:
        for _ in range(101):
            file.write(bytes(MIB))


def _zip_of_nothing(path: Path) -> None:
    with zipfile.ZipFile(path, "w"):
        pass


def _noise(count: int) -> bytes:
    return random.Random(7).randbytes(count)


REFUSED = {
    "no such file": Bad(lambda path: None, 2, "no such file"),
    "a directory": Bad(lambda path: path.mkdir(), 2, "is a directory"),
    "a pipe nobody writes to": Bad(os.mkfifo, 2, "is not a regular file"),
    "a link to itself": Bad(lambda path: path.symlink_to(path), 2, "cannot be opened"),
    "a zip bomb": Bad(_bomb, 2, "zip bomb"),
    "a zip cut off": Bad(lambda path: path.write_bytes(b"PK\x03\x04" + _noise(400)), 2, "zip"),
    "an empty zip": Bad(_zip_of_nothing, 2, "zip"),
    "gzip that ends at once": Bad(lambda path: path.write_bytes(gzip.compress(b"x")[:10]), 2, "holds nothing readable"),
}
UNKNOWN = {
    "an empty file": Bad(lambda path: path.touch(), 0, "The log is empty"),
    "binary noise": Bad(lambda path: path.write_bytes(_noise(200_000)), 0, "binary"),
    "only NUL bytes": Bad(lambda path: path.write_bytes(bytes(5000)), 0, ""),
    "only line feeds": Bad(lambda path: path.write_bytes(b"\n" * 5000), 0, ""),
    "a green log": Bad(lambda path: path.write_text("hello\nall is well\n"), 0, ""),
    "a picture's first bytes": Bad(lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + _noise(900)), 0, ""),
}


@pytest.mark.parametrize("bad", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_what_is_no_log_is_refused_in_one_sentence(bad: Bad, options: tuple[str, ...]) -> None:
    bad.make(Path("bad.log"))
    answer = build_eye("explain", *options, "bad.log")
    assert answer.code == bad.code
    assert answer.out == ""
    assert answer.err.startswith("build-eye: bad.log: ")
    assert bad.said in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("bad", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_what_says_nothing_is_an_honest_unknown(bad: Bad) -> None:
    bad.make(Path("bad.log"))
    answer = build_eye("explain", "--json", "bad.log")
    assert (answer.code, answer.err) == (0, "")
    diagnosis = json.loads(answer.out)
    check(diagnosis)
    assert diagnosis["cause"] in ("unknown", "none")
    assert bad.said in diagnosis["summary"]
    assert build_eye("explain", "bad.log").code == 0


def _inside(text: str) -> bytes:
    raw = RED.encode()
    return raw.replace(b"assert 3", text.encode("latin-1") + b"assert 3")


DAMAGED: dict[str, bytes] = {
    "invalid UTF-8": _inside("\xff\xfe\xc3("),
    "NUL bytes in a line": _inside("\0\0\0"),
    "terminal control characters": _inside("\x1b]0;title\x07\x1b[2J\x08\x9b"),
    "gzip cut off": gzip.compress(RED.encode() + _noise(3000).hex().encode())[:-900],
    "zstd cut off": zstandard.compress(RED.encode() + _noise(300_000).hex().encode())[:-90_000],
    "no line feed at the end": RED.rstrip("\n").encode(),
    "a lone carriage return": RED.replace("\n", "\r").encode(),
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_log_is_read_as_far_as_it_goes(raw: bytes) -> None:
    Path("bad.log").write_bytes(raw)
    answer = build_eye("explain", "--json", "bad.log")
    assert (answer.code, answer.err) == (0, "")
    diagnosis = json.loads(answer.out)
    check(diagnosis)
    assert diagnosis["cause"] in ("code", "unknown")
    text = build_eye("explain", "bad.log")
    assert text.code == 0
    assert not any(char in text.out for char in "\0\x1b\x07\x08\x9b")


def test_one_bad_file_does_not_lose_the_answers_for_the_others() -> None:
    Path("good.log").write_text(RED)
    Path("folder").mkdir()
    answer = build_eye("explain", "--json", "good.log", "nowhere.log", "folder", "good.log")
    assert answer.code == 2
    assert [json.loads(line)["log"] for line in answer.out.splitlines()] == ["good.log", "good.log"]
    assert [line.split(": ")[1] for line in answer.err.splitlines()] == ["nowhere.log", "folder"]


WRONG_OPTIONS = {
    "a baseline that is not there": (("--baseline", "nowhere"), "nowhere: no such file"),
    "a baseline that is a folder": (("--baseline", "folder"), "folder: is a directory"),
    "a job that is not there": (("--job", "nowhere"), "nowhere: cannot be read (No such file"),
    "a job that is a folder": (("--job", "folder"), "folder: cannot be read (Is a directory)"),
    "a job that is not JSON": (("--job", "good.log"), "good.log: not a job as GitHub's REST API returns it"),
    "a job that is a list": (("--job", "list.json"), "not a job as GitHub's"),
    "a job without an id": (("--job", "object.json"), "not a job as GitHub's"),
    "a job of wrong kinds": (("--job", "kinds.json"), "not a job as GitHub's"),
    "a job nested without end": (("--job", "deep.json"), "not a job as GitHub's"),
    "a folder of rules that is not there": (("--knowledge", "nowhere"), "'nowhere' does not exist"),
    "rules that are not TOML": (("--knowledge", "rules"), "rules/broken.toml: "),
    "an option that does not exist": (("--nonsense",), "No such option"),
}


@pytest.mark.parametrize(("options", "said"), WRONG_OPTIONS.values(), ids=WRONG_OPTIONS.keys())
def test_a_wrong_option_ends_with_2_and_says_which(options: tuple[str, ...], said: str) -> None:
    Path("good.log").write_text(RED)
    Path("folder").mkdir()
    Path("list.json").write_text("[]")
    Path("object.json").write_text("{}")
    Path("kinds.json").write_text('{"id": "seven", "name": []}')
    Path("deep.json").write_text("[" * 200_000)
    Path("rules").mkdir()
    Path("rules", "broken.toml").write_text("x = [")
    answer = build_eye("explain", *options, "good.log")
    assert answer.code == 2
    assert said in answer.err
    assert answer.out == ""
    assert "Traceback" not in answer.err


# Put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "GitHub": "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "AWS": "AKIA" + "IOSFODNN7EXAMPL3",
    "Slack": "xoxb-" + "123456789012-123456789012-abcdefghijABCDEFGHIJ0123",
    "password": "hunter2" + "hunter2",
    "bearer": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJhYmMifQ.c2lnbmF0dXJlLW9mLWl0LWFsbA",
    "address": "s3cr3t" + "pass",
}
LEAK = f"""\
##[group]Run deploy --token {SECRETS["GitHub"]}
##[endgroup]
export AWS_ACCESS_KEY_ID={SECRETS["AWS"]}
Authorization: Bearer {SECRETS["bearer"]}
slack {SECRETS["Slack"]}
password={SECRETS["password"]}
fatal: unable to access 'https://bot:{SECRETS["address"]}@git.example.com/a.git/': The requested URL returned error: 403
E   AssertionError: assert '{SECRETS["GitHub"]}' == 'x'
FAILED tests/test_a.py::test_b[{SECRETS["GitHub"]}] - AssertionError: password={SECRETS["password"]}
##[error]Process completed with exit code 1.
"""


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("line", range(LEAK.count("\n")))
def test_no_planted_secret_is_ever_printed(options: tuple[str, ...], line: int) -> None:
    lines = LEAK.splitlines(keepends=True)
    Path("leak.log").write_text("".join(lines[: line + 1]) + "ERROR: it ended here\n" + "".join(lines[line:]))
    answer = build_eye("explain", *options, "leak.log")
    assert answer.code == 0
    for secret in SECRETS.values():
        assert secret not in answer.out + answer.err


_MEASURED = """
import re, sys
from pathlib import Path
from buildeye.cli import main
try:
    main()
finally:
    peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
    Path("peak").write_text(peak[1])
"""


def _explained(name: str, folder: Path) -> tuple[dict[str, object], int]:
    """The answer of a child about one log, and the most memory it took in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "explain", "--json", name],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    diagnosis = json.loads(done.stdout)
    check(diagnosis)
    return diagnosis, int((folder / "peak").read_text()) * 1024


def test_a_log_of_300_mb_is_read_in_bounded_memory(folder: Path) -> None:
    block = b"".join(b"2026-05-28T01:02:03.1234567Z one line of %d, and nothing in it\n" % n for n in range(18_000))
    with (folder / "long.log").open("wb") as log:
        for _ in range(300 * MIB // len(block) + 1):
            log.write(block)
        log.write(RED.encode())
    diagnosis, peak = _explained("long.log", folder)
    (folder / "long.log").unlink()
    assert diagnosis["category"] == "test-failure"
    assert peak < BOUND


def test_a_line_of_200_mb_is_read_in_bounded_memory(folder: Path) -> None:
    with (folder / "wide.log").open("wb") as log:
        for _ in range(200):
            log.write(b"error: nothing to see here, " * (MIB // 28) + bytes(MIB % 28).replace(b"\0", b"."))
        log.write(b"\n" + RED.encode())
    diagnosis, peak = _explained("wide.log", folder)
    (folder / "wide.log").unlink()
    assert diagnosis["category"] == "test-failure"
    assert len(json.dumps(diagnosis)) < 100_000
    assert peak < BOUND


def test_compressed_logs_are_unpacked_in_bounded_memory(folder: Path) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
        for _ in range(96):
            file.write(b"one line of a long log of nothing at all\n" * (MIB // 41))
        file.write(RED.encode())
    (folder / "long.log.gz").write_bytes(packed.getvalue())
    diagnosis, peak = _explained("long.log.gz", folder)
    assert diagnosis["category"] == "test-failure"
    assert peak < BOUND
