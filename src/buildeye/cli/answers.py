"""Answers of any columns in the form a person chose: tables that fit, JSON, YAML, CSV, pictures; what was left out."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import typer

from buildeye.cli.asked import AnswerForm, written
from buildeye.cli.voice import warn

if TYPE_CHECKING:
    from buildeye.ask.answer import Answer

READ: Final = 1_000
"""Rows that a table or a picture shows when no limit is given; other forms hold all."""
_LEAST: Final = 6  # cells a column needs to be read
_FOR_PEOPLE: Final = (AnswerForm.TABLE, AnswerForm.WIDE, AnswerForm.GRAPH)
LIMIT = typer.Option(
    None, "--limit", min=0, metavar="N",
    help="Rows to show; 0: all. Default 1000 in tables and pictures, else all.",
)  # fmt: skip


def show(answer: "Answer", form: AnswerForm, limit: int | None = None) -> None:
    """Print an answer; its warnings, what a limit left out, and that it is empty are said on standard error."""
    for warning in answer.warnings:
        warn(warning)
    cut = limited(answer, form, limit)
    typer.echo(shown(cut, form))
    if not answer.rows:
        typer.echo("no rows", err=True)
    if cut.left_out:
        tell_left_out(cut.left_out, "row")
    elif cut.left_out is None:
        typer.echo("the source left out more rows; ask for fewer", err=True)


def tell_left_out(number: int, what: str) -> None:
    """Say on standard error that so many rows, or what else, are not shown."""
    more = f"1 more {what} is" if number == 1 else f"{number:,} more {what.removesuffix('s')}s are"
    typer.echo(f"{more} not shown; --limit 0 shows all", err=True)


def limited(answer: "Answer", form: AnswerForm, limit: int | None) -> "Answer":
    """The rows that are shown: `limit`, all with 0, and without one as many as suit the form."""
    most = limit if limit is not None else READ if form in _FOR_PEOPLE else 0
    return answer.first(most) if most else answer


def shown(answer: "Answer", form: AnswerForm) -> str:
    """An answer in a form."""
    plain = replace(answer, columns=apart(answer.columns), rows=tuple(tuple(map(value, row)) for row in answer.rows))
    if form is AnswerForm.TABLE:
        return fitting(plain.columns, plain.rows)
    if form is AnswerForm.GRAPH:
        from buildeye.cli.graph import picture

        return picture(plain.columns, answer.rows)
    rows = [dict(zip(plain.columns, row, strict=True)) for row in plain.rows]
    if form is AnswerForm.WIDE:
        rows = [{name: _cell(each) for name, each in row.items()} for row in rows]
    return written(rows, plain.columns, form)


def fitting(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as wide as the terminal; one row below the other where so many columns cannot be read side by side.

    A single text of several lines keeps its lines.
    """
    from buildeye.cli.tables import GAP, table
    from buildeye.cli.terminal import cells, look_of

    if len(columns) == len(rows) == 1 and isinstance(rows[0][0], str) and "\n" in rows[0][0]:
        return "\n".join((f" {columns[0]}", *(f" {_cell(line)}" for line in rows[0][0].splitlines())))
    width = look_of(sys.stdout, os.environ).width
    texts = [[_cell(each) for each in row] for row in rows]
    if (_LEAST + GAP) * len(columns) < width or not rows:
        return table(columns, texts, max(width, (_LEAST + GAP) * len(columns)))
    room = max(map(cells, columns))
    blocks = ("\n".join(f" {name:{room}}  {text}" for name, text in zip(columns, row, strict=True)) for row in texts)
    return "\n\n".join(blocks)


def apart(columns: Sequence[str]) -> tuple[str, ...]:
    """Column names that differ: the second `n` is `n_2`."""
    taken: list[str] = []
    for name in columns:
        number, chosen = 1, name
        while chosen in taken:
            number += 1
            chosen = f"{name}_{number}"
        taken.append(chosen)
    return tuple(taken)


def value(given: Any) -> Any:
    """A value as JSON has it: times as ISO 8601, exact numbers as text, what is no number as null."""
    match given:
        case None | bool() | int() | str() | datetime():
            return given
        case float():
            return given if math.isfinite(given) else None
        case bytes():
            return given.decode("utf-8", "replace")
        case date():
            return given.isoformat()
        case timedelta():
            return given.total_seconds()
        case Decimal():
            return str(given)
        case Mapping():
            return {str(value(name)): value(each) for name, each in given.items()}
        case list() | tuple() | set() | frozenset():
            return [value(each) for each in given]
    return str(given)


def _cell(given: Any) -> str:
    """A value as a table has it, without what would steer a terminal."""
    from buildeye.logs.secrets import strip_controls

    match given:
        case None:
            return ""
        case bool():
            return str(given).lower()
        case datetime():
            return _time(given)
        case float():
            return f"{given:.15g}"
        case list() | dict():
            return strip_controls(json.dumps(given, default=datetime.isoformat, ensure_ascii=False))
    return strip_controls(" ".join(str(given).splitlines()))


def _time(at: datetime) -> str:
    """A moment in UTC without the parts that are nought."""
    text = at.strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}.{at.microsecond:06d}".rstrip("0") if at.microsecond else text
