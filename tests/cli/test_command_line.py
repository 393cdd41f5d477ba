"""The face of the program: help, version, exit codes, and what may not be loaded for them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

import buildeye
from buildeye.cli.app import app
from tests.cli.program import build_eye
from tests.cli.test_explain import RED
from tests.pipeline.places import LIMIT, environment

WIDTH = 100
HEAVY = ("pydantic", "pydantic_settings", "chdb", "clickhouse_connect", "hyperscan", "httpx2", "hishel", "uvicorn",
         "starlette", "rich", "jinja2", "yaml")  # fmt: skip


def _commands(command: object = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command that does something, by the words that call it."""
    command = command or get_command(app)
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path
    else:
        for name, each in inner.items():
            yield from _commands(each, (*path, name))


COMMANDS = list(_commands())


def test_the_commands_are_those_of_the_seed_and_the_faces() -> None:
    assert {path[0] for path in COMMANDS} >= {
        "explain", "monitor", "fetch-runs", "collect-metadata", "classify", "recommend", "report", "archive",
    }  # fmt: skip


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_with_an_example_that_calls_it(path: tuple[str, ...]) -> None:
    answer = build_eye(*path, "--help")
    assert (answer.code, answer.err) == (0, "")
    examples = re.split(r"Examples?:\n", answer.out)
    assert len(examples) == 2, answer.out
    assert f"build-eye {' '.join(path)}" in examples[1]


@pytest.mark.parametrize("path", [(), ("rules",), *COMMANDS], ids=" ".join)
def test_help_fits_a_terminal(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    for line in build_eye(*path, "--help").out.splitlines():
        assert len(line) <= WIDTH, line


@pytest.mark.parametrize("path", [(), ("rules",)], ids=["build-eye", "rules"])
def test_a_group_names_each_of_its_commands_with_what_it_is_for(path: tuple[str, ...]) -> None:
    listed = build_eye(*path, "--help").out
    names = {each[len(path)] for each in COMMANDS if each[: len(path)] == path}
    for name in names:
        assert re.search(rf"^  {name}  +\S", listed, re.MULTILINE), name


def test_help_says_what_exit_codes_mean() -> None:
    said = " ".join(build_eye("--help").out.split())
    for code in ("0 done", "1 the thing asked about is bad", "2 wrong use or configuration", "3 an outside system"):
        assert code in said


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_has_a_short_name(option: str) -> None:
    assert build_eye(option).code == 0


def test_the_version_is_the_packages() -> None:
    answer = build_eye("--version")
    assert (answer.code, answer.out) == (0, f"build-eye {buildeye.__version__}\n")


_LOADED = """
import sys
from buildeye.cli import main
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    assert not set(HEAVY) & set(done.stderr.split())


USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "no command": ((), "Usage:"),
    "an unknown command": (("nonsense",), "No such command 'nonsense'"),
    "an unknown option": (("monitor", "--nonsense"), "No such option"),
    "no log": (("explain",), "Missing argument 'LOG_OR_RUN'"),
    "no input": (("classify",), "Missing option '--input'"),
    "hours that are no number": (("monitor", "--lookback-hours", "many"), "--lookback-hours"),
    "no hours": (("monitor", "--lookback-hours", "0"), "--lookback-hours"),
    "too many hours": (("monitor", "--lookback-hours", "99999"), "hours"),
    "a repository without an owner": (("monitor", "--target-repo", "vllm-ascend"), "write OWNER/REPO"),
    "a repository with too much": (("fetch-runs", "--target-repo", "a/b/c"), "write OWNER/REPO"),
    "a configuration that is not there": (("monitor", "--config", "nowhere.yaml"), "nowhere.yaml"),
    "a configuration that is not YAML": (("monitor", "--config", "broken.yaml"), "broken.yaml"),
    "a wrong value": (("monitor", "--config", "wrong.yaml"), "monitoring.polling_interval_hours"),
    "a language nobody speaks": (("report", "--input", "x.json", "--language", "tlh"), "report.language"),
    "a pack that is not there": (("rules", "lint", "nowhere.toml"), "nowhere.toml"),
}


@pytest.mark.parametrize(("arguments", "said"), USAGE.values(), ids=USAGE.keys())
def test_wrong_use_ends_with_2_and_says_what(arguments: tuple[str, ...], said: str) -> None:
    Path("broken.yaml").write_text("monitoring: [")
    Path("wrong.yaml").write_text("monitoring:\n  polling_interval_hours: six\n")
    answer = build_eye(*arguments)
    assert answer.code == 2
    assert said in answer.err + (answer.out if not arguments else "")
    assert "Traceback" not in answer.err


OUTSIDE: dict[str, tuple[str, ...]] = {
    "a warehouse that is not there": ("monitor", "--config", "away.yaml"),
    "a data folder that cannot be made": ("fetch-runs", "--config", "taken.yaml"),
    "a github that is not there": ("fetch-runs", "--config", "away.yaml"),
}


@pytest.mark.parametrize("arguments", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_fails_outside_ends_with_3_and_one_sentence(arguments: tuple[str, ...]) -> None:
    nobody = {"api": {"base_url": "http://127.0.0.1:9", "max_retries": 0}}
    dsn = {"warehouse_dsn": "clickhouse://default@127.0.0.1:9/?secure=0"}
    Path("taken").write_text("a file")
    Path("away.yaml").write_text(json.dumps(nobody | {"storage": dsn}))
    Path("taken.yaml").write_text(json.dumps(nobody | {"storage": {"data_dir": "taken"}}))
    answer = build_eye(*arguments)
    assert answer.code == 3
    assert answer.err.startswith("build-eye: ")
    assert "a bug in build-eye" not in answer.err
    assert "Traceback" not in answer.err


def test_rules_that_have_problems_end_with_1() -> None:
    Path("bad.toml").write_text(
        '[[rule]]\nid = "own.x"\ncategory = "storage"\ntitle = "x"\nexplanation = "x"\nany = ["gave up"]\n'
        'must_match = ["all is well"]\nmust_not_match = ["gave up"]\n'
    )
    answer = build_eye("rules", "lint", "bad.toml")
    assert answer.code == 1
    assert "own.x" in answer.out


def test_rules_are_listed_by_the_beginning_of_their_id() -> None:
    *rows, total = build_eye("rules", "list", "pytest").out.splitlines()
    ids = re.findall(r"^ ?([a-z]+\.[a-z0-9-]+) ", "\n".join(rows), re.MULTILINE)
    assert total == f"{len(ids)} rules"
    assert ids
    assert all(name.startswith("pytest.") for name in ids)


def _child(*arguments: str, **streams: object) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "buildeye", *arguments]
    given = {"env": environment(), "stderr": subprocess.PIPE, "timeout": LIMIT, "check": False} | streams
    return subprocess.run(command, **given)  # type: ignore[call-overload,no-any-return]  # a table of options


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_answer_that_cannot_be_written_ends_with_3() -> None:
    Path("job.log").write_text(RED)
    with Path("/dev/full").open("wb") as full:
        done = _child("explain", "job.log", stdout=full)
    assert done.returncode == 3
    assert done.stderr.decode().startswith("build-eye: standard output: No space left on device")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["input", "output", "errors"])
def test_a_closed_stream_is_no_traceback(closed: int) -> None:
    Path("job.log").write_text(RED)
    done = _child("explain", "-", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=lambda: os.close(closed))
    assert done.returncode == (2, 3, 0)[closed]
    assert b"Traceback" not in done.stderr
    assert b"a bug in build-eye" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_terminal_that_lacks_a_character_still_gets_the_answer(encoding: str, options: tuple[str, ...]) -> None:
    Path("job.log").write_text(RED.replace("assert 3", "assert 'ünï→😀'"))
    env = environment(PYTHONIOENCODING=encoding)
    done = _child("explain", *options, "job.log", stdout=subprocess.PIPE, env=env)
    assert done.returncode == 0, done.stderr
    if options:
        assert "ünï→😀" in json.loads(done.stdout.decode(encoding))["key_line"]["text"]


def test_a_file_name_that_is_no_utf_8_is_read_and_named() -> None:
    name = os.fsdecode(b"job\xff.log")
    Path(name).write_text(RED)
    done = _child("explain", "--json", name, stdout=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["category"] == "test-failure"


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    Path("job.log").write_text(RED)
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = _child("explain", "job.log", stdout=writer)
    finally:
        os.close(writer)
    assert done.returncode != 0
    assert done.stderr == b""
