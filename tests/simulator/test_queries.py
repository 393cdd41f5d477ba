"""Dates and pages are read as GitHub reads them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from buildeye.simulator.queries import InvalidQuery, Page, date_range

DAY = datetime(2026, 5, 27, tzinfo=UTC)
NEXT = datetime(2026, 5, 28, tzinfo=UTC)
NOON = datetime(2026, 5, 27, 12, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("2026-05-27", DAY, NEXT),
        (">=2026-05-27", DAY, LAST),
        (">2026-05-27", NEXT, LAST),
        ("<2026-05-27", FIRST, DAY),
        ("<=2026-05-27", FIRST, NEXT),
        (">=2026-05-27T12:00:00Z", NOON, LAST),
        (">=2026-05-27T14:00:00+02:00", NOON, LAST),
        (">=2026-05-27T14:00:00 02:00", NOON, LAST),
        ("<2026-05-27T12:00:00Z", FIRST, NOON),
        ("2026-05-27..2026-05-27", DAY, NEXT),
        ("2026-05-27T12:00:00Z..2026-05-27", NOON, NEXT),
        ("2026-05-27..*", DAY, LAST),
        ("*..2026-05-27", FIRST, NEXT),
    ],
)
def test_a_date_means_a_range(text: str, low: datetime, high: datetime) -> None:
    assert date_range(text) == (low, high)


@pytest.mark.parametrize("text", ["yesterday", ">=", "2026-13-01", "..", "2026-05-27T25:00:00Z"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        date_range(text)


@given(some.integers(0, 400), some.integers(1, 130))
def test_pages_cut_a_list_into_itself(total: int, size: int) -> None:
    items = list(range(total))
    pages = [Page.of({"page": str(number), "per_page": str(size)}).cut(items) for number in range(1, total + 2)]
    assert [item for page in pages for item in page] == items
