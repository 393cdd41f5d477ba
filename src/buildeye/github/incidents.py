"""What GitHub says of itself: the incidents on its status page, in the public form that Statuspage gives them.

The page is another server than the API: it gets no token and costs nothing of the rate limit.
"""

import json
from dataclasses import dataclass
from typing import Any, Self

import httpx2

from buildeye import __version__
from buildeye.config import Settings
from buildeye.config.secrets import masked
from buildeye.github.convert import Fields, ShapeError
from buildeye.github.outside import AwayError, TooLargeError, body_of, patiently
from buildeye.github.transport import environment_transport
from buildeye.model import Incident, OutsideError, UsageError

PATH = "/api/v2/incidents.json"
PROVIDER = "github"
SECONDS = 10.0  # a pass does not wait longer for what it can do without
RETRIES = 1
PAUSE = 0.5  # seconds before the other try
MOST_BYTES = 16 * 1024**2
LONGEST_NAME = 300  # characters
OVER = frozenset({"resolved", "postmortem"})


@dataclass(frozen=True, slots=True)
class Told:
    """The newest incidents, and the mark by which the page knows this answer again; empty when it gives none."""

    incidents: tuple[Incident, ...]
    mark: str


class StatusPage:
    """One status page. Each question is a connection of its own: there is one a pass."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = SECONDS,
        retries: int = RETRIES,
        pause: float = PAUSE,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._url = url.rstrip("/") + PATH
        self._timeout = timeout
        self._tries = retries + 1
        self._pause = pause
        self._transport = transport
        try:
            self.place = httpx2.URL(url).netloc.decode("ascii")
        except httpx2.InvalidURL:
            raise UsageError("api.status_url is no address; GitHub's is https://www.githubstatus.com") from None

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The page that the settings name; None when none is to be asked."""
        api = settings.api
        return cls(api.status_page, timeout=min(SECONDS, api.timeout_seconds)) if api.status_page else None

    def incidents(self, known: str = "") -> Told | None:
        """The incidents the page tells of, the newest some fifty; None when they are those of the mark `known`.

        OutsideError: the page cannot be had, or has another form.
        """
        try:
            return patiently(lambda: self._once(known), self._tries, self._pause)
        except AwayError as error:
            raise OutsideError(f"{self.place} answered {error.status}, {self._tries} times in a row") from None
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            reason = masked(str(error)) or type(error).__name__
            raise OutsideError(
                f"{self.place} cannot be reached: {reason}; check the network, or set api.status_url to none"
            ) from None

    def _once(self, known: str) -> Told | None:
        headers = {"accept": "application/json", "user-agent": f"build-eye/{__version__}"}
        if known:
            headers["if-none-match"] = known
        transport = self._transport or environment_transport()
        with (
            httpx2.Client(transport=transport, timeout=self._timeout, follow_redirects=True) as client,
            client.stream("GET", self._url, headers=headers) as response,
        ):
            if response.status_code == 304:
                return None
            if response.status_code >= 500:
                raise AwayError(response.status_code)
            if not response.is_success:
                raise OutsideError(f"{self.place} answered {response.status_code}; is api.status_url right?")
            return Told(self._read(response), response.headers.get("etag", ""))

    def _read(self, response: httpx2.Response) -> tuple[Incident, ...]:
        try:
            return incidents_from(json.loads(body_of(response, MOST_BYTES, self._timeout)))
        except TooLargeError:
            raise OutsideError(f"the answer of {self.place} has no end; is api.status_url right?") from None
        except ShapeError as error:
            raise OutsideError(f"{self.place}: {error.problem}; is api.status_url right?") from None
        except ValueError:
            raise OutsideError(f"the answer of {self.place} is not JSON; is api.status_url right?") from None


def incidents_from(data: Any) -> tuple[Incident, ...]:
    """The incidents of an answer, in its order. ShapeError: it is not of the form Statuspage documents."""
    return tuple(_incident(each) for each in Fields(data, "the status page").objects("incidents", optional=False))


def _incident(data: object) -> Incident:
    fields = Fields(data, "an incident")
    number = fields.required_text("id")
    fields = Fields(data, f"incident {number}")
    started = fields.time("started_at") or fields.time("created_at")
    if started is None:
        raise ShapeError(f"incident {number}", "says not when it began")
    updated = fields.time("updated_at") or started
    status, resolved = fields.text("status", optional=True), fields.time("resolved_at")
    link = fields.text("shortlink", optional=True)
    components = [Fields(each, f"incident {number}") for each in fields.objects("components")]
    return Incident(
        id=number,
        name=" ".join(fields.text("name").split())[:LONGEST_NAME],
        started_at=started,
        updated_at=updated,
        impact=fields.text("impact", optional=True),
        status=status,
        components=tuple(component.required_text("name") for component in components),
        resolved_at=updated if resolved is None and status in OVER else resolved,
        html_url=link if link.startswith(("https://", "http://")) else "",
        provider=PROVIDER,
    )
