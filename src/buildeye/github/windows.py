"""Time windows of a search, and halving those that hold more than GitHub shows. GitHub counts in whole seconds."""

from datetime import UTC, datetime, timedelta

WINDOW_CAP = 1000  # results GitHub shows of one search
SECOND = timedelta(seconds=1)

Window = tuple[datetime, datetime]


def window_text(since: datetime, until: datetime) -> str:
    """A window, both ends included, in GitHub's search syntax."""
    return f"{_whole(since):%Y-%m-%dT%H:%M:%SZ}..{_whole(until):%Y-%m-%dT%H:%M:%SZ}"


def halves(since: datetime, until: datetime) -> tuple[Window, ...]:
    """The newer half and the older half, without a second in common; nothing when one second is left."""
    start, end = _whole(since), _whole(until)
    if start >= end:
        return ()
    middle = start + timedelta(seconds=int((end - start).total_seconds()) // 2)
    return (middle + SECOND, end), (start, middle)


def _whole(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)
