"""Moments of one boot for tests of what needs only an order and distances of time."""

from datetime import UTC, datetime, timedelta

from buildeye.model.deployments import Moment

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float, boot: str = "boot-a") -> Moment:
    """The moment so many seconds after the start."""
    return Moment(START + timedelta(seconds=seconds), boot, 1000 + seconds)
