"""Values for tests of the journal; `conftest` opens the stores they are put into."""

from datetime import UTC, datetime, timedelta

from buildeye.deploy.journal import Fence, Holder, Journal
from buildeye.model.deployments import Deployment, HealthSample, Moment, SignalKind, SignalStatus, State

START = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
BOOT = "this-boot"


class Ticks:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.value = 1000.0

    def __call__(self) -> float:
        return self.value


def moment(seconds: float = 0, boot: str = BOOT) -> Moment:
    return Moment(START + timedelta(seconds=seconds), boot, 1000.0 + seconds)


def deployment(name: str, service: str = "web", version: str = "") -> Deployment:
    return Deployment(name, service, version or f"version of {name}", State.CREATED, 0, moment())


def sample(
    deployment_id: str,
    seconds: float = 0,
    signal: SignalKind = SignalKind.HTTP,
    status: SignalStatus = SignalStatus.OK,
    detail: str = "",
) -> HealthSample:
    return HealthSample(deployment_id, signal, status, moment(seconds), detail, {"ms": 3})


def holder(name: str, host: str = "elsewhere") -> Holder:
    """A supervisor; of another host nobody here can tell whether it lives."""
    return Holder(name, host, 1, 1, BOOT)


def taken(journal: Journal, service: str = "web", name: str = "one") -> Fence:
    fence = journal.acquire(service, holder(name), 3600)
    assert fence is not None
    return fence
