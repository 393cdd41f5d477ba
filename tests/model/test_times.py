"""Times and durations as people type them."""

from datetime import UTC, datetime, timedelta

import pytest

from buildeye.model import UsageError
from buildeye.model.times import BEGINNING, duration, moment

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 1800), ("6h", 21600), ("7d", 604800), ("2w", 1209600), ("1h30m", 5400), ("15S", 15), (" 500ms ", 0.5)],
)
def test_a_duration_has_units(text: str, seconds: float) -> None:
    assert duration("--step", text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "0s", "6", "h", "6 h", "-6h", "6y", "1.5h", "999999999w999999999w", "٣h"])
def test_what_is_no_duration_is_refused_by_the_name_of_its_option(text: str) -> None:
    with pytest.raises(UsageError, match=r"--step is .*; write a duration such as 30m"):
        duration("--step", text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("now", NOW),
        ("7d", NOW - timedelta(days=7)),
        ("now-90m", NOW - timedelta(minutes=90)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T06:30", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
        ("2026-11-01 06:30:00Z", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
        ("2026-11-01T08:30:00+02:00", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
        ("2026-11-01 08:30:00 +0200", datetime(2026, 11, 1, 6, 30, tzinfo=UTC)),
        ("2026-11-01T06:30:00,250Z", datetime(2026, 11, 1, 6, 30, 0, 250_000, tzinfo=UTC)),
        ("1796126400", datetime(2026, 12, 1, 12, tzinfo=UTC)),
        ("1796126400500", datetime(2026, 12, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
        ("1796126400.5", datetime(2026, 12, 1, 12, 0, 0, 500_000, tzinfo=UTC)),
        ("9999w", BEGINNING),
        ("1066-10-14", BEGINNING),
    ],
)
def test_a_moment_is_read_in_every_usual_form(text: str, meant: datetime) -> None:
    assert moment("--from", text, NOW) == meant


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "2026-11-01T25:00", "now+1h", "12", "9999-01-01", "6"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--from is .*; write 12h, 7d"):
        moment("--from", text, NOW)
