"""What lies between the client and the network: token, counting, proxies, and the store of answers seen before.

The token is added below the cache, so it never reaches the disk, and only for the REST interface itself, so a redirect
to another host or to a store of logs never carries it.
"""

import hashlib
import json
import logging
import sqlite3
import threading
import urllib.request
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx2
from hishel import CacheOptions, SqliteStorage
from hishel.httpx2 import CacheTransport

from buildeye.config.secrets import masked
from buildeye.github.facts import Stats
from buildeye.github.tokens import Clock, Tokens
from buildeye.model import OutsideError

for name, level in (
    ("httpx2", logging.WARNING),  # tells the whole address of each request: those of logs carry a signature
    ("httpcore2", logging.WARNING),  # tells headers
    ("hishel", logging.CRITICAL),  # tells tracebacks of a cache that can do without
    ("stamina", logging.ERROR),  # tells each retry; the last failure is told by the client
):
    logging.getLogger(name).setLevel(level)

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
API_PLACES = ("/repos/", "/repositories/", "/rate_limit", "/user")  # a store of logs may share the API's host
CACHE_BYTES = 512 * 1024**2
CACHE_IDLE_SECONDS = 30 * 86_400.0

Origin = tuple[str, str, int | None]


def origin_of(url: httpx2.URL) -> Origin:
    """Scheme, host and port: what decides whether the token may go along."""
    return url.scheme, url.host, url.port


class ApiTransport(httpx2.BaseTransport):
    """Adds the token where the REST interface is asked, nowhere else; counts what is asked there and what is left.

    An answer in JSON that is not whole counts as a broken connection, so it is tried again and never kept.
    """

    def __init__(self, inner: httpx2.BaseTransport, base_url: httpx2.URL, tokens: Tokens | None, clock: Clock) -> None:
        self._inner = inner
        self._origin = origin_of(base_url)
        self._places = tuple(base_url.path.rstrip("/") + place for place in API_PLACES)
        self._tokens = tokens
        self._clock = clock
        self._lock = threading.Lock()
        self._stats = Stats()

    @property
    def stats(self) -> Stats:
        """What has been counted so far."""
        return self._stats

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        if origin_of(request.url) != self._origin or not request.url.path.startswith(self._places):
            return self._inner.handle_request(request)
        token = self._tokens.current() if self._tokens else ""
        response = self._send(request, token)
        if response.status_code == 401 and self._tokens and self._tokens.refused(token):
            response.close()
            response = self._send(request, self._tokens.current())
        return _whole(response)

    def _send(self, request: httpx2.Request, token: str) -> httpx2.Response:
        headers = request.headers.copy()
        if token:
            headers["authorization"] = f"Bearer {token}"
        response = self._inner.handle_request(
            httpx2.Request(
                request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
            )
        )
        self._count(response)
        return response

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _count(self, response: httpx2.Response) -> None:
        remaining = response.headers.get("x-ratelimit-remaining", "")
        limit = response.headers.get("x-ratelimit-limit", "")
        reset = moment_of(response.headers.get("x-ratelimit-reset", ""))
        if reset is not None:
            reset += self._clock() - github_time(response.headers, self._clock())
        with self._lock:
            before = self._stats
            self._stats = Stats(
                requests=before.requests + 1,
                not_modified=before.not_modified + (response.status_code == 304),
                remaining=int(remaining) if remaining.isdecimal() else before.remaining,
                limit=int(limit) if limit.isdecimal() else before.limit,
                reset_at=reset or before.reset_at,
            )


def _whole(response: httpx2.Response) -> httpx2.Response:
    """The answer, read to its end when it says it is JSON; RemoteProtocolError when that is cut short."""
    if response.status_code not in (200, 201) or "json" not in response.headers.get("content-type", ""):
        return response
    try:
        body = response.read()
    finally:
        response.close()
    try:
        json.loads(body)
    except ValueError:
        raise httpx2.RemoteProtocolError("the JSON of the answer is cut short") from None
    kept = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _CODINGS]
    return httpx2.Response(response.status_code, headers=kept, content=body, extensions=response.extensions)


_CODINGS = frozenset({"content-encoding", "transfer-encoding", "content-length"})


class ProxyTransport(httpx2.BaseTransport):
    """Goes through the proxy that the environment names for an address (HTTPS_PROXY, NO_PROXY), else straight."""

    def __init__(self, proxies: dict[str, str], bypass: Callable[[str], bool]) -> None:
        self._proxies = proxies
        self._bypass = bypass
        self._lock = threading.Lock()
        self._transports: dict[str, httpx2.HTTPTransport] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request."""
        return self._transport(self._proxy_for(request.url)).handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            transport.close()

    def _proxy_for(self, url: httpx2.URL) -> str:
        if url.host in LOOPBACK or self._bypass(url.host):
            return ""
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all", "")
        return f"http://{proxy}" if proxy and "://" not in proxy else proxy

    def _transport(self, proxy: str) -> httpx2.HTTPTransport:
        with self._lock:
            if proxy not in self._transports:
                self._transports[proxy] = _through(proxy)
            return self._transports[proxy]


def _through(proxy: str) -> httpx2.HTTPTransport:
    try:
        return httpx2.HTTPTransport(proxy=proxy or None)
    except (ImportError, ValueError) as error:  # no SOCKS support installed; a scheme or address that is none
        raise OutsideError(
            f"the proxy {masked(proxy)} of the environment cannot be used; name an http(s) proxy, "
            "or install httpx2[socks] for a SOCKS proxy"
        ) from error


def environment_transport() -> httpx2.BaseTransport:
    """The way to the network that the process's environment asks for."""
    return ProxyTransport(urllib.request.getproxies(), lambda host: bool(urllib.request.proxy_bypass(host)))


def cached(inner: httpx2.BaseTransport, folder: Path) -> httpx2.BaseTransport:
    """`inner` behind a store of answers, each checked with GitHub (304) before it is used again.

    A damaged store is begun anew. OutsideError: the folder cannot be written.
    """
    file = folder / "github-answers.sqlite"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not _sound(file):
            file.unlink()
    except OSError as error:
        raise OutsideError(
            f"the cache folder {folder} cannot be written: {error.strerror}; mend storage.data_dir"
        ) from error
    storage = SqliteStorage(database_path=file, default_tti=CACHE_IDLE_SECONDS, max_size=CACHE_BYTES)
    return CacheTransport(inner, storage=storage, rfc=CacheOptions(shared=False))


def cache_key(owner: str | None, url: httpx2.URL) -> str:
    """The place of an answer in the store: who asks with another token sees other things and has places of its own."""
    return hashlib.sha256(f"{owner or ''}\n{url}".encode()).hexdigest()


def github_time(headers: Mapping[str, str], otherwise: datetime) -> datetime:
    """What GitHub's clock said when it answered, to the second; `otherwise` when the answer does not tell."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).astimezone(UTC)
    except ValueError:
        return otherwise


def moment_of(epoch_seconds: str) -> datetime | None:
    """The time a rate-limit header names; None when it names none."""
    try:
        return datetime.fromtimestamp(int(epoch_seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _sound(file: Path) -> bool:
    if not file.exists():
        return True
    try:
        connection = sqlite3.connect(file)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        raise OutsideError(f"the cache {file} cannot be opened: {error}; mend storage.data_dir") from error
    except sqlite3.DatabaseError:
        return False
    return True
