"""The servers behind the Grafana look-alike, asked as its plugins ask them, and answered in frames."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from buildeye.simulator.grafana_frames import Frame, metric_frame, table_frame
from buildeye.simulator.grafana_macros import MacroError, Span, expanded

_TIMEOUT: Final = 60.0  # seconds
_HOW: Final = {"default_format": "JSONCompact", "output_format_json_quote_denormals": "1"}
_MOST_POINTS: Final = 11_000
_FEWEST_POINTS: Final = 100  # that Grafana aims at when it is not told
_ROUND: Final = (
    (15, 10), (35, 20), (75, 50), (150, 100), (350, 200), (750, 500), (1_500, 1_000), (3_500, 2_000), (7_500, 5_000),
    (12_500, 10_000), (17_500, 15_000), (25_000, 20_000), (45_000, 30_000), (90_000, 60_000), (210_000, 120_000),
    (450_000, 300_000), (750_000, 600_000), (1_050_000, 900_000), (1_500_000, 1_200_000), (2_700_000, 1_800_000),
    (5_400_000, 3_600_000), (9_000_000, 7_200_000), (16_200_000, 10_800_000), (32_400_000, 21_600_000),
    (86_400_000, 43_200_000), (604_800_000, 86_400_000),
)  # fmt: skip
"""How Grafana rounds an interval, in milliseconds: up to the first number it becomes the second."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one query came to: frames, or an error with the status Grafana gives it."""

    frames: tuple[Frame, ...] = ()
    status: int = 200
    error: str = ""


class ClickHouse:
    """A server of ClickHouse's HTTP interface, asked with a user and a password."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = url
        self._client = httpx2.Client(auth=(user, password), timeout=_TIMEOUT, trust_env=False)

    def answer(self, query: Mapping[str, Any], since: str, until: str) -> Result:
        """The rows of `rawSql`. RequestError: the server cannot be reached."""
        span = Span(int(since), int(until), int(query.get("intervalMs") or 1000))
        try:
            sql = expanded(query["rawSql"], span)
        except MacroError as error:
            return Result(status=400, error=f"macro: {error}")
        answer = self._client.post(self._url, params=_HOW, content=sql.encode())
        if not answer.is_success:
            said = answer.text.strip() or answer.headers.get("x-clickhouse-exception-code", "")
            return Result(status=500, error=f"error querying the database: {said}")
        told = json.loads(answer.content) if answer.content.strip() else {"meta": [], "data": []}
        return Result((table_frame(told["meta"], told["data"]),))


class Prometheus:
    """A server of Prometheus's HTTP interface, asked without a token."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._client = httpx2.Client(timeout=_TIMEOUT, trust_env=False)

    def answer(self, query: Mapping[str, Any], since: str, until: str) -> Result:
        """The series of `expr`, at one moment or over a range. RequestError: the server cannot be reached."""
        if query.get("instant"):
            moment = {} if until.startswith("now") else {"time": f"{int(until) / 1000:.3f}"}
            return self._asked("query", {"query": query["expr"]} | moment, None)
        step = step_of(int(until) - int(since), int(query.get("intervalMs") or 15_000), query.get("maxDataPoints"))
        ends = {"start": f"{int(since) // step * step / 1000:.3f}", "end": f"{int(until) // step * step / 1000:.3f}"}
        return self._asked("query_range", {"query": query["expr"], "step": f"{step / 1000:.3f}"} | ends, step)

    def resource(self, path: str, query: str) -> tuple[int, bytes]:
        """Status and body of what is handed through."""
        if not re.fullmatch(r"api/v1/(labels|label/[^/]+/values|metadata)", path):
            return 404, b"{}"
        try:
            answer = self._client.get(f"{self._url}/{path}?{query}")
        except httpx2.RequestError:
            return 502, b""
        return answer.status_code, answer.content

    def _asked(self, path: str, asked: Mapping[str, str], step: int | None) -> Result:
        answer = self._client.post(f"{self._url}/api/v1/{path}", data=dict(asked))
        told = json.loads(answer.content)
        if told.get("status") != "success":
            return Result(status=answer.status_code, error=f"{told.get('errorType')}: {told.get('error')}")
        kind, result = told["data"]["resultType"], told["data"]["result"]
        if kind == "scalar":
            return Result((metric_frame({}, [result], kind, step),))
        if kind == "string":
            text = {"name": "Value", "type": "string", "typeInfo": {"frame": "string"}}
            return Result(({"schema": {"refId": "A", "fields": [text]}, "data": {"values": [[result[1]]]}},))
        return Result(tuple(metric_frame(e["metric"], e.get("values") or [e["value"]], kind, step) for e in result))


def step_of(length: int, least: int, points: int | None) -> int:
    """The step of a range, in milliseconds: as asked for, unless that made more points than are wanted or possible."""
    return max(least, _rounded(length / (points or _FEWEST_POINTS)), _rounded(length / _MOST_POINTS))


def _rounded(milliseconds: float) -> int:
    if milliseconds <= 10:
        return 1
    return next((rounded for most, rounded in _ROUND if milliseconds <= most), 7 * 86_400_000)
