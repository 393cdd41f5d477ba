"""Pictures in a terminal: bars and lines, as wide as there is room, in ASCII where nothing else is shown."""

import math
from datetime import UTC, datetime, timedelta

import pytest

from buildeye.cli.graph import HEIGHT, Paper, bars, picture, plot
from buildeye.cli.terminal import Look, cells

PAPER, ASCII = Paper(Look(60), unicode=True), Paper(Look(60), unicode=False)
COLORED = Paper(Look(60, color=True), unicode=True)
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
HOURS = [NOON + timedelta(hours=hour) for hour in range(5)]


def test_bars_are_as_long_as_their_numbers() -> None:
    lines = bars(["a", "long name", "none"], [10, 5, 0], PAPER, "runs").splitlines()
    assert lines[0] == " runs"
    assert [line.split()[-2 if "█" in line else -1] for line in lines[1:]] == ["10", "5", "0"]
    assert lines[1].count("█") == 2 * lines[2].count("█") + ("▌" in lines[2]) > 30 and "█" not in lines[3]
    assert max(map(cells, lines)) <= 60


def test_bars_are_ascii_where_nothing_else_is_shown() -> None:
    drawn = bars(["x" * 60, "b"], [3, -1.5], ASCII)
    assert drawn.isascii() and "##" in drawn and ".." in drawn
    assert drawn.splitlines()[1].endswith("-")


def test_numbers_that_are_none_have_no_bar() -> None:
    drawn = bars(["a", "b", "c"], [math.nan, math.inf, 1], PAPER).splitlines()
    assert [line.split()[1] for line in drawn] == ["-", "+Inf", "1"]
    assert "█" in drawn[2] and "█" not in drawn[0] + drawn[1]
    assert bars([], [], PAPER) == ""


def test_colour_comes_only_where_it_is_wanted() -> None:
    assert "\x1b[" in bars(["a"], [1], COLORED) and "\x1b[" not in bars(["a"], [1], PAPER)


def test_a_table_is_bars_of_its_first_numbers_by_the_texts_before_them() -> None:
    rows = [["octo/repo", "unit", 7, 70], ["octo/repo", "lint", 3, 30]]
    lines = picture(["repository", "job", "failures", "runs"], rows, PAPER).splitlines()
    assert lines[0] == " failures"
    assert [line.split()[:2] for line in lines[1:]] == [["unit", "7"], ["lint", "3"]]


def test_numbers_before_their_name_are_named_all_the_same() -> None:
    assert picture(["n", "name"], [[2, "a"], [1, "b"]], PAPER).splitlines()[1].split()[:2] == ["a", "2"]
    assert picture(["n"], [[2], [1]], PAPER).splitlines()[1].split()[0] == "2"
    hours = picture(["hour", "jobs"], [[9, 40], [10, 20]], PAPER).splitlines()
    assert hours[0] == " jobs" and [line.split()[:2] for line in hours[1:]] == [["9", "40"], ["10", "20"]]
    assert picture(["job", "n"], [["unit", 4]], PAPER).splitlines()[1].split()[:2] == ["unit", "4"]


def test_a_time_a_row_is_bars_and_several_are_a_line() -> None:
    assert "└" not in picture(["job", "n", "last"], [["a", 1, HOURS[0]], ["b", 2, HOURS[1]]], PAPER)
    lines = picture(["time", "jobs", "bad"], [[at, 3, 1] for at in HOURS], PAPER)
    assert "└" in lines and "● jobs  last 3, most 3" in lines and "▲ bad  last 1, most 1" in lines
    by_text = picture(["time", "branch", "n"], [[at, name, 1] for at in HOURS for name in ("main", "next")], PAPER)
    assert "● main" in by_text and "▲ next" in by_text


@pytest.mark.parametrize(
    ("columns", "rows", "said"),
    [
        (["a"], [], "nothing to draw: no rows"),
        (["a", "b"], [["x", True]], "nothing to draw: none of a, b is a number"),
        (["t", "n"], [[HOURS[0], None]], "nothing to draw: none of t, n is a number"),
    ],
)
def test_what_has_no_numbers_is_said_to_have_none(columns: list[str], rows: list[list[object]], said: str) -> None:
    assert picture(columns, rows, PAPER) == said


def test_a_plot_has_a_scale_an_axis_and_a_legend() -> None:
    lines = plot([("up", list(zip(HOURS, [0.0, 1, 2, 3, 4], strict=True)))], PAPER).splitlines()
    assert lines[0].startswith(" 4 │") and lines[0].endswith("●")
    assert lines[HEIGHT - 1].startswith(" 0 │●") and lines[HEIGHT // 2].startswith(" 2 │")
    assert "12:00" in lines[HEIGHT + 1] and lines[HEIGHT + 1].endswith("16:00 UTC 2026-12-01")
    assert lines[-1] == " ● up  last 4, most 4"
    assert max(map(cells, lines)) <= 60


def test_a_plot_is_ascii_where_nothing_else_is_shown() -> None:
    drawn = plot([("n" * 80, [(at, 1.0) for at in HOURS]), ("b", [(HOURS[0], 2.0)])], ASCII)
    assert drawn.isascii() and "*" in drawn and "+ b  last 2" not in drawn and "* b  last 2, most 2" in drawn


def test_the_highest_eight_of_many_lines_are_drawn_and_the_rest_is_counted() -> None:
    drawn = plot([(f"n{number}", [(at, float(number)) for at in HOURS]) for number in range(12)], PAPER)
    assert "● n11" in drawn and "◇ n4" in drawn and "n3 " not in drawn
    assert "4 more, with lower numbers or none, are not drawn" in drawn


def test_a_line_ends_where_numbers_are_missing() -> None:
    minutes = [NOON + timedelta(minutes=minute) for minute in (0, 1, 2, 3, 57, 58, 59, 60)]
    bottom = plot([("a", [(at, 0.0) for at in minutes])], PAPER).splitlines()[HEIGHT - 1]
    assert bottom.count("●") < 12 and "   " in bottom.strip(" 0│")


def test_numbers_below_zero_and_one_moment_are_drawn() -> None:
    drawn = plot([("a", [(HOURS[0], -2.0), (HOURS[1], 2.0)])], PAPER).splitlines()
    assert "2 │" in drawn[0] and "-2 │●" in drawn[HEIGHT - 1]
    assert "●" in plot([("a", [(HOURS[0], 5.0)])], PAPER)
    assert plot([("a", [(HOURS[0], math.nan)])], PAPER) == "nothing to draw: no numbers"


def test_further_times_and_texts_that_are_always_the_same_tell_no_lines_apart() -> None:
    at = datetime(2026, 12, 1, tzinfo=UTC)
    rows = [(f"pool-{n % 2}", at + timedelta(hours=n), at + timedelta(hours=n + 1), n, "calm") for n in range(6)]
    drawn = picture(("label", "begin", "end", "depth", "pattern"), rows, PAPER)
    assert "pool-0  last 4" in drawn and "pool-1  last 5" in drawn and "calm" not in drawn
