"""Streaks as programs and agents read them: the columns of a row, a signature in short, and which name is meant."""

import re
from collections.abc import Callable
from typing import Any, Final

from buildeye.insight.streaks import Streak

COLUMNS: Final = (
    "job", "streak", "clipped", "since", "first_bad", "pull_request", "title", "last_bad", "last_good", "between",
    "failed", "judged", "failure_rate", "signatures", "undiagnosed", "html_url",
)  # fmt: skip


def named(text: str) -> Callable[[str], bool]:
    """Whether a job's name has this text, or fits it as a regular expression; letters' case does not matter."""
    plain = text.casefold()
    try:
        pattern = re.compile(text, re.IGNORECASE)
    except re.error:
        return lambda name: plain in name.casefold()
    return lambda name: plain in name.casefold() or pattern.search(name) is not None


def as_row(streak: Streak) -> dict[str, Any]:
    """A streak as JSON and CSV have it, by COLUMNS."""
    first = streak.first_bad
    return {
        "job": streak.job,
        "streak": streak.length,
        "clipped": streak.clipped,
        "since": first.at,
        "first_bad": first.sha,
        "pull_request": first.pull_request or None,
        "title": first.title.partition("\n")[0],
        "last_bad": streak.last_bad.sha,
        "last_good": streak.last_good.sha if streak.last_good else None,
        "between": [{"sha": each.sha, "pull_request": each.pull_request or None} for each in streak.between],
        "failed": streak.failed,
        "judged": streak.judged,
        "failure_rate": round(streak.failure_rate, 4),
        "signatures": [{"signature": signature, "commits": count} for signature, count in streak.signatures],
        "undiagnosed": streak.undiagnosed,
        "html_url": streak.html_url,
    }


def brief(signature: str) -> str:
    """A signature without its rule and folders: `pytest.failed|tests/a.py::test_b|E` is `test_b E`."""
    rule, _, rest = signature.partition("|")
    parts = [part.rpartition("::")[2].rpartition("/")[2] or part for part in rest.split("|") if part]
    return " ".join(parts) or rule
