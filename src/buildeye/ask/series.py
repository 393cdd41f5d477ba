"""What Prometheus answers, as values: series of points, each under its labels. Pure: JSON in, series out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from buildeye.model import OutsideError, UsageError

MOST_SERIES = 1_000
"""Series of one answer; who asks for more wants them grouped."""


@dataclass(frozen=True, slots=True)
class Point:
    """A number at a moment (UTC); it may be infinite or not a number, as Prometheus has both."""

    at: datetime
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """Numbers over time under one set of labels, oldest first; at one moment there is one point."""

    labels: Mapping[str, str]
    points: tuple[Point, ...]


def series_of(data: Any, place: str) -> tuple[Series, ...]:
    """The series of the `data` of an answer to a query; histograms are left out. `place` names the server in errors.

    UsageError: the expression gives a text, or more series than anybody reads. OutsideError: this is no such answer.
    """
    try:
        kind, result = data["resultType"], data["result"]
        if kind == "string":
            raise UsageError("the expression gives a text; ask for numbers")
        if kind == "scalar":
            return (Series({}, (_point(result),)),)
        if kind not in {"vector", "matrix"}:
            raise no_answer(place)
        if len(result) > MOST_SERIES:
            raise UsageError(
                f"the expression gives {len(result):,} series, more than {MOST_SERIES:,}; "
                "group them with sum by (LABEL) (...) or keep some with topk(10, ...)"
            )
        return tuple(_series(entry) for entry in result if "value" in entry or "values" in entry)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, OSError):
        raise no_answer(place) from None


def joined(parts: Iterable[Sequence[Series]]) -> tuple[Series, ...]:
    """Series of several answers, one time after the other, as those of one; in the order of their labels."""
    points: dict[tuple[tuple[str, str], ...], list[Point]] = {}
    for part in parts:
        for series in part:
            points.setdefault(tuple(sorted(series.labels.items())), []).extend(series.points)
    return tuple(Series(dict(labels), tuple(points[labels])) for labels in sorted(points))


def no_answer(place: str) -> OutsideError:
    """The error for what answers, but not as Prometheus does."""
    return OutsideError(f"{place} does not answer as Prometheus does; is prometheus.url right (without /api/v1)?")


def _series(entry: Any) -> Series:
    given = entry["values"] if "values" in entry else [entry["value"]]
    labels = {str(name): str(value) for name, value in entry["metric"].items()}
    return Series(labels, tuple(_point(pair) for pair in given))


def _point(pair: Any) -> Point:
    seconds, value = pair
    return Point(datetime.fromtimestamp(seconds, UTC), float(value))
