"""One Grafana server on the wire: a token, a limit of time and size, other tries, and no redirects.

The token goes to the server itself only, and into no message: what a server says is shown without it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from buildeye import __version__
from buildeye.ask.addresses import netloc, web_address
from buildeye.ask.grafana.failures import one_line
from buildeye.config.secrets import MASK
from buildeye.github.outside import AwayError, TooLargeError, body_of, patiently
from buildeye.github.transport import environment_transport
from buildeye.model import OutsideError, UsageError

MOST_BYTES: Final = 128 * 1024**2  # of one answer
_GATEWAY: Final = frozenset({502, 503, 504})  # unless the server itself says what is wrong


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered: `data` is its JSON, None when it was none."""

    status: int
    data: Any

    @property
    def is_success(self) -> bool:
        """Whether the status says so; what is asked for may still be missing."""
        return 200 <= self.status < 300


class Wire:
    """The way to one server. Safe to use from several threads.

    OutsideError: the server cannot be reached, or does not answer in `timeout` seconds. UsageError: it is no address,
    or the answer is too large.
    """

    def __init__(
        self,
        server: str,
        token: str,
        *,
        timeout: float,
        retries: int,
        pause: float,
        transport: httpx2.BaseTransport | None,
    ) -> None:
        address = web_address(server, "the Grafana server", "https://grafana.example.com")
        if not (token.isascii() and token.isprintable()):
            raise UsageError("the Grafana token holds characters that no token has; run build-eye login")
        self.server = str(address).rstrip("/")
        self.place = f"Grafana at {netloc(address)}"
        self._timeout, self._tries, self._pause = timeout, retries + 1, pause
        self._token = token
        headers = {"user-agent": f"build-eye/{__version__}", "accept": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        self._client = httpx2.Client(
            transport=transport or environment_transport(), headers=headers, timeout=timeout, follow_redirects=False
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, asked: Mapping[str, str] | None = None) -> Reply:
        """What stands at a path below the server's address."""
        return self._ask("GET", path, params=dict(asked or {}))

    def post(self, path: str, body: Mapping[str, Any]) -> Reply:
        """What the server answers to JSON; only questions are posted, so they may be posted again."""
        return self._ask("POST", path, json=body)

    def told(self, text: str) -> str:
        """A server's own words as they may be shown."""
        return one_line(text.replace(self._token, MASK) if self._token else text)

    def _ask(self, method: str, path: str, **given: Any) -> Reply:
        try:
            return patiently(lambda: self._once(method, self.server + path, given), self._tries, self._pause)
        except TooLargeError:
            raise UsageError(
                f"the answer of {self.place} is larger than {MOST_BYTES // 1024**2} MiB; add a LIMIT or ask for less"
            ) from None
        except httpx2.TimeoutException:
            raise OutsideError(f"{self.place} did not answer within {self._timeout:g} seconds; ask for less") from None
        except AwayError as error:
            raise OutsideError(f"{self.place} answered {error.status}, {self._tries} times in a row") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            reason = self.told(str(error)) or type(error).__name__
            raise OutsideError(
                f"{self.place} cannot be reached: {reason}; check the network, the proxy and build-eye contexts list"
            ) from None

    def _once(self, method: str, url: str, given: Mapping[str, Any]) -> Reply:
        with self._client.stream(method, url, **given) as response:
            body = body_of(response, MOST_BYTES, self._timeout)
        data = _json(body)
        if response.status_code in _GATEWAY and not isinstance(data, dict):
            raise AwayError(response.status_code)
        return Reply(response.status_code, data)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
