"""The one place that reads times and durations as people type them: `7d`, `now-6h`, a date, ISO 8601, Unix time."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from buildeye.model.errors import UsageError

BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""No time that is typed is earlier: ClickHouse's DateTime begins here."""
_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_DURATION: Final = re.compile(r"(?:\d{1,9}(?:ms|[smhdw]))+", re.ASCII)
_PART: Final = re.compile(r"(\d+)(ms|[smhdw])", re.ASCII)
_UNIX: Final = re.compile(r"\d{9,10}(?:\.\d{1,6})?|\d{13}", re.ASCII)
_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?", re.ASCII
)
_LATEST: Final = datetime(2262, 1, 1, tzinfo=UTC)
_WROTE: Final = 60  # characters of what was typed that an error repeats


def duration(option: str, text: str) -> timedelta:
    """How long `30m`, `6h`, `7d`, `2w` or `1h30m` is; above zero. `option` names what was typed in errors.

    UsageError: it is none of these.
    """
    length = _length(text)
    if not length:
        raise UsageError(f'{option} is "{text[:_WROTE]}"; write a duration such as 30m, 6h, 7d or 2w')
    return length


def moment(option: str, text: str, now: datetime) -> datetime:
    """The moment (aware, UTC) that a text means: `7d` is that long before `now`, and so is `now-7d`.

    Also `now`, a date (its beginning), ISO 8601 with or without a zone (then UTC), and seconds or, with 13 digits,
    milliseconds since 1970. Nothing is before 1970. UsageError: it is none of these.
    """
    word = text.strip()
    found = _ago(word.lower(), now) or _unix(word) or _written(word)
    if found is None:
        raise UsageError(
            f'{option} is "{text[:_WROTE]}"; write 12h, 7d, 4w or a date such as 2026-11-01, or 2026-11-01T06:30:00Z'
        )
    return max(BEGINNING, found)


def _length(text: str) -> timedelta | None:
    word = text.strip().lower()
    if not _DURATION.fullmatch(word):
        return None
    try:
        return sum((int(number) * _UNITS[unit] for number, unit in _PART.findall(word)), timedelta())
    except OverflowError:
        return None


def _ago(word: str, now: datetime) -> datetime | None:
    if word == "now":
        return now
    length = _length(word.removeprefix("now-"))
    if length is None:
        return None
    return BEGINNING if length > now - BEGINNING else now - length


def _unix(word: str) -> datetime | None:
    if not _UNIX.fullmatch(word):
        return None
    return datetime.fromtimestamp(int(word) / 1000 if len(word) == 13 and word.isdigit() else float(word), UTC)


def _written(word: str) -> datetime | None:
    if not _DATE.fullmatch(word):
        return None
    try:
        read = datetime.fromisoformat(word.replace(",", ".").replace(" +", "+").replace(" -", "-").replace(" Z", "Z"))
        aware = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return aware if aware < _LATEST else None
