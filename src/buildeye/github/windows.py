"""Reading a list that grows and shrinks while it is read, and of which GitHub shows a thousand entries a search.

Pages by number move: a run that begins pushes others to the next page, one that is deleted pulls them to the page
before, unseen. So each page after the first is a search of its own: what was created up to the oldest run seen so far.
That run is seen twice, none is missed, and no search reaches its thousandth entry. GitHub counts in whole seconds.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from buildeye.model import Run

SECOND = timedelta(seconds=1)

Ask = Callable[[str | None, int], tuple[Sequence[Run], bool]]
"""A page of a search: the window as `window_text` writes it (None: all) and the page's number, newest run first.

Gives the runs and whether there are more.
"""


def window_text(since: datetime, until: datetime) -> str:
    """A window, both ends included, in GitHub's search syntax."""
    return f"{_whole(since):%Y-%m-%dT%H:%M:%SZ}..{_whole(until):%Y-%m-%dT%H:%M:%SZ}"


def newest_first(ask: Ask, since: datetime, until: datetime | None) -> Iterator[list[Run]]:
    """Runs created from `since` to `until` (None: the newest), both included, page by page, each run once.

    A page without a new run is told as well: whoever asked may stop at any page.
    """
    since = _whole(since)
    end = None if until is None else _whole(until)
    seen: set[int] = set()
    page, more = 1, True
    while more and (end is None or since <= end):
        runs, more = ask(None if end is None else window_text(since, end), page)
        fresh = [run for run in runs if run.id not in seen and _created(run) >= since]
        seen.update(run.id for run in fresh)
        yield fresh
        oldest = min((_created(run) for run in runs), default=None)
        if oldest is None:  # nothing more of a second that was read by pages, or nothing at all
            end, page, more = (end - SECOND if end and page > 1 else since - SECOND), 1, True
        elif end is None or oldest < end:
            more = more or page > 1  # what was read by pages may have ended at the thousandth entry
            end, page = oldest, 1
        elif more:
            page += 1
        elif page > 1:  # all that GitHub shows of one second
            end, page, more = end - SECOND, 1, True


def _created(run: Run) -> datetime:
    return _whole(run.created_at or datetime.min.replace(tzinfo=UTC))


def _whole(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)
