"""GitHub's JSON answers, one or page by page, before anybody asks what they mean."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from buildeye.github.convert import Fields
from buildeye.github.wire import Asked, Wire, read_json
from buildeye.model import OutsideError


class Answers:
    """Asks for JSON through one wire; `per_page` is the most entries of a page."""

    def __init__(self, wire: Wire, client: httpx2.Client, per_page: int) -> None:
        self._wire = wire
        self._client = client
        self._per_page = per_page

    def one(self, path: str, asked: Asked) -> Any:
        """The JSON of one answer."""
        return self._answer(path, asked, {})[0]

    def pages(
        self,
        path: str,
        params: Mapping[str, str],
        asked: Asked,
        key: str | None = None,
        first: list[Any] | None = None,
        number: int = 1,
    ) -> Iterator[list[Any]]:
        """The entries of each page from `number` on, below `key` or at the top; the whole first answer to `first`."""
        more = True
        while more:
            entries, more, data = self.page(path, params, asked, key, number)
            if first is not None and not first:
                first.append(data)
            number += 1
            yield entries

    def page(
        self, path: str, params: Mapping[str, str], asked: Asked, key: str | None, number: int
    ) -> tuple[list[Any], bool, Any]:
        """The entries of one page, whether there are more pages, and the whole answer."""
        numbered: dict[str, str | int] = {**params, "per_page": self._per_page, "page": number}
        data, linked = self._answer(path, asked, numbered)
        entries = _entries(data, key, asked)
        seen = (number - 1) * self._per_page + len(entries)
        more = bool(entries) and _has_more(data, linked, seen, len(entries) >= self._per_page)
        return entries, more, data

    def _answer(self, path: str, asked: Asked, params: Mapping[str, str | int]) -> tuple[Any, bool | None]:
        """The JSON of an answer, and whether its Link header names a next page (None without such a header)."""

        def read(response: httpx2.Response) -> tuple[Any, bool | None]:
            linked = "next" in response.links if "link" in response.headers else None
            return read_json(response), linked

        data, linked = self._wire.get(self._client, path, params, asked, read)
        if data is None:
            raise OutsideError(
                f"the answer for {asked.repository} ({asked.what}) is not JSON; is api.base_url GitHub's interface?"
            )
        return data, linked


def _entries(data: Any, key: str | None, asked: Asked) -> list[Any]:
    if key is not None:
        return Fields(data, f"{asked.repository}, {asked.what}").objects(key, optional=False)
    if not isinstance(data, list):
        raise OutsideError(
            f"GitHub's answer about {asked.repository}, {asked.what}, is not a list; is api.base_url right?"
        )
    return data


def _has_more(data: Any, linked: bool | None, seen: int, full: bool) -> bool:
    if linked is not None:
        return linked
    total = data.get("total_count", data.get("total_commits")) if isinstance(data, dict) else None
    return seen < total if isinstance(total, int) else full
