"""The one place where times of an application are read: ISO 8601 and SQLite's form, also mixed, compare as moments."""

import re
from datetime import UTC, datetime
from typing import Final

_SHAPE: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII)


def parse_time(value: object) -> datetime:
    """The moment (aware, UTC) that a value of a source means; without a zone it is in UTC.

    `2026-05-28 06:30:00` of SQLite, `2026-05-28T08:30:00+02:00` and `2026-05-28T06:30:00Z` of ISO 8601 are the same
    moment, and so is a datetime of a driver. ValueError for anything else, in a few words.
    """
    if isinstance(value, str) and (shaped := _SHAPE.fullmatch(value)):
        try:
            if shaped[1] is None:
                return datetime.fromisoformat(f"{value}+00:00")
            return datetime.fromisoformat(value).astimezone(UTC)
        except ValueError:
            pass  # such as a 13th month
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    raise ValueError(f"{value!r:.60} is no time: write 2026-05-28T06:30:00Z, or 2026-05-28 06:30:00 in UTC")
