from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.github.windows import SECOND, Window, halves, window_text

moments = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


def cut_up(window: Window, longest: timedelta) -> list[Window]:
    parts = halves(*window) if window[1] - window[0] > longest else ()
    return [piece for part in parts for piece in cut_up(part, longest)] or [window]


@settings(max_examples=50, deadline=None)
@given(moments, st.integers(0, 10**7), st.integers(0, 10**6))
def test_halves_of_halves_hold_every_second_once_newest_first(since: datetime, seconds: int, longest: int) -> None:
    since = since.replace(microsecond=0)
    pieces = cut_up((since, since + timedelta(seconds=seconds)), timedelta(seconds=max(longest, seconds // 50)))
    assert (pieces[-1][0], pieces[0][1]) == (since, since + timedelta(seconds=seconds))
    for newer, older in pairwise(pieces):
        assert newer[0] - older[1] == SECOND


def test_one_second_has_no_halves() -> None:
    moment = datetime(2026, 5, 28, tzinfo=UTC)
    assert halves(moment, moment + timedelta(milliseconds=900)) == ()


def test_a_window_is_written_in_utc() -> None:
    since = datetime.fromisoformat("2026-05-28T08:00:00+08:00")
    assert window_text(since, since + SECOND) == "2026-05-28T00:00:00Z..2026-05-28T00:00:01Z"
