"""One GET that either brings what was asked or says in one sentence why not: retries, rate limits, refusals.

Two kinds of waiting: what will pass by itself in seconds (5xx, cut connections) is tried again by stamina; a rate limit
says itself how long it lasts, and is waited for as long as the caller allows.
"""

import json
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
ERROR_BODY = 65_536  # bytes of a refusal that are read
HELP = "See docs/token-setup.md"


class NotFoundError(OutsideError):
    """GitHub has no such thing, no longer has it, or does not show it to this token; `gone` when it says: no longer."""

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


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
        url = httpx2.URL(f"{str(self._base).rstrip('/')}{path}").copy_merge_params(dict(params))
        waited = self._wait(self._held_for(path), 0.0, asked)
        while True:
            outcome = self._attempts(client, url, asked, read)
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
        if path == "/rate_limit":
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
        self._patience.sleep(pause)
        return waited + pause

    def _attempts(
        self, client: httpx2.Client, url: httpx2.URL, asked: Asked, read: Callable[[httpx2.Response], Answer]
    ) -> Answer | Refusal:
        tries = self._patience.retries + 1
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
                    return self._once(client, url, read)
        except _FaultError as error:
            raise OutsideError(
                f"GitHub answered {error.status} for {asked.repository} ({asked.what}), {tries} times in a row; "
                "try again later, githubstatus.com tells how GitHub is"
            ) from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            reason = masked(str(error)) or type(error).__name__
            raise OutsideError(
                f"{self._base.host} cannot be reached for {asked.repository} ({asked.what}): {reason}; "
                "check the network, the proxy and api.base_url"
            ) from None
        raise AssertionError("stamina ends by returning or raising")

    def _once(
        self, client: httpx2.Client, url: httpx2.URL, read: Callable[[httpx2.Response], Answer]
    ) -> Answer | Refusal:
        # no-cache: an answer seen before is used only after GitHub has confirmed it
        headers = {"cache-control": "no-cache"}
        extensions = {"caching": {"key": cache_key(self._tokens.owner if self._tokens else None, url)}}
        with client.stream("GET", url, headers=headers, extensions=extensions) as response:
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
            return OutsideError(f"{opening}the token is not authorised for the organisation's single sign-on. {HELP}")
        case 403:
            needed = _permission(refusal.headers.get("x-accepted-github-permissions", "")) or asked.permission
            return OutsideError(f'{opening}the token lacks "{needed}". {HELP}')
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
