"""What Grafana answers a query with, as values: frames of columns become rows or series. Pure: JSON in, values out.

A frame has `schema.fields` and as many columns in `data.values`. JSON has no NaN and no infinity, so these stand as
null in a column and by their places in `data.entities`; times are milliseconds since 1970, and what they have below a
millisecond stands in `data.nanos`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from buildeye.ask.answer import Answer
from buildeye.ask.grafana.failures import Told, no_answer, one_line, prometheus_failure, sql_failure
from buildeye.ask.series import MOST_SERIES, Point, Series
from buildeye.model import UsageError

REF: Final = "A"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ENTITIES: Final = {"NaN": math.nan, "Inf": math.inf, "NegInf": -math.inf}
_TYPES: Final = {
    **{f"int{bits}": f"Int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"UInt{bits}" for bits in (8, 16, 32, 64)},
    "float32": "Float32",
    "bool": "Bool",
}
"""Types of a frame that come from one type of ClickHouse only; a float64 may have been a Decimal, a text an Enum."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a frame: times aware, in UTC; None where nothing is known."""

    name: str
    kind: str
    type: str
    labels: Mapping[str, str]
    step: timedelta | None
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """Columns of one length. `kind` is Grafana's word for what they hold; `notices` are sentences for people."""

    fields: tuple[Field, ...]
    kind: str = ""
    notices: tuple[str, ...] = ()

    @property
    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The columns, row by row."""
        return zip(*(field.values for field in self.fields), strict=True)


def answer_of(data: Any, place: str, told: Told = one_line) -> Answer:
    """The rows of an answer to SQL. Frames of the same columns follow each other.

    UsageError: the query is wrong or goes over a limit. OutsideError: the data source failed, or this is no answer.
    """
    result = _result(data, place)
    if error := _error(result):
        raise sql_failure(error, place, told)
    frames = [frame for frame in _frames(result, place) if frame.fields]
    if not frames:
        return Answer((), (), ())
    columns, types = _head(frames[0])
    same = [frame for frame in frames if _head(frame)[0] == columns]
    warnings = [told(notice) for frame in frames for notice in frame.notices]
    if len(same) < len(frames):
        warnings.append(f"{place} answered with {len(frames)} tables of different columns; this is the first.")
    return Answer(columns, types, tuple(row for frame in same for row in frame.rows), tuple(warnings))


def series_of(data: Any, place: str, told: Told = one_line) -> tuple[Series, ...]:
    """The series of an answer to PromQL; native histograms are left out, as are moments without a number.

    UsageError: the expression is wrong, gives a text, or more series than anybody reads. OutsideError: as `answer_of`.
    """
    result = _result(data, place)
    if error := _error(result):
        raise prometheus_failure(error, _status(result), place, told)
    found = [
        series for frame in _frames(result, place) if frame.kind != "heatmap-cells" for series in _series(frame, place)
    ]
    if len(found) > MOST_SERIES:
        raise UsageError(
            f"the expression gives {len(found):,} series, more than {MOST_SERIES:,}; "
            "group them with sum by (LABEL) (...) or keep some with topk(10, ...)"
        )
    return tuple(found)


def step_of(data: Any, place: str) -> timedelta | None:
    """The step that Grafana took for a range; None when it does not say."""
    steps = (field.step for frame in _frames(_result(data, place), place) for field in frame.fields)
    return next((step for step in steps if step), None)


def has_result(data: Any) -> bool:
    """Whether this is an answer to a query at all, good or bad, whatever its status was."""
    results = data.get("results") if isinstance(data, Mapping) else None
    return isinstance(results, Mapping) and isinstance(results.get(REF), Mapping)


def _result(data: Any, place: str) -> Mapping[str, Any]:
    if not has_result(data):
        raise no_answer(place)
    result: Mapping[str, Any] = data["results"][REF]
    return result


def _error(result: Mapping[str, Any]) -> str:
    """What went wrong, '' for nothing; a status of failure without words counts too."""
    error = result.get("error")
    if error:
        return str(error)
    return f"status {_status(result)}" if _status(result) >= 400 else ""


def _status(result: Mapping[str, Any]) -> int:
    status = result.get("status")
    return status if isinstance(status, int) else 0


def _frames(result: Mapping[str, Any], place: str) -> list[Frame]:
    try:
        return [_frame(given) for given in result.get("frames") or ()]
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        raise no_answer(place) from None


def _frame(given: Mapping[str, Any]) -> Frame:
    schema, data = given["schema"], given.get("data") or {}
    fields, columns = schema.get("fields") or (), data.get("values") or ()
    entities, nanos = data.get("entities") or (), data.get("nanos") or ()
    columns = columns or [[] for _ in fields]
    if len(fields) != len(columns) or len({len(column) for column in columns}) > 1:
        raise ValueError("columns that do not fit")
    meta = schema.get("meta") or {}
    return Frame(
        tuple(
            _field(field, column, _at(entities, place), _at(nanos, place))
            for place, (field, column) in enumerate(zip(fields, columns, strict=True))
        ),
        str(meta.get("type") or ""),
        tuple(str(notice["text"]) for notice in meta.get("notices") or () if notice.get("text")),
    )


def _field(given: Mapping[str, Any], column: Sequence[Any], entities: Any, nanos: Any) -> Field:
    kind, info, config = str(given.get("type") or ""), given.get("typeInfo") or {}, given.get("config") or {}
    values = list(column)
    if kind == "time":
        rest = nanos or [0] * len(values)
        values = [None if ms is None else _time(ms, rest[row]) for row, ms in enumerate(values)]
    for name, number in _ENTITIES.items():
        for row in (entities or {}).get(name) or ():
            values[row] = number
    type_ = _TYPES.get(str(info.get("frame")), "")
    interval = config.get("interval")
    return Field(
        str(given.get("name") or ""),
        kind,
        f"Nullable({type_})" if type_ and info.get("nullable") else type_,
        {str(name): str(value) for name, value in (given.get("labels") or {}).items()},
        timedelta(milliseconds=interval) if kind == "time" and isinstance(interval, int | float) else None,
        tuple(values),
    )


def _at(lists: Sequence[Any], place: int) -> Any:
    return lists[place] if place < len(lists) else None


def _time(milliseconds: float, nanoseconds: float) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds, microseconds=nanoseconds // 1000)


def _head(frame: Frame) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(field.name for field in frame.fields), tuple(field.type for field in frame.fields)


def _series(frame: Frame, place: str) -> Iterator[Series]:
    times = next((field for field in frame.fields if field.kind == "time"), None)
    for field in frame.fields:
        if field.kind == "string":
            raise UsageError("the expression gives a text; ask for numbers")
        if field.kind != "number":
            continue
        if times is None:
            raise no_answer(place)
        pairs = zip(times.values, field.values, strict=True)
        yield Series(field.labels, tuple(Point(at, float(value)) for at, value in pairs if None not in (at, value)))
