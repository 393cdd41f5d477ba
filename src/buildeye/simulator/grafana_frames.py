"""Frames as Grafana's backend writes them: columns, times in milliseconds, places of what JSON has no number for."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

Frame = dict[str, Any]
_WHOLE: Final = re.compile(r"U?Int(8|16|32|64)")
_NUMBER: Final = re.compile(r"U?Int\d+|Float(32|64)|BFloat16|Decimal.*")
_NESTED: Final = re.compile(r"Array|Tuple|Map|Nested|JSON|Object|Variant|Dynamic|Point|Ring|Polygon")
_ZONE: Final = re.compile(r"'([^']+)'")
_WRAPPED: Final = re.compile(r"(Nullable|LowCardinality)\((.*)\)")


def table_frame(meta: Sequence[Mapping[str, str]], rows: Sequence[Sequence[Any]]) -> Frame:
    """The one frame of a query to ClickHouse, from the `meta` and `data` of its format JSONCompact."""
    columns = [_column(each["name"], each["type"], [row[at] for row in rows]) for at, each in enumerate(meta)]
    return _frame(
        [head for head, _ in columns], [values for _, values in columns], {"preferredVisualisationType": "table"}
    )


def metric_frame(labels: Mapping[str, str], points: Sequence[Sequence[Any]], kind: str, step: int | None) -> Frame:
    """The frame of one series: `points` are pairs of seconds and text, `step` the milliseconds of a range."""
    head: dict[str, Any] = {"name": "Time", "type": "time", "typeInfo": {"frame": "time.Time"}}
    if step is not None:
        head["config"] = {"interval": step}
    value = {"name": "Value", "type": "number", "typeInfo": {"frame": "float64"}, "labels": dict(labels)}
    family = "timeseries-multi" if step is not None else "numeric-multi"
    times = [round(float(seconds) * 1000) for seconds, _ in points]
    return _frame(
        [head, value], [times, [float(text) for _, text in points]], {"type": family, "custom": {"resultType": kind}}
    )


def _frame(fields: list[dict[str, Any]], columns: list[list[Any]], meta: Mapping[str, Any]) -> Frame:
    data: dict[str, Any] = {"values": [], "entities": [], "nanos": []}
    for column in columns:
        values, entities, nanos = _plain(column)
        data["values"].append(values)
        data["entities"].append(entities)
        data["nanos"].append(nanos)
    for part in ("entities", "nanos"):
        if not any(data[part]):
            del data[part]
    return {"schema": {"refId": "A", "meta": dict(meta), "fields": fields}, "data": data}


def _plain(column: Sequence[Any]) -> tuple[list[Any], dict[str, list[int]] | None, list[int] | None]:
    """A column as JSON can hold it, with the places of what it cannot and the nanoseconds below its milliseconds."""
    values: list[Any] = []
    entities: dict[str, list[int]] = {}
    nanos = [0] * len(column)
    for place, value in enumerate(column):
        if isinstance(value, float) and not math.isfinite(value):
            entities.setdefault("NaN" if math.isnan(value) else "Inf" if value > 0 else "NegInf", []).append(place)
            values.append(None)
        elif isinstance(value, datetime):
            microseconds = round((value - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
            nanos[place] = microseconds % 1000 * 1000
            values.append(microseconds // 1000)
        else:
            values.append(value)
    return values, entities or None, nanos if any(nanos) else None


def _column(name: str, type_: str, values: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    nullable, inner = False, type_
    while wrapped := _WRAPPED.fullmatch(inner):
        nullable, inner = nullable or wrapped[1] == "Nullable", wrapped[2]
    kind, go, read = _kind(inner, nullable)
    info = {"frame": go} | ({"nullable": True} if nullable else {})
    return {"name": name, "type": kind, "typeInfo": info}, [read(value) for value in values]


def _kind(type_: str, nullable: bool) -> tuple[str, str, Any]:
    """Grafana's kind, the type of the plugin's language, and how a value of JSONCompact becomes it."""
    if _WHOLE.fullmatch(type_):
        return "number", type_.lower(), lambda value: None if value is None else int(value)
    if _NUMBER.fullmatch(type_):
        missing = None if nullable else math.nan  # JSONCompact writes null for what is not a number
        go = "float32" if type_ == "Float32" else "float64"
        return "number", go, lambda value: missing if value is None else float(value)
    if type_ == "Bool":
        return "boolean", "bool", lambda value: value
    if type_.startswith("Date"):
        zone = _ZONE.search(type_)
        return "time", "time.Time", lambda value: None if value is None else _moment(value, zone[1] if zone else "UTC")
    if _NESTED.match(type_):
        return "other", "json.RawMessage", lambda value: value
    return "string", "string", lambda value: value


def _moment(text: str, zone: str) -> datetime:
    fraction = text.partition(".")[2]
    if len(fraction) > 6:
        text = text[: len(text) - len(fraction) + 6]
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
