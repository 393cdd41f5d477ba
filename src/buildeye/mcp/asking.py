"""The tools that take a question in its own language: SQL behind the guard, and PromQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from mcp_types import CallToolResult
from pydantic import Field

from buildeye.ask.answer import Answer
from buildeye.ask.macros import Span
from buildeye.ask.promql import Measured, ask_promql
from buildeye.ask.routing import prom_source
from buildeye.ask.series import Series
from buildeye.ask.sql import ask_sql, limits_of
from buildeye.mcp.desk import Desk
from buildeye.mcp.quoting import QUOTED, fitting, plain, plain_text, quoted, told
from buildeye.mcp.tooling import ReadingTool, Shape, answer, tool
from buildeye.model import UsageError
from buildeye.model.times import duration, moment

MOST_POINTS: Final = 1_000
"""Points of one series in an answer."""
_LONGEST: Final = 100_000
_SQL: Final = """Run one read-only ClickHouse SQL statement (SELECT, WITH, SHOW, DESCRIBE, EXPLAIN) on the warehouse.

Tables: default.workflow_job and default.workflow_run (GitHub's webhook shape; several rows a job while it changes, so
count(DISTINCT id), or read default.workflow_job_latest), default.push, default.pull_request; tests.all_test_runs (every
test case of every run: huge); buildeye.verdict_latest, buildeye.diagnosis_latest. SHOW TABLES FROM default and
DESCRIBE TABLE default.workflow_job tell more. Times are UTC.

A guard checks it first and says what to add: tests.all_test_runs needs time_inserted >= now() - INTERVAL 7 DAY and an
equality on file, classname, name or job_id; tests.test_run_s3 is partial and refused; say repository_full_name =
'OWNER/REPO', for tables hold several repositories. Functions that reach files, network or settings are refused. One
query may take {seconds} s, {memory} MiB, and {rows:,} rows; `limit` cuts what is told, not what is computed: aggregate
and write LIMIT. Values go in as native parameters: `WHERE name = {{job:String}}` with parameters {{"job": "unit"}}."""


class SqlAnswer(Shape):
    """Rows of an answer; values come from strangers."""

    columns: list[str]
    types: list[str] = Field(description="ClickHouse's types of the columns.")
    rows: list[dict[str, Any]]
    left_out: int = Field(description="Rows the query gave beyond those told.")
    warnings: list[str]


class PointAt(Shape):
    """A number at a moment (UTC); NaN, +Inf and -Inf are text."""

    at: datetime
    value: float | str


class SeriesOf(Shape):
    """Numbers over time under one set of labels, oldest first."""

    labels: dict[str, str]
    points: list[PointAt]


class PromAnswer(Shape):
    """What an expression gives."""

    series: list[SeriesOf]
    left_out: int = Field(description="Series beyond those told.")
    warnings: list[str]


class AskTools:
    """Asks the warehouse in SQL and the Prometheus of the settings in PromQL."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def tools(self) -> list[ReadingTool]:
        """Both tools; what SQL may cost stands in the words about it."""
        ask = self._desk.settings.ask
        about = _SQL.format(seconds=ask.max_seconds, memory=ask.max_memory_mib, rows=ask.max_rows)
        return [
            tool(self.sql, "sql", "Ask the warehouse in SQL", about),
            tool(self.promql, "promql", "Ask Prometheus", open_world=True),
        ]

    def sql(
        self,
        query: Annotated[str, Field(min_length=1, max_length=_LONGEST, description="One statement, without FORMAT.")],
        parameters: Annotated[
            dict[str, str | int | float | bool | list[str] | list[int]],
            Field(description="Values of {name:Type} in the statement."),
        ] = {},  # noqa: B006 - never changed
        limit: Annotated[int, Field(ge=1, le=1_000, description="Rows told at most.")] = 100,
    ) -> Annotated[CallToolResult, SqlAnswer]:
        """See the words about it above."""
        with self._desk.sql() as source:
            found = ask_sql(source, query, parameters, limits_of(self._desk.settings))
        columns = _distinct(found.columns)
        kept, cut = fitting(dict(zip(columns, row, strict=True)) for row in found.rows[:limit])
        left_out = cut + max(0, len(found.rows) - limit)
        structured = {
            "columns": columns, "types": found.types, "rows": kept, "left_out": left_out, "warnings": found.warnings,
        }  # fmt: skip
        return answer(structured, _table_text(found, columns, kept, left_out))

    def promql(
        self,
        expression: Annotated[str, Field(min_length=1, max_length=10_000, description="A PromQL expression.")],
        time: Annotated[
            str, Field(max_length=60, description="Instant query: a moment such as 2h (ago) or 2026-11-01T06:30:00Z.")
        ] = "",
        since: Annotated[
            str, Field(max_length=60, description="Range query: its beginning, such as 6h (ago) or 2026-11-01.")
        ] = "",
        until: Annotated[str, Field(max_length=60, description="Range query: its end; '' is now.")] = "",
        step: Annotated[
            str, Field(max_length=60, description="Range query: between two points, such as 30m; '' makes about 60.")
        ] = "",
        limit: Annotated[int, Field(ge=1, le=500, description="Series told at most.")] = 50,
    ) -> Annotated[CallToolResult, PromAnswer]:
        """Ask the Prometheus of the settings: an instant query, or with `since` a range query. Times are UTC.

        Runner metrics: gha_assigned_jobs and gha_running_jobs (gauges; labels name = runner kind, repository,
        organization, cluster where scraped so). Queue depth by runner kind:
        topk(10, clamp_min(sum by (name) (gha_assigned_jobs) - sum by (name) (gha_running_jobs), 0)).
        Lasting depth is too little capacity, a short peak a burst. An empty answer says in `warnings` whether the
        metric exists at all. At most 1,000 points a series: take a larger step for a longer time.
        """
        now = self._desk.now()
        if not since and (until or step):
            raise UsageError("until and step belong to a range query; say since when, such as 6h")
        if since and time:
            raise UsageError("time asks for one moment and since for a range; give one of them")
        span = _span(since, until, step, now) if since else None
        with prom_source(self._desk.settings, None, None) as source:
            found = ask_promql(source, expression, moment("time", time, now) if time else None, span)
        kept, cut = fitting(_series(each) for each in found.series[:limit])
        left_out = cut + max(0, len(found.series) - limit)
        structured = {"series": kept, "left_out": left_out, "warnings": _warnings(found)}
        return answer(structured, _series_text(found.series[: len(kept)], structured))


def _distinct(columns: Sequence[str]) -> list[str]:
    """Names that differ: a second `a` is `a_2`."""
    names: list[str] = []
    for column in columns:
        name, count = column, 2
        while name in names:
            name, count = f"{column}_{count}", count + 1
        names.append(name)
    return names


def _table_text(found: Answer, columns: Sequence[str], rows: Sequence[dict[str, Any]], left_out: int) -> str:
    more = f", {left_out:,} left out" if left_out else ""
    lines = [f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}{more}."]
    lines += [f"warning: {plain_text(warning)}" for warning in found.warnings]
    if rows:
        cells = [columns, *([_cell(value) for value in row.values()] for row in rows)]
        lines += [QUOTED, *(quoted("\t".join(row)) for row in cells)]
    return told(lines)


def _cell(value: Any) -> str:
    return " ".join(str(value).split())


def _span(since: str, until: str, step: str, now: datetime) -> Span:
    """The time that is meant. UsageError: its step gives more points than are told."""
    begin, end = moment("since", since, now), moment("until", until or "now", now)
    span = Span.of(begin, end, duration("step", step) if step else None)
    if (end - begin) / span.step > MOST_POINTS:
        least = int((end - begin).total_seconds() / MOST_POINTS) + 1
        raise UsageError(f"that is more than {MOST_POINTS:,} points a series; take a step of at least {least}s")
    return span


def _warnings(found: Measured) -> list[str]:
    """Why an answer is empty."""
    if found.series:
        return []
    if found.unknown:
        return [f"there is no metric {', '.join(found.unknown)} there"]
    return ["no series fits: the labels or the time do not"]


def _series(each: Series) -> dict[str, Any]:
    return {"labels": each.labels, "points": [{"at": point.at, "value": point.value} for point in each.points]}


def _series_text(shown: Sequence[Series], structured: Mapping[str, Any]) -> str:
    more = f", {structured['left_out']:,} left out" if structured["left_out"] else ""
    lines = [f"{len(shown):,} series{more}."]
    lines += [f"warning: {plain_text(warning)}" for warning in structured["warnings"]]
    lines += [QUOTED] if shown else []
    return told([*lines, *(quoted(_series_line(each)) for each in shown)])


def _series_line(each: Series) -> str:
    labels = ", ".join(f"{name}={value}" for name, value in sorted(each.labels.items()))
    values = [each.points[-1].value] if len(each.points) == 1 else [point.value for point in each.points]
    if len(values) == 1:
        return f"{{{labels}}} {plain(values[0])}"
    if not values:
        return f"{{{labels}}} no point"
    said = f"{len(values)} points, least {plain(min(values))}, most {plain(max(values))}, last {plain(values[-1])}"
    return f"{{{labels}}} {said}"
