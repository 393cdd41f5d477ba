"""Query parameters as GitHub reads them: dates, statuses, pages. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import urlencode

from buildeye.model import Run

T = TypeVar("T")

SEARCH_LIMIT = 1000
"""GitHub shows at most so many runs of a filtered list, however many there are."""

STATUSES = frozenset(
    (
        *(
            "completed",
            "action_required",
            "cancelled",
            "failure",
            "neutral",
            "skipped",
            "stale",
            "success",
            "timed_out",
        ),
        *("in_progress", "queued", "requested", "waiting", "pending"),
    )
)
_FILTERS = ("actor", "branch", "event", "status", "created", "head_sha", "check_suite_id")


class InvalidQuery(ValueError):
    """A parameter that GitHub would answer with 422; the message is GitHub's."""


def select_runs(runs: Iterable[Run], query: Mapping[str, str]) -> list[Run]:
    """The runs that a query asks for, in the order given. Raises InvalidQuery."""
    tests: list[Callable[[Run], bool]] = []
    if status := query.get("status"):
        if status not in STATUSES:
            raise InvalidQuery(f"Invalid value for status: {status!r}")
        tests.append(lambda run: status in (run.status, run.conclusion))
    if created := query.get("created"):
        low, high = date_range(created)
        tests.append(lambda run: run.created_at is not None and low <= run.created_at < high)
    for name, field in (("branch", "head_branch"), ("event", "event"), ("head_sha", "head_sha"), ("actor", "actor")):
        if wanted := query.get(name):
            tests.append(_equals(field, wanted))
    return [run for run in runs if all(test(run) for test in tests)]


def _equals(field: str, wanted: str) -> Callable[[Run], bool]:
    return lambda run: getattr(run, field) == wanted


def filtered(query: Mapping[str, str]) -> bool:
    """Whether a list of runs is a search, of which GitHub shows only the first thousand."""
    return any(query.get(name) for name in _FILTERS)


_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def date_range(text: str) -> tuple[datetime, datetime]:
    """The half-open range of times that GitHub's date syntax means: `>=x`, `<x`, `a..b`, `a..*`, a day, a second.

    Raises InvalidQuery.
    """
    for sign in (">=", "<=", ">", "<"):
        if text.startswith(sign):
            start, end = _span(text.removeprefix(sign))
            return {">=": (start, _LAST), "<=": (_FIRST, end), ">": (end, _LAST), "<": (_FIRST, start)}[sign]
    low, dots, high = text.partition("..")
    if not dots:
        return _span(text)
    return (_FIRST if low == "*" else _span(low)[0]), (_LAST if high == "*" else _span(high)[1])


def _span(text: str) -> tuple[datetime, datetime]:
    """The day or the second that a date or a time means."""
    try:
        # A plus sign of an offset arrives as a blank when a client does not quote it.
        at = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        raise InvalidQuery(f"Invalid date: {text!r}") from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return at, at + (timedelta(seconds=1) if "T" in text else timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: 1-based number and size (30 when not asked for, at most 100)."""

    number: int
    size: int

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Page":
        """The page that a query asks for; nonsense is read as GitHub reads it, as the default."""
        return cls(_positive(query.get("page"), 1), min(_positive(query.get("per_page"), 30), 100))

    def cut(self, items: Sequence[T]) -> Sequence[T]:
        """The items of this page."""
        return items[(self.number - 1) * self.size : self.number * self.size]

    def links(self, url: str, query: Mapping[str, str], total: int) -> str:
        """The Link header for a list of `total` items; empty when one page holds all."""
        last = max(1, -(-total // self.size))
        if last == 1:
            return ""
        pages: dict[str, int] = {}
        if self.number > 1:
            pages |= {"prev": min(self.number - 1, last)}
        if self.number < last:
            pages |= {"next": self.number + 1, "last": last}
        if self.number > 1:
            pages |= {"first": 1}
        return ", ".join(
            f'<{url}?{urlencode({**query, "page": page})}>; rel="{relation}"' for relation, page in pages.items()
        )


def _positive(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isdecimal() and int(text) > 0 else otherwise
