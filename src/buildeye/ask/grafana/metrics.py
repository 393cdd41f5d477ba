"""A Prometheus behind a Grafana: PromQL goes there as text, series come back in frames."""

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from buildeye.ask.grafana.failures import no_answer, prometheus_failure, refusal
from buildeye.ask.grafana.frames import REF, series_of, step_of
from buildeye.ask.grafana.wire import Reply, Wire
from buildeye.ask.prometheus import MOST_POINTS, parts_of, words_in
from buildeye.ask.series import Series, joined
from buildeye.model import UsageError

PLUGIN: Final = "prometheus"
AT_ONCE: Final = 7_500
"""Points of one query: for more, Grafana may round the least interval it allows up to a longer step."""
_MINUTE: Final = 60_000  # milliseconds


class GrafanaPrometheus:
    """See `ask.sources.PromSource`.

    Grafana moves the ends of a range down to whole multiples of the step since 1970, so the points stand there: the
    first may come after `since`, the last before `until`.
    """

    def __init__(self, query: Callable[[dict[str, Any]], Any], wire: Wire, uid: str) -> None:
        self._query, self._wire, self.uid = query, wire, uid
        self.place = wire.place

    def query(self, expression: str, at: datetime | None = None) -> tuple[Series, ...]:
        """What an expression gives at a moment (aware); the server's present when none is named."""
        when = ("now-1m", "now") if at is None else (_milliseconds(at), _milliseconds(at))
        data = self._query(self._body(expression, *when, instant=True, range=False, intervalMs=_MINUTE))
        return series_of(data, self.place, self._wire.told)

    def query_range(self, expression: str, since: datetime, until: datetime, step: timedelta) -> tuple[Series, ...]:
        """What an expression gives every `step` from `since` to `until` (aware). UsageError: see `parts_of`.

        Grafana takes a longer step than was asked for when it thinks that there are too many points; that is refused.
        """
        answers = [self._part(expression, start, end, step) for start, end in parts_of(since, until, step, AT_ONCE)]
        whole = joined(answers)
        within = [Series(each.labels, tuple(p for p in each.points if since <= p.at <= until)) for each in whole]
        return tuple(each for each in within if each.points)

    def metrics_in(
        self, expression: str, since: datetime | None = None, until: datetime | None = None
    ) -> tuple[str, ...]:
        """Those metrics an expression names that the server holds; none: it asks for what nobody has."""
        words = words_in(expression)
        if not words:
            return ()
        given = {"start": since, "end": until}
        asked = {name: f"{moment.timestamp():.3f}" for name, moment in given.items() if moment is not None}
        return self._names("label/__name__/values", {"match[]": f'{{__name__=~"{"|".join(words)}"}}'} | asked)

    def label_names(self) -> tuple[str, ...]:
        """The names of all labels; sorted."""
        return self._names("labels", {})

    def _part(self, expression: str, since: datetime, until: datetime, step: timedelta) -> tuple[Series, ...]:
        milliseconds = step / timedelta(milliseconds=1)
        data = self._query(
            self._body(
                expression,
                _milliseconds(since),
                _milliseconds(until),
                instant=False,
                range=True,
                intervalMs=math.ceil(milliseconds),
                maxDataPoints=MOST_POINTS,  # fewer, and Grafana would take a longer step
            )
        )
        found, taken = series_of(data, self.place, self._wire.told), step_of(data, self.place)
        if taken is not None and taken != step:
            raise UsageError(
                f"{self.place} answers every {taken.total_seconds():g} seconds where every {step.total_seconds():g} "
                f"were asked for; take a step of {taken.total_seconds():g}s"
            )
        return found

    def _body(self, expression: str, since: str, until: str, **how: object) -> dict[str, Any]:
        query = {"refId": REF, "datasource": {"type": PLUGIN, "uid": self.uid}, "expr": expression, **how}
        return {"queries": [query], "from": since, "to": until}

    def _names(self, path: str, asked: Mapping[str, str]) -> tuple[str, ...]:
        reply = self._wire.get(f"/api/datasources/uid/{quote(self.uid, safe='')}/resources/api/v1/{path}", asked)
        if not isinstance(reply.data, dict) or reply.data.get("status") != "success":
            raise self._refused(reply)
        names = reply.data.get("data")
        if names is not None and not isinstance(names, list):
            raise no_answer(self.place)
        return tuple(sorted(map(str, names or ())))

    def _refused(self, reply: Reply) -> Exception:
        if isinstance(reply.data, dict) and reply.data.get("errorType"):
            text = f"{reply.data['errorType']}: {reply.data.get('error') or ''}"
            return prometheus_failure(text, reply.status, self.place, self._wire.told)
        return refusal(reply.status, reply.data, self.place, self._wire.told)


def _milliseconds(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise UsageError(f"time {moment.isoformat()} has no zone: give aware times")
    return f"{moment.timestamp() * 1000:.0f}"
