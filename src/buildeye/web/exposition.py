"""`GET /metrics` for Prometheus: the two gauges of Actions Runner Controller, for who has none, and our own health."""

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from platform import python_version
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from buildeye import __version__
from buildeye.insight.pools import Pool, pools_now
from buildeye.model import BuildEyeError, OutsideError
from buildeye.warehouse import Warehouse
from buildeye.web.bearer import token_fits
from buildeye.web.metrictext import CONTENT_TYPE, COUNTER, GAUGE, Family, family, metric_text
from buildeye.web.processstats import process_families
from buildeye.web.spool import Spool

FRESH: Final = timedelta(seconds=5)
"""How long the pools are told again without asking the warehouse, however many scrape."""

Clock = Callable[[], datetime]


class PoolGauge:
    """The pools, asked for at most every `FRESH`; None while the warehouse cannot be asked."""

    def __init__(self, warehouse: Warehouse, now: Clock) -> None:
        self._warehouse = warehouse
        self._now = now
        self._lock = threading.Lock()
        self._asked_at: datetime | None = None
        self._known: Sequence[Pool] | None = None

    def read(self) -> Sequence[Pool] | None:
        """What is known; who comes while it is being asked for waits for that answer."""
        with self._lock:
            at = self._now()
            if self._asked_at is None or not timedelta() <= at - self._asked_at < FRESH:
                self._asked_at = at
                try:
                    self._known = pools_now(self._warehouse, at)
                except BuildEyeError:
                    self._known = None
            return self._known


def metrics_router(
    warehouse: Warehouse,
    spool: Spool,
    now: Clock,
    *,
    last_pass: Callable[[], datetime | None] = lambda: None,
    token: str | None = None,
) -> APIRouter:
    """The route over an open warehouse and spool. `last_pass` tells when the last pass that went well began.

    With a token it must be sent as Bearer, which Prometheus does when its `authorization` says so.
    """
    router = APIRouter()
    gauge = PoolGauge(warehouse, now)

    @router.get("/metrics")
    def metrics(request: Request) -> Response:
        """All metrics. What cannot be known at present is left out, and `build_eye_up` is 0 then."""
        if token is not None and not token_fits(request.headers, token):
            return JSONResponse({"message": "the token is missing or wrong: send it as Bearer"}, status_code=401)
        pools = gauge.read()
        told = [*_pool_families(pools), *_own_families(pools is not None, spool, last_pass), *process_families()]
        return Response(metric_text(told), headers={"content-type": CONTENT_TYPE})

    return router


def _pool_families(pools: Sequence[Pool] | None) -> Iterator[Family]:
    if pools is None:
        return
    labels = [
        {"name": pool.name, "repository": pool.repository.partition("/")[2],
         "organization": pool.repository.partition("/")[0]}
        for pool in pools
    ]  # fmt: skip
    assigned = tuple((labelled, pool.assigned) for labelled, pool in zip(labels, pools, strict=True))
    running = tuple((labelled, pool.running) for labelled, pool in zip(labels, pools, strict=True))
    yield Family("gha_assigned_jobs", GAUGE, "Jobs that wait for a runner of this pool or run on one.", assigned)
    yield Family("gha_running_jobs", GAUGE, "Jobs that run on a runner of this pool.", running)


def _own_families(reached: bool, spool: Spool, last_pass: Callable[[], datetime | None]) -> Iterator[Family]:
    told = {"version": __version__, "python": python_version()}
    yield Family("build_eye_build_info", GAUGE, "Which Build-Eye this is; always 1.", ((told, 1),))
    try:
        counts = spool.counts()
    except OutsideError:
        counts = None
    healthy = reached and counts is not None
    yield family("build_eye_up", GAUGE, "1 when the warehouse and the spool can be used, else 0.", int(healthy))
    yield family("build_eye_warehouse_up", GAUGE, "1 when the warehouse answers, else 0.", int(reached))
    if counts is not None:
        yield family(
            "build_eye_webhooks_waiting", GAUGE, "Deliveries that wait for the warehouse, on disk.", counts.waiting
        )
        yield family("build_eye_webhooks_refused", GAUGE, "Deliveries that were put aside.", counts.refused)
        yield family("build_eye_webhooks_kept_total", COUNTER, "Deliveries that were kept.", counts.kept)
    began = last_pass()
    if began is not None:
        says = "When the last pass that went well began, in Unix seconds."
        yield family("build_eye_last_pass_timestamp_seconds", GAUGE, says, began.timestamp())
