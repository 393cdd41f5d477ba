"""Cleaned lines of a log by number, read again from where they are."""

import re
from array import array
from bisect import bisect_right

from buildeye.logs.engine import Log, Scan
from buildeye.logs.text import clean


class Lines:
    """Cleaned lines of a log by number, read again from where they are; keeps the last two blocks at hand."""

    def __init__(self, log: Log, found: Scan) -> None:
        self._log = log
        self._starts = found.starts
        self._first = [line for line, _, _ in found.starts]
        self.count = found.lines
        self._pages: dict[int, tuple[bytes, array[int]]] = {}
        self._texts: dict[int, str] = {}

    def __getitem__(self, number: int) -> str:
        """The cleaned text of a line (1-based); empty beyond the ends."""
        if number not in self._texts:
            if len(self._texts) > 50_000:
                self._texts.clear()
            self._texts[number] = clean(self.raw(number)) if 1 <= number <= self.count else ""
        return self._texts[number]

    def raw(self, number: int) -> bytes:
        """The bytes of a line (1-based), cut at 64 KiB."""
        page = bisect_right(self._first, number) - 1
        while page > 0 and self._first[page] == number and self._starts[page][2]:
            page -= 1
        data, ends = self._page(page)
        index = number - self._first[page]
        start = ends[index - 1] + 1 if index else 0
        end = ends[index] if index < len(ends) else len(data)
        return data[start : min(end, start + 65536)]

    def _page(self, page: int) -> tuple[bytes, "array[int]"]:
        if page not in self._pages:
            if len(self._pages) > 1:
                del self._pages[next(iter(self._pages))]
            start = self._starts[page][1]
            end = self._starts[page + 1][1] if page + 1 < len(self._starts) else self._log.size
            data = self._log.read(start, end)
            self._pages[page] = (data, array("q", (m.start() for m in re.finditer(rb"\n", data))))
        return self._pages[page]

    def between(self, start: int, end: int) -> list[tuple[int, str]]:
        """Numbered cleaned lines from `start` to `end`, both included, cut to what exists."""
        return [(n, self[n]) for n in range(max(1, start), min(self.count, end) + 1)]
