"""A Prometheus server, asked over its HTTP interface; whatever speaks it (Mimir, Thanos, VictoriaMetrics) will do.

An expression over a metric nobody has is answered with nothing, and so is one that fits no series at the moment;
`metrics_in` tells the two apart. The token is sent to the address itself only: redirects are not followed.
"""

import base64
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

import httpx2

from buildeye import __version__
from buildeye.ask.series import Series, joined, no_answer, series_of
from buildeye.config import Settings
from buildeye.config.secrets import MASK, masked
from buildeye.github.outside import AwayError, TooLargeError, body_of, patiently
from buildeye.github.transport import environment_transport
from buildeye.model import OutsideError, UsageError

MOST_POINTS = 11_000  # points a series that Prometheus gives in one answer
MOST_PARTS = 20  # answers that one range is put together from
MOST_BYTES = 64 * 1024**2  # of one answer
LONGEST_REASON = 300  # characters of a server's own words that an error repeats
RETRIES = 2
PAUSE = 0.5  # seconds before the first other try
_WORD = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_REFUSED = frozenset({400, 422})  # whatever the name of its kind, which differs among those that speak this
_GATEWAY = frozenset({502, 503, 504})  # unless the server itself says what is wrong


class Prometheus:
    """One server; a context manager. Safe to use from several threads.

    `token` is a bearer token or `user:password`; `timeout` the seconds one answer may take, to its last byte. Every
    method raises OutsideError when the server cannot be reached, refuses or fails, and UsageError for an expression it
    does not take.
    """

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        timeout: float = 20.0,
        retries: int = RETRIES,
        pause: float = PAUSE,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        address = _address(url)
        self._base = str(address).rstrip("/")
        self.place = f"Prometheus at {address.netloc.decode('ascii')}"
        self._timeout = timeout
        self._tries = retries + 1
        self._pause = pause
        authorization = _authorization(token)
        self._secrets = [s for s in (authorization.partition(" ")[2], token, token.partition(":")[2]) if s]
        headers = {"user-agent": f"build-eye/{__version__}", "accept": "application/json"}
        if authorization:
            headers["authorization"] = authorization
        self._client = httpx2.Client(
            transport=transport or environment_transport(), headers=headers, timeout=timeout, follow_redirects=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def query(self, expression: str, at: datetime | None = None) -> tuple[Series, ...]:
        """What an expression gives at a moment (aware); the server's present when none is named."""
        asked = {"query": expression} | ({} if at is None else {"time": _seconds(at)})
        return series_of(self._ask("POST", "query", asked), self.place)

    def query_range(self, expression: str, since: datetime, until: datetime, step: timedelta) -> tuple[Series, ...]:
        """What an expression gives at `since` and every `step` after it up to `until` (aware, both included).

        More points than Prometheus gives at once are asked for in parts. UsageError: the time is empty, or so long that
        the step is too small for it.
        """
        parts = parts_of(since, until, step)
        answers = []
        for start, end in parts:
            asked = {"query": expression, "start": _seconds(start), "end": _seconds(end)}
            data = self._ask("POST", "query_range", asked | {"step": f"{step.total_seconds():.3f}"})
            answers.append(series_of(data, self.place))
        return joined(answers)

    def metric_names(self, since: datetime | None = None, until: datetime | None = None) -> tuple[str, ...]:
        """The names of all metrics that the server holds, or held between two moments; sorted."""
        return self._names("label/__name__/values", _between(since, until))

    def metrics_in(
        self, expression: str, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[str, ...]:
        """Those metrics an expression names that the server holds; none: the expression asks for what nobody has.

        Words are taken for names wherever they stand, so a label called like a metric counts as one too.
        """
        words = words_in(expression)
        if not words:
            return ()
        asked = {"match[]": f'{{__name__=~"{"|".join(words)}"}}'} | _between(since, until)
        return self._names("label/__name__/values", asked)

    def label_names(self, since: datetime | None = None, until: datetime | None = None) -> tuple[str, ...]:
        """The names of all labels; sorted."""
        return self._names("labels", _between(since, until))

    def _names(self, path: str, asked: Mapping[str, str]) -> tuple[str, ...]:
        data = self._ask("GET", path, asked)
        if not isinstance(data, list):
            raise no_answer(self.place)
        return tuple(sorted(map(str, data)))

    def _ask(self, method: str, path: str, asked: Mapping[str, str]) -> Any:
        """The `data` of an answer; what may pass by itself is tried again."""
        try:
            url = f"{self._base}/api/v1/{path}"
            return patiently(lambda: self._once(method, url, asked), self._tries, self._pause)
        except TooLargeError:
            raise UsageError(
                f"the answer of {self.place} is larger than {MOST_BYTES // 1024**2} MiB; "
                "ask for a shorter time, a larger step or fewer series"
            ) from None
        except httpx2.TimeoutException:
            raise OutsideError(
                f"{self.place} did not answer within {self._timeout:g} seconds; "
                "ask for a shorter time, or raise prometheus.timeout_seconds"
            ) from None
        except AwayError as error:
            raise OutsideError(f"{self.place} answered {error.status}, {self._tries} times in a row") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            reason = self._told(str(error)) or type(error).__name__
            raise OutsideError(
                f"{self.place} cannot be reached: {reason}; check the network, the proxy and prometheus.url"
            ) from None

    def _once(self, method: str, url: str, asked: Mapping[str, str]) -> Any:
        given = dict(asked) | {"timeout": f"{self._timeout:g}s"}
        posted = method == "POST"
        with self._client.stream(
            method, url, data=given if posted else None, params=None if posted else given
        ) as response:
            body = body_of(response, MOST_BYTES, self._timeout)
        data = _json(body)
        if response.is_success and isinstance(data, dict) and data.get("status") == "success":
            return data.get("data")
        self._refuse(response, data if isinstance(data, dict) else {})
        raise no_answer(self.place)

    def _refuse(self, response: httpx2.Response, data: Mapping[str, Any]) -> None:
        """Raise what an answer that is no success means; an answer that says it is one passes."""
        kind, reason = data.get("errorType"), self._told(str(data.get("error") or ""))
        status = response.status_code
        if status in _REFUSED and kind:
            raise UsageError(f"{self.place} does not take the expression: {reason or 'no reason given'}")
        if status in _GATEWAY and not kind:
            raise AwayError(status)
        if status in {401, 403}:
            raise OutsideError(f"{self.place} answered {status}: PROMETHEUS_TOKEN is missing, wrong or may not read")
        if response.is_redirect:
            raise OutsideError(f"{self.place} answered {status}, a redirect; set prometheus.url to the server itself")
        if not response.is_success or kind:
            raise OutsideError(f"{self.place} answered {status}: {reason or 'no reason given; check prometheus.url'}")

    def _told(self, text: str) -> str:
        """A server's own words on one line, without what must not be shown."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return masked(" ".join(text.split()))[:LONGEST_REASON]


def prometheus_of(settings: Settings) -> Prometheus | None:
    """The server that the settings name; None when they name none."""
    asked, token = settings.prometheus, settings.prometheus_token
    if not asked.url:
        return None
    return Prometheus(asked.url, token.get_secret_value() if token else "", timeout=asked.timeout_seconds)


def words_in(expression: str) -> Sequence[str]:
    """The words of an expression, each once; names of metrics are among them."""
    return sorted(set(_WORD.findall(expression)))


def parts_of(
    since: datetime, until: datetime, step: timedelta, at_once: int = MOST_POINTS
) -> Sequence[tuple[datetime, datetime]]:
    """A time cut into pieces of `at_once` points at most, one step between two of them.

    UsageError: it is empty, or so long that the step is too small for it.
    """
    if step < timedelta(milliseconds=1):
        raise UsageError("the step between two points must be a millisecond or more")
    _seconds(since)
    _seconds(until)
    if until < since:
        raise UsageError(f"the time ends ({until:%Y-%m-%d %H:%M}) before it begins ({since:%Y-%m-%d %H:%M})")
    most = MOST_POINTS * MOST_PARTS
    points = (until - since) // step + 1
    if points > most:
        raise UsageError(
            f"the time has {points:,} points, more than {most:,}; "
            f"take a step of at least {math.ceil((until - since).total_seconds() / (most - 1))} seconds"
        )
    starts = [since + step * first for first in range(0, points, at_once)]
    return [(start, min(until, start + step * (at_once - 1))) for start in starts]


def _between(since: datetime | None, until: datetime | None) -> dict[str, str]:
    given = {"start": since, "end": until}
    return {name: _seconds(moment) for name, moment in given.items() if moment is not None}


def _seconds(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise UsageError(f"time {moment.isoformat()} has no zone: give aware times")
    return f"{moment.timestamp():.3f}"


def _address(url: str) -> httpx2.URL:
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise UsageError("prometheus.url is no address; such as http://prometheus:9090") from None
    if address.scheme not in {"http", "https"} or not address.host:
        raise UsageError("prometheus.url is no http(s) address; such as http://prometheus:9090")
    if address.userinfo:
        raise UsageError("prometheus.url holds a user name or password; take them out and set PROMETHEUS_TOKEN")
    return address.copy_with(query=None, fragment=None)


def _authorization(token: str) -> str:
    """The header for a token; only `user:password` has a colon."""
    if ":" in token:
        return "Basic " + base64.b64encode(token.encode()).decode("ascii")
    return f"Bearer {token}" if token else ""


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
