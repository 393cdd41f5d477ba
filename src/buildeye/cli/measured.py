"""What an expression of PromQL gave, in the forms a person chose; and why it gave nothing."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import typer

from buildeye.cli.answers import show, tell_left_out
from buildeye.cli.asked import AnswerForm

if TYPE_CHECKING:
    from buildeye.ask.answer import Answer
    from buildeye.ask.promql import Measured
    from buildeye.ask.series import Point, Series

_SIDE_BY_SIDE: Final = 8
"""Series that stand in columns of their own; more stand one below the other."""
_SHOWN: Final = 200


def show_measured(
    measured: "Measured", expression: str, place: str, form: AnswerForm, limit: int | None, *, is_range: bool
) -> int:
    """Print what was measured, and give the exit code: 1 when it asks for a metric that is not there, else 0."""
    series = measured.series
    if measured.unknown:
        several = len(measured.unknown) > 1
        typer.echo(
            f"build-eye: no such metric{'s' if several else ''} here: {', '.join(measured.unknown)[:_SHOWN]} "
            f"({place}); see build-eye datasources prometheus query 'count by (__name__) ({{__name__=~\".+\"}})'",
            err=True,
        )
    elif not series:
        typer.echo(f"no series {'in that time' if is_range else 'at that moment'}: {_brief(expression)}", err=True)
    if form in (AnswerForm.JSON, AnswerForm.YAML):
        _show_prometheus_form(series, form, limit, is_range=is_range)
    elif form is AnswerForm.GRAPH and is_range and series:
        from buildeye.cli.graph import plot

        kept = series[: limit or len(series)]
        named = zip(names_of(kept), kept, strict=True)
        typer.echo(plot([(name, [(point.at, point.value) for point in each.points]) for name, each in named]))
        _tell_rest(series, kept)
    elif series:
        show(_answer(series, form, is_range=is_range), form, limit)
    return 1 if measured.unknown else 0


def label_of(series: "Series") -> str:
    """A series by its labels: the value alone where there is one label, else `name{a="b"}` as Prometheus writes it."""
    labels = {name: text for name, text in sorted(series.labels.items()) if name != "__name__"}
    metric = series.labels.get("__name__", "")
    if not metric and len(labels) == 1:
        return next(iter(labels.values())) or f'{next(iter(labels))}=""'
    inner = ", ".join(f"{name}={json.dumps(text, ensure_ascii=False)}" for name, text in labels.items())
    return f"{metric}{{{inner}}}" if inner else metric or "value"


def names_of(series: "Sequence[Series]") -> list[str]:
    """Names that tell series apart: the values of those labels that differ, with ` / ` between."""
    differ = [
        name
        for name in sorted({name for each in series for name in each.labels})
        if len({each.labels.get(name, "") for each in series}) > 1
    ]
    if not differ:
        return [label_of(each) for each in series]
    return [" / ".join(each.labels.get(name) or "-" for name in differ) for each in series]


def prometheus_form(series: "Sequence[Series]", *, is_range: bool) -> dict[str, Any]:
    """The `data` of Prometheus' own answer: times as Unix seconds, values as text."""
    result: list[dict[str, Any]] = []
    for each in series:
        points = [_pair(point) for point in each.points]
        told: dict[str, Any] = {"metric": dict(sorted(each.labels.items()))}
        if is_range or len(points) != 1:
            told["values"] = points
        else:
            told["value"] = points[0]
        result.append(told)
    kind = "matrix" if is_range or any("values" in each for each in result) else "vector"
    return {"resultType": kind, "result": result}


def _show_prometheus_form(series: "Sequence[Series]", form: AnswerForm, limit: int | None, *, is_range: bool) -> None:
    kept = series[: limit or len(series)]
    told = prometheus_form(kept, is_range=is_range)
    if form is AnswerForm.JSON:
        typer.echo(json.dumps(told, ensure_ascii=sys.stdout.encoding.lower().replace("-", "") != "utf8"))
    else:
        import yaml

        typer.echo(yaml.safe_dump(told, sort_keys=False, allow_unicode=True).rstrip("\n"))
    _tell_rest(series, kept)


def _tell_rest(series: "Sequence[Series]", kept: "Sequence[Series]") -> None:
    if len(kept) < len(series):
        tell_left_out(len(series) - len(kept), "series")


def _answer(series: "Sequence[Series]", form: AnswerForm, *, is_range: bool) -> "Answer":
    from buildeye.ask.answer import Answer

    labels = sorted({name for each in series for name in each.labels})
    if is_range and form is AnswerForm.TABLE and len(series) <= _SIDE_BY_SIDE:
        return _side_by_side(series)
    timed = is_range or form is not AnswerForm.TABLE or any(len(each.points) != 1 for each in series)
    if form is AnswerForm.GRAPH:
        named = zip(names_of(series), series, strict=True)
        rows: tuple[tuple[Any, ...], ...] = tuple((name, point.value) for name, each in named for point in each.points)
        return Answer(("series", "value"), ("String", "Float64"), rows)
    columns = (*labels, *(("time",) if timed else ()), "value")
    text = form is AnswerForm.CSV
    rows = tuple(
        (
            *(each.labels.get(name, "") for name in labels),
            *((point.at,) if timed else ()),
            number(point.value) if text or not math.isfinite(point.value) else point.value,
        )
        for each in series
        for point in each.points
    )
    return Answer(columns, ("",) * len(columns), rows)


def _side_by_side(series: "Sequence[Series]") -> "Answer":
    """A row a moment, a column a series; empty where a series has nothing."""
    from buildeye.ask.answer import Answer

    by_time: dict[datetime, dict[int, float]] = {}
    for place, each in enumerate(series):
        for point in each.points:
            by_time.setdefault(point.at, {})[place] = point.value
    columns = ("time", *names_of(series))
    rows = tuple((at, *(_number_or_none(by_time[at], place) for place in range(len(series)))) for at in sorted(by_time))
    return Answer(columns, ("",) * len(columns), rows)


def _number_or_none(values: Mapping[int, float], place: int) -> object:
    value = values.get(place)
    return value if value is None or math.isfinite(value) else number(value)


def number(value: float) -> str:
    """A number as Prometheus writes it: `3`, `0.25`, `NaN`, `+Inf`."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _pair(point: "Point") -> list[Any]:
    seconds = point.at.timestamp()
    return [int(seconds) if seconds.is_integer() else round(seconds, 3), number(point.value)]


def _brief(expression: str) -> str:
    one = " ".join(expression.split())
    return one if len(one) <= _SHOWN else one[:_SHOWN] + "…"
