"""Whose name requests are made in: a token from the environment, or an installation of a GitHub App.

An App proves itself with a short-lived JWT signed by its private key and gets a token that lasts an hour. The token
lives in memory only; a new one is asked for before the old one ends, and when GitHub refuses it.
"""

import hashlib
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

import httpx2
import stamina

from buildeye.model import OutsideError, UsageError

EARLY = timedelta(minutes=5)  # a token this near its end is replaced
BACKDATED = timedelta(seconds=60)  # GitHub's clock may be behind ours
LIFETIME = timedelta(minutes=8)  # of the JWT; GitHub takes at most ten, counted from when it was issued
HELP = "See docs/token-setup.md"

Clock = Callable[[], datetime]


class Tokens(Protocol):
    """Where the token of a request comes from. Safe to use from several threads."""

    @property
    def owner(self) -> str:
        """Who asks, the same for all tokens of one source; never shown, only told apart by."""
        ...

    def current(self) -> str:
        """The token to send now. OutsideError: none is to be had."""
        ...

    def refused(self, token: str) -> bool:
        """GitHub answered 401 to `token`: whether `current` now gives another one."""
        ...


class FixedToken:
    """A token that stays the same."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __repr__(self) -> str:
        return "FixedToken(***)"

    @property
    def owner(self) -> str:
        """The token itself, which is only ever hashed."""
        return self._token

    def current(self) -> str:
        """The token."""
        return self._token

    def refused(self, token: str) -> bool:
        """There is no other one."""
        del token
        return False


class AppTokens:
    """Tokens of one installation of a GitHub App, each asked for when the one before is about to end.

    `key` is the App's private key (PEM). `transport` is the network, `retries` the tries after a fault.
    """

    def __init__(
        self,
        base_url: str,
        app_id: int,
        installation_id: int,
        key: bytes,
        *,
        transport: httpx2.BaseTransport,
        clock: Clock,
        timeout: float = 30.0,
        retries: int = 4,
        pause: float = 0.5,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/app/installations/{installation_id}/access_tokens"
        self._app_id = app_id
        self._installation_id = installation_id
        self._key = key
        self._client = httpx2.Client(transport=transport, timeout=timeout, follow_redirects=False)
        self._clock = clock
        self._retries = retries
        self._pause = pause
        self._lock = threading.Lock()
        self._token = ""
        self._ends = datetime.min.replace(tzinfo=UTC)
        self._ahead = timedelta()

    def __repr__(self) -> str:
        return f"AppTokens(app {self._app_id}, installation {self._installation_id})"

    @property
    def owner(self) -> str:
        """App and installation: what one token of it sees, the next one sees too."""
        return f"app {self._app_id}/{self._installation_id} {hashlib.sha256(self._key).hexdigest()}"

    def current(self) -> str:
        """The installation's token, with some minutes left to live."""
        with self._lock:
            if self._clock() + EARLY >= self._ends:
                self._renew()
            return self._token

    def refused(self, token: str) -> bool:
        """Ask for another one, unless another thread has done so already."""
        with self._lock:
            if token == self._token:
                self._renew()
            return self._token != token

    def _renew(self) -> None:
        response = self._ask()
        if response.status_code == HTTPStatus.UNAUTHORIZED and self._learn_time(response):
            response = self._ask()
        if response.status_code != HTTPStatus.CREATED:
            raise self._refusal(response.status_code)
        try:
            data = response.json()
            self._token = str(data["token"])
            # Counted from GitHub's clock, so that a clock of ours that is wrong does not matter.
            self._ends = datetime.fromisoformat(data["expires_at"]) + self._ahead
        except (ValueError, KeyError, TypeError):
            raise OutsideError(
                f"GitHub's answer to App {self._app_id} holds no token; is api.base_url GitHub's interface?"
            ) from None

    def _ask(self) -> httpx2.Response:
        try:
            for attempt in stamina.retry_context(
                on=(httpx2.TransportError, _ServerError),
                attempts=self._retries + 1,
                timeout=None,
                wait_initial=self._pause,
                wait_jitter=self._pause,
            ):
                with attempt:
                    response = self._client.post(self._url, headers={"authorization": f"Bearer {self._jwt()}"})
                    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                        raise _ServerError(response.status_code)
                    return response
        except _ServerError as error:
            raise OutsideError(
                f"GitHub answered {error.status} when App {self._app_id} asked for a token, "
                f"{self._retries + 1} times in a row; try again later"
            ) from None
        except httpx2.TransportError as error:
            raise OutsideError(
                f"{httpx2.URL(self._url).host} cannot be reached for a token of App {self._app_id}: "
                f"{type(error).__name__}; check the network, the proxy and api.base_url"
            ) from None
        raise AssertionError("stamina ends by returning or raising")

    def _jwt(self) -> str:
        import jwt

        now = self._clock() - self._ahead
        claims: dict[str, Any] = {"iat": now - BACKDATED, "exp": now + LIFETIME, "iss": str(self._app_id)}
        return jwt.encode(claims, self._key, algorithm="RS256")

    def _learn_time(self, response: httpx2.Response) -> bool:
        """Take the difference of the clocks from an answer; whether it explains the refusal."""
        try:
            theirs = parsedate_to_datetime(response.headers.get("date", ""))
        except ValueError:
            return False
        ahead = self._clock() - theirs
        explains = abs(ahead - self._ahead) > BACKDATED / 2
        self._ahead = ahead
        return explains

    def _refusal(self, status: int) -> OutsideError:
        match status:
            case 401:
                why = "its private key or App id is wrong; check github_app"
            case 403:
                why = "the installation is suspended; ask its owner"
            case 404:
                why = "there is no such installation of it; check github_app.installation_id"
            case _:
                why = "try again later"
        return OutsideError(f"GitHub answered {status} when App {self._app_id} asked for a token: {why}. {HELP}")


class _ServerError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


def read_key(file: Path) -> bytes:
    """The private key of an App. UsageError: the file cannot be read or holds no RSA key; it is never quoted."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = file.read_bytes()
    except OSError as error:
        raise UsageError(f"github_app.key_file {file} cannot be read: {error.strerror}. {HELP}") from None
    try:
        sound = isinstance(load_pem_private_key(key, password=None), RSAPrivateKey)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        sound = False
    if not sound:
        raise UsageError(f"github_app.key_file {file} holds no private RSA key without a password (PEM). {HELP}")
    return key
