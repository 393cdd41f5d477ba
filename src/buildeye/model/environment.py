"""What surrounds a job: what it ran in and with, and what the services it uses said of themselves."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ThingKind = Literal["image", "runner-image", "package", "tool"]


@dataclass(frozen=True, slots=True, order=True)
class Thing:
    """Something a job ran in or with, as its log tells: `value` is a digest (`sha256:...`) or a version."""

    kind: ThingKind
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Incident:
    """A disturbance that a service declared of itself; `resolved_at` is None while it lasts. Times in UTC."""

    id: str
    name: str
    started_at: datetime
    updated_at: datetime
    impact: str = ""
    status: str = ""
    components: tuple[str, ...] = ()
    resolved_at: datetime | None = None
    html_url: str = ""
    provider: str = "github"


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """How busy the runners of one pool were at a moment (UTC): jobs waiting for one, and jobs running.

    `pool` is the label jobs ask for: the name of a scale set, or labels joined by commas, sorted.
    """

    pool: str
    at: datetime
    waiting: float
    running: float
