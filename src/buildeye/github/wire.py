"""One request that either brings what was asked or says in one sentence why not: retries, rate limits, refusals.

Two kinds of waiting: what will pass by itself in seconds (5xx, cut connections) is tried again by stamina; a rate limit
says itself how long it lasts, and is waited for as long as the caller allows. A POST whose answer was lost may have
been taken: it is sent again only after a look whether what it makes is there.
"""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, TypeVar

import httpx2
import stamina

from buildeye.config.secrets import masked
from buildeye.github.tokens import Tokens
from buildeye.github.transport import ApiTransport, cache_key, github_time, moment_of, origin_of
from buildeye.model import OutsideError

Answer = TypeVar("Answer")

SECONDARY_WAIT = 60.0  # seconds; what GitHub asks for when it names no time
RESET_SLACK = 1.0  # seconds by which GitHub's clock may be behind ours
YEAR = 365 * 86_400.0  # seconds; no clock is asked to count further
TOLD = 5.0  # seconds; shorter waits are not worth a word
ERROR_BODY = 65_536  # bytes of a refusal that are read
_LOGGER = logging.getLogger(__name__)
HELP = "See docs/token-setup.md"


class NotFoundError(OutsideError):
    """GitHub has no such thing, no longer has it, or does not show it to this token; `gone` when it says: no longer."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


class ForbiddenError(OutsideError):
    """The token is valid, but may not do this."""


class LostAnswerError(OutsideError):
    """Nobody knows whether GitHub took a request: its answer did not come, or was a fault."""


class LimitError(OutsideError):
    """The rate limit is used up for longer than may be waited: asking for anything else is in vain."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is about, for its errors: the repository, the thing, the permission it needs."""

    repository: str
    what: str
    permission: str = "metadata: read"


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds between tries after a fault: the first pause, the longest, and how much of it is left to chance."""

    first: float = 0.5
    longest: float = 20.0
    jitter: float = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to try again after a fault, how long to wait for rate limits, and how to wait and tell time.

    `rate_limit_seconds` is the most one request waits for rate limits; `threshold_percent` of the hourly limit are left
    to others: when no more are left, the next request waits until the count starts anew.
    """

    retries: int
    rate_limit_seconds: float
    threshold_percent: float
    backoff: Backoff
    sleep: Callable[[float], None]
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent: GET, PATCH or POST; `body` is sent as JSON, None sends nothing."""

    method: str
    url: httpx2.URL
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is neither what was asked nor a fault: its status, headers and the message inside."""

    status: int
    headers: Mapping[str, str]
    message: str


class _FaultError(Exception):
    """A 5xx, or an answer of the log store that a new redirect may mend."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"status {response.status_code}")
        self.status = response.status_code
        after = response.headers.get("retry-after", "")
        self.retry_after = float(after) if after.isdecimal() else None


class Wire:
    """Sends the requests of one client. Safe to use from several threads."""

    def __init__(self, base_url: str, tokens: Tokens | None, transport: ApiTransport, patience: Patience) -> None:
        self._base = httpx2.URL(base_url)
        self._tokens = tokens
        self._api = transport
        self._patience = patience
        self._lock = threading.Lock()
        self._held_until: datetime | None = None
        self._told_until: datetime | None = None

    def get(
        self,
        client: httpx2.Client,
        path: str,
        params: Mapping[str, str | int],
        asked: Asked,
        read: Callable[[httpx2.Response], Answer],
    ) -> Answer:
        """GET `path` and `read` the answer; `read` runs again when the connection breaks while it reads.

        NotFoundError: 404 or 410. LimitError: the rate limit. OutsideError: every other failure.
        """
        return self._ask(client, _Request("GET", self._url(path).copy_merge_params(dict(params))), asked, read)

    def patch(self, client: httpx2.Client, path: str, body: Mapping[str, Any], asked: Asked) -> Any:
        """PATCH `path` with JSON and give the JSON of the answer; doing it twice does no more than once."""
        return self._ask(client, _Request("PATCH", self._url(path), body), asked, read_json)

    def post(
        self,
        client: httpx2.Client,
        path: str,
        body: Mapping[str, Any],
        asked: Asked,
        read: Callable[[httpx2.Response], Answer],
        find: Callable[[], Answer | None],
    ) -> Answer:
        """POST `path` with JSON and `read` the answer; nothing is made twice.

        `find` looks for what the POST makes, None when it is not there; it is asked each time an answer was lost.
        """
        tries, backoff = self._patience.retries + 1, self._patience.backoff
        for attempt in range(tries):
            try:
                return self._ask(client, _Request("POST", self._url(path), body), asked, read)
            except LostAnswerError as error:
                lost = error
            self._patience.sleep(min(backoff.first * 2**attempt, backoff.longest))
            if (there := find()) is not None:
                return there
        raise OutsideError(f"{lost}, {tries} times in a row; try again later, githubstatus.com tells how GitHub is")

    def _url(self, path: str) -> httpx2.URL:
        return httpx2.URL(f"{str(self._base).rstrip('/')}{path}")

    def _ask(
        self, client: httpx2.Client, request: _Request, asked: Asked, read: Callable[[httpx2.Response], Answer]
    ) -> Answer:
        waited = self._wait(self._held_for(request.url.path), 0.0, asked)
        while True:
            outcome = self._attempts(client, request, asked, read)
            if not isinstance(outcome, Refusal):
                return outcome
            now = self._patience.clock()
            pause = pause_asked_for(outcome, github_time(outcome.headers, now))
            if pause is None:
                raise refused(outcome, asked, with_token=self._tokens is not None)
            self._hold(now + timedelta(seconds=pause))
            waited = self._wait(pause, waited, asked)

    def _held_for(self, path: str) -> float:
        """Seconds until asking is welcome again: of a limit another thread met, or of one that is nearly used up.

        Asking for the limit itself is free.
        """
        if path.endswith("/rate_limit"):
            return 0.0
        now, stats = self._patience.clock(), self._api.stats
        held = (self._held_until - now).total_seconds() if self._held_until else 0.0
        if stats.remaining is not None and stats.reset_at is not None:
            kept_back = (stats.limit or 0) * self._patience.threshold_percent / 100
            until_reset = (stats.reset_at - now).total_seconds()
            if stats.remaining <= kept_back and until_reset > 0:
                held = max(held, until_reset + RESET_SLACK)
        return _within_a_year(held) if held > 0 else 0.0

    def _hold(self, until: datetime) -> None:
        """Let all threads wait, not only the one that was told to."""
        with self._lock:
            self._held_until = max(until, self._held_until or until)

    def _wait(self, pause: float, waited: float, asked: Asked) -> float:
        if not pause:
            return waited
        if waited + pause > self._patience.rate_limit_seconds:
            until = self._patience.clock() + timedelta(seconds=pause)
            raise LimitError(
                f"GitHub's rate limit is used up for {asked.repository} until {until:%Y-%m-%d %H:%M:%S} UTC; "
                "try again then, or raise api.rate_limit_wait_seconds"
                + ("" if self._tokens else f"; a token has more. {HELP}")
            )
        self._tell(pause)
        self._patience.sleep(pause)
        return waited + pause

    def _tell(self, pause: float) -> None:
        """Say once, not once a thread, that a wait worth mentioning has begun."""
        until = self._patience.clock() + timedelta(seconds=pause)
        with self._lock:
            known = self._told_until is not None and until < self._told_until + timedelta(seconds=TOLD)
            if pause < TOLD or known:
                return
            self._told_until = until
        _LOGGER.info(f"waiting for GitHub's rate limit until {until:%H:%M:%S} UTC")

    def _attempts(
        self, client: httpx2.Client, request: _Request, asked: Asked, read: Callable[[httpx2.Response], Answer]
    ) -> Answer | Refusal:
        once = request.method == "POST"
        tries = 1 if once else self._patience.retries + 1
        backoff = self._patience.backoff
        try:
            for attempt in stamina.retry_context(
                on=lambda error: _next_try(error, backoff),
                attempts=tries,
                timeout=None,
                wait_initial=backoff.first,
                wait_max=backoff.longest,
                wait_jitter=backoff.jitter,
            ):
                with attempt:
                    return self._once(client, request, read)
        except _FaultError as error:
            if once:
                raise LostAnswerError(f"GitHub answered {error.status} for {asked.repository} ({asked.what})") from None
            raise OutsideError(
                f"GitHub answered {error.status} for {asked.repository} ({asked.what}), {tries} times in a row; "
                "try again later, githubstatus.com tells how GitHub is"
            ) from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            reason = masked(str(error)) or type(error).__name__
            if once:
                raise LostAnswerError(
                    f"{self._base.host} did not answer for {asked.repository} ({asked.what}): {reason}"
                ) from None
            raise OutsideError(
                f"{self._base.host} cannot be reached for {asked.repository} ({asked.what}): {reason}; "
                "check the network, the proxy and api.base_url"
            ) from None
        raise AssertionError("stamina ends by returning or raising")

    def _once(
        self, client: httpx2.Client, request: _Request, read: Callable[[httpx2.Response], Answer]
    ) -> Answer | Refusal:
        # no-cache: an answer seen before is used only after GitHub has confirmed it
        headers = {"cache-control": "no-cache"}
        key = cache_key(self._tokens.owner if self._tokens else None, request.url)
        with client.stream(
            request.method, request.url, headers=headers, extensions={"caching": {"key": key}}, json=request.body
        ) as response:
            if response.is_success:
                return read(response)
            elsewhere = origin_of(response.url) != origin_of(self._base)
            if response.status_code >= 500 or (elsewhere and response.status_code not in {404, 410}):
                raise _FaultError(response)
            return Refusal(response.status_code, response.headers, _message(response))


def read_json(response: httpx2.Response) -> Any:
    """The JSON of an answer; None when it is not JSON (GitHub never answers a bare null)."""
    response.read()
    try:
        return response.json()
    except ValueError:
        return None


def pause_asked_for(refusal: Refusal, now: datetime) -> float | None:
    """Seconds to wait because of a rate limit, at least 1; None when the refusal is no rate limit."""
    if refusal.status not in {403, 429}:
        return None
    after = refusal.headers.get("retry-after", "")
    if after.isdecimal():
        return _within_a_year(float(after))
    reset = moment_of(refusal.headers.get("x-ratelimit-reset", ""))
    if refusal.headers.get("x-ratelimit-remaining") == "0" and reset is not None:
        return _within_a_year((reset - now).total_seconds() + RESET_SLACK)
    if refusal.status == HTTPStatus.TOO_MANY_REQUESTS or "secondary rate limit" in refusal.message.lower():
        return SECONDARY_WAIT
    return None


def refused(refusal: Refusal, asked: Asked, *, with_token: bool) -> OutsideError:
    """The error a refusal is told as."""
    opening = f"GitHub answered {refusal.status} for {asked.repository}: "
    match refusal.status:
        case 404 | 410:
            said = f"{opening}there is no {asked.what}, or the token may not see it. {HELP}"
            return NotFoundError(said, gone=refusal.status == 410)
        case 401 | 403 if not with_token:
            return OutsideError(f"{opening}a token is needed; set GITHUB_TOKEN. {HELP}")
        case 401:
            return OutsideError(f"{opening}the token is wrong, expired or revoked. {HELP}")
        case 403 if "x-github-sso" in refusal.headers:
            return ForbiddenError(f"{opening}the token is not authorised for the organisation's single sign-on. {HELP}")
        case 403:
            needed = _permission(refusal.headers.get("x-accepted-github-permissions", "")) or asked.permission
            return ForbiddenError(f'{opening}the token lacks "{needed}". {HELP}')
        case _:
            told = refusal.message or "no reason given"
            return OutsideError(f"{opening}{told} ({asked.what})")


def _within_a_year(seconds: float) -> float:
    return min(max(1.0, seconds), YEAR)


def _next_try(error: Exception, backoff: Backoff) -> bool | float:
    """Whether another try may help; as a number: the seconds GitHub asks to wait before it."""
    if isinstance(error, _FaultError):
        return True if error.retry_after is None else min(error.retry_after, backoff.longest)
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
        return False
    return isinstance(error, httpx2.TransportError | httpx2.DecodingError)


def _permission(accepted: str) -> str:
    """`actions=read; contents=read` as people read it: `actions: read`."""
    first = accepted.partition(";")[0].partition(",")[0].strip()
    name, _, level = first.partition("=")
    return f"{name}: {level}" if name and level else ""


def _message(response: httpx2.Response) -> str:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ERROR_BODY:
            break
    try:
        data = json.loads(body)
    except ValueError:
        return ""
    message = data.get("message") if isinstance(data, dict) else None
    return masked(" ".join(message.split())[:200]) if isinstance(message, str) else ""
