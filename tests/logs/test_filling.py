"""Placeholders filled with what logs hold: one word of the shell in a command, one line in a sentence."""

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.logs.filling import LONGEST_TEXT, LONGEST_WORD, fill_command, fill_text, fits
from buildeye.logs.rules import Rule
from buildeye.logs.wording import advice
from buildeye.model import Cause, Suggestion

COMMANDS = ["pytest {x}", "pytest '{x}'", 'pytest "{x}"', "pytest a\\'{x}", "pytest '^{x}$'", 'pytest "a b {x}"']
HOSTILE = [
    "a; rm -rf /", "$(reboot)", "`reboot`", "it's", 'say "no"', "a\\", "a && b", "a|b", "*", "~", "!!", "a b", "$HOME",
    "'; reboot; '", '"; reboot; "', "${x}", "#1", "a>b", "tests/a.py::t[x-'y']",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_is_one_word_of_the_shell_in_whatever_quotes_it_stands(command: str, value: str) -> None:
    filled = fill_command(command, {"x": value})
    assert filled is not None
    wanted = [part.replace("{x}", value) for part in shlex.split(command)]
    assert shlex.split(filled) == wanted
    said = subprocess.run(
        ["sh", "-c", filled.replace("pytest", "printf '%s\\n'", 1)], capture_output=True, text=True, check=True
    )
    assert said.stdout == "".join(f"{part}\n" for part in wanted[1:])


@given(st.text(min_size=1, max_size=40), st.sampled_from(COMMANDS))
def test_any_value_that_fits_comes_through_the_shell_as_it_was(value: str, command: str) -> None:
    filled = fill_command(command, {"x": value})
    assert (filled is not None) == fits(value)
    if filled is not None:
        assert shlex.split(filled) == [part.replace("{x}", value) for part in shlex.split(command)]


@pytest.mark.parametrize(
    "value", ["", "-rf", "--co", "a\nb", "a\x1b[2Jb", "a\u202eb", "a\u200bb", "\ud800", "x" * (LONGEST_WORD + 1)]
)
def test_a_value_unfit_for_a_command_leaves_the_command_out(value: str) -> None:
    assert fill_command("pytest {x}", {"x": value}) is None


def test_a_missing_value_leaves_no_brace_behind() -> None:
    assert fill_command("pytest {x}", {}) is None
    assert fill_text("Run {x} alone", {}) is None
    assert fill_text("Run {x} alone", {"x": ""}) is None
    assert fill_text("Run `pytest {x}`", {"x": "-v"}) is None


def test_what_stands_between_backticks_of_a_sentence_is_filled_as_a_command() -> None:
    assert fill_text("Of {x}: `cat {x}`", {"x": "a b"}) == "Of a b: `cat 'a b'`"


def test_a_value_in_a_sentence_is_one_short_line_without_controls() -> None:
    filled = fill_text("{x}", {"x": "a\n\x1b[31mb\u202e" + "c" * 500})
    assert filled is not None
    assert re.match(r"a bc+…$", filled)
    assert len(filled) == LONGEST_TEXT


def test_a_value_that_looks_like_a_placeholder_is_not_filled_again() -> None:
    assert fill_text("{x}", {"x": "{y}", "y": "z"}) == "{y}"
    assert fill_command("echo {x}", {"x": "{y}", "y": "z"}) == "echo '{y}'"


def test_the_command_of_a_rule_quotes_what_it_captured() -> None:
    rule = Rule(
        "a.b", "t", "test-failure", Cause.CODE, ("x",), advice=(Suggestion("Run {test}", command="pytest '{test}'"),)
    )
    (told,) = advice(rule, {"test": "a.py::t['$(reboot)']"})
    assert shlex.split(told.command) == ["pytest", "a.py::t['$(reboot)']"]
