"""Verdicts from an HTTP endpoint of the application, `rate.url`, that answers JSON.

Either `{"tasks": [{"id": ..., "entered_at": ..., "approved": true | false | null, "deployment": ...}]}`, or counts,
`{"good": n, "total": m}`. In the address {deployment}, {version} and {since} stand for the deployment that is asked
about and its cutover. With one of the first two, tasks need not say who served them, and counts are understood only so.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from buildeye.deploy.exchange import ExchangeError, exchange
from buildeye.deploy.rates.counts import whole
from buildeye.deploy.rates.query import LOOKBACK
from buildeye.deploy.rates.source import Serving, SourceError, source_failures
from buildeye.deploy.rates.tables import READ_MOST, served_by_any, served_by_none
from buildeye.deploy.rates.tasks import TaskVerdict, baseline_of, ids_hash, reading_of, task_verdict
from buildeye.model.deployments import Baseline

if TYPE_CHECKING:
    from buildeye.deploy.judges.rate import RateReading

TIMEOUT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 16 * 1024**2
_MOST_SERVINGS: Final = 10  # clean deployments that are asked for one after the other
_OF_ONE: Final = ("{deployment}", "{version}")

Counts = tuple[int, int]


class EndpointSource:
    """An endpoint; `seconds` (true ones) are for one whole answer. Counts are remembered: each poll is a look."""

    def __init__(
        self, url: str, *, seconds: float = TIMEOUT_SECONDS, read_most: int = READ_MOST, baseline_most: int = 200
    ) -> None:
        parts = urlsplit(url)
        self._url, self._seconds = url, seconds
        self._place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._read_most, self._baseline_most = read_most, baseline_most
        self._polls: dict[str, list[Counts]] = {}

    def read(self, serving: Serving, now: datetime) -> "RateReading":
        """As the protocol says."""
        from buildeye.deploy.judges.rate import RateReading

        with source_failures(self._place):
            found = self._asked(serving)
            if isinstance(found, list):
                return reading_of(found, serving.served, self._read_most)
            return RateReading(self._remembered(serving.deployment_id, found))

    def baseline(self, clean: Sequence[Serving], known: Sequence[Serving], before: datetime) -> Baseline | None:
        """As the protocol says; counts can not be cut, so those of the newest clean deployments are taken whole."""
        newest = sorted(clean, key=lambda serving: serving.since, reverse=True)[:_MOST_SERVINGS]
        served = served_by_any(newest) if newest else served_by_none(known)
        tasks: dict[str, TaskVerdict] = {}
        good = total = 0
        names = []
        with source_failures(self._place):
            for serving in newest if newest and self._of_one() else [_whole(newest, before)]:
                found = self._asked(serving)
                if isinstance(found, list):
                    tasks |= {task.id: task for task in found}
                elif newest:
                    good, total = good + found[0], total + found[1]
                    names.append(f"{serving.deployment_id} {found[0]} {found[1]}")
                if total + len(tasks) >= self._baseline_most:
                    break
            if total:
                return Baseline(good, total, ids_hash(names))
            return baseline_of(tasks.values(), served, before, self._baseline_most)

    def close(self) -> None:
        """Nothing is held."""

    def _of_one(self) -> bool:
        return any(mark in self._url for mark in _OF_ONE)

    def _asked(self, serving: Serving) -> list[TaskVerdict] | Counts:
        since = serving.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        filled = {"{deployment}": serving.deployment_id, "{version}": serving.version, "{since}": since}
        url = self._url
        for mark, value in filled.items():
            url = url.replace(mark, quote(value, safe=""))
        try:
            answer = exchange("GET", url, self._seconds, most_bytes=_MOST_BYTES, headers={"accept": "application/json"})
        except ExchangeError as error:
            raise SourceError(f"the rate source {self._place} cannot be read: {error}") from None
        if not answer.good:
            raise SourceError(f"the rate source {self._place} answered {answer.status}")
        try:
            said = json.loads(answer.body)
        except (ValueError, RecursionError):
            raise ValueError("an answer that is not JSON") from None
        return self._understood(said, serving.deployment_id if self._of_one() else "")

    def _understood(self, said: Any, by: str) -> list[TaskVerdict] | Counts:
        if isinstance(said, dict) and isinstance(said.get("tasks"), list):
            return [_task(entry, by) for entry in said["tasks"]]
        if isinstance(said, dict) and "good" in said and "total" in said:
            if not self._of_one():
                raise ValueError("counts, which do not say whose they are: put {deployment} or {version} into "
                                 "rate.url, or answer with tasks")  # fmt: skip
            good, total = whole(said["good"], "good"), whole(said["total"], "total")
            if good > total:
                raise ValueError(f"{good} tasks are approved of {total} judged")
            return good, total
        raise ValueError("JSON with neither a list of tasks nor good and total")

    def _remembered(self, deployment_id: str, counts: Counts) -> tuple[Counts, ...]:
        """All looks so far with the one at hand. ValueError: counts fell."""
        polls = self._polls.setdefault(deployment_id, [])
        last = polls[-1] if polls else (0, 0)
        if counts[1] < last[1] or counts[0] < last[0]:
            raise ValueError(f"counts that fell from {last[0]} of {last[1]} to {counts[0]} of {counts[1]}: "
                             "keep them where they outlive a restart")  # fmt: skip
        if counts[1] > last[1]:
            polls.append(counts)
        return tuple(polls)


def _task(entry: object, by: str) -> TaskVerdict:
    """One entry; `by` is who served it where it does not say."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"{entry!r:.60} is no task: an object is meant")
    if "approved" not in entry:
        raise ValueError(f"task {entry.get('id')!r:.60} has no key approved: true, false or null is meant")
    return task_verdict(entry.get("id"), entry.get("entered_at"), entry["approved"], entry.get("deployment") or by)


def _whole(clean: Sequence[Serving], before: datetime) -> Serving:
    """The time that all clean deployments served, or the 30 days before, as one."""
    return Serving("", min((serving.since for serving in clean), default=before - LOOKBACK), before)
