"""Samples of health signals, in the order in which they were stored."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from buildeye.deploy.journal.rows import sample_of, sample_row, wall_text
from buildeye.deploy.journal.store import Fence, Fenced, Fences, Store, fences_of, same_service
from buildeye.deploy.journal.tables import DEPLOYMENT, REQUEST, RUN, SIGNAL
from buildeye.deploy.states import TERMINAL
from buildeye.model.deployments import HealthSample, SignalKind

_PRUNED_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """Samples that are stored together, and the fences they are written under."""

    fences: tuple[Fence, ...]
    samples: tuple[HealthSample, ...]


class Signals(Store):
    """Samples; `seq` says their order."""

    def add_samples(self, fences: Fences, samples: Iterable[HealthSample]) -> list[HealthSample]:
        """Store samples of any number of deployments in one transaction; tells them with their seq, in given order.

        A sample alike in everything to one that is stored, its moment too, is that one. Fenced: nothing is stored.
        """
        (stored,) = self.add_batches([SampleBatch(fences_of(fences), tuple(samples))])
        if isinstance(stored, Fenced):
            raise stored
        return stored

    def add_batches(self, batches: Sequence[SampleBatch]) -> list[list[HealthSample] | Fenced]:
        """Store several callers' samples in one transaction; whose fence holds no more gets Fenced and stores none."""
        with self._changing() as connection:
            wanted = {fence for batch in batches for fence in batch.fences}
            lost = self._lost(connection, fences_of(wanted))
            refused = [{f.service: lost[f.service] for f in batch.fences if f.service in lost} for batch in batches]
            kept = [batch for batch, of_batch in zip(batches, refused, strict=True) if not of_batch]
            _same_services(connection, kept)
            stored = iter(self._stored(connection, kept))
            return [Fenced(of_batch) if of_batch else next(stored) for of_batch in refused]

    def _stored(self, connection: sa.Connection, batches: Sequence[SampleBatch]) -> list[list[HealthSample]]:
        alike: Counter[object] = Counter()
        rows: dict[str, dict[str, object]] = {}
        ids: list[list[str]] = []
        for batch in batches:
            alike.clear()
            ids.append([])
            for sample in batch.samples:
                row = sample_row(sample)
                if repeat := alike[row["signal_id"]]:
                    alike[row["signal_id"]] += 1
                    row = sample_row(sample, repeat)
                else:
                    alike[row["signal_id"]] = 1
                rows.setdefault(str(row["signal_id"]), row)
                ids[-1].append(str(row["signal_id"]))
        if not rows:
            return [[] for _ in batches]
        statement = self._insert(SIGNAL)
        known = statement.on_conflict_do_update(
            index_elements=["signal_id"], set_={"signal_id": statement.excluded.signal_id}
        ).returning(SIGNAL.c.signal_id, SIGNAL.c.seq, sort_by_parameter_order=True)
        seqs = {row.signal_id: row.seq for row in connection.execute(known, list(rows.values()))}
        return [
            [replace(sample, seq=seqs[signal_id]) for sample, signal_id in zip(batch.samples, of_batch, strict=True)]
            for batch, of_batch in zip(batches, ids, strict=True)
        ]

    def samples(
        self, deployment_id: str, signal: SignalKind | None = None, limit: int | None = None, since_seq: int = 0
    ) -> list[HealthSample]:
        """Samples with a seq above `since_seq`, oldest first; with a limit the newest so many."""
        asked = sa.select(SIGNAL).where(SIGNAL.c.deployment_id == deployment_id, SIGNAL.c.seq > since_seq)
        if signal is not None:
            asked = asked.where(SIGNAL.c.signal_type == signal.value)
        asked = asked.order_by(SIGNAL.c.seq.desc())
        if limit is not None:
            asked = asked.limit(limit)
        with self._reading() as connection:
            return [sample_of(row) for row in reversed(connection.execute(asked).all())]

    def last_samples(self, deployment_ids: Collection[str], per_signal: int) -> dict[str, list[HealthSample]]:
        """{deployment: its newest `per_signal` samples of each signal, oldest first}, in one query.

        A seek of the index a deployment and signal, however long its history is.
        """
        kinds = sa.union_all(*(sa.select(sa.literal(kind.value).label("kind")) for kind in SignalKind)).subquery()
        ids = DEPLOYMENT.c.deployment_id
        older = SIGNAL.alias("older")
        first = (
            sa.select(older.c.seq)
            .where(older.c.deployment_id == ids, older.c.signal_type == kinds.c.kind)
            .order_by(older.c.seq.desc())
            .limit(1)
            .offset(per_signal - 1)
            .correlate(DEPLOYMENT, kinds)
            .scalar_subquery()
        )
        newest = (
            SIGNAL.c.deployment_id == ids,
            SIGNAL.c.signal_type == kinds.c.kind,
            SIGNAL.c.seq >= sa.func.coalesce(first, 0),
        )
        asked = sa.select(SIGNAL).where(ids.in_(list(deployment_ids)), *newest).order_by(SIGNAL.c.seq)
        found: dict[str, list[HealthSample]] = {deployment_id: [] for deployment_id in deployment_ids}
        with self._reading() as connection:
            for row in connection.execute(asked):
                found[row.deployment_id].append(sample_of(row))
        return found

    def prune(self, before: datetime) -> int:
        """Forget samples of deployments that closed before then, runs that ended before then but for the last of each
        deployment, and requests of before then that were answered; a part at a time. Tells how many.
        """
        old = sa.select(DEPLOYMENT.c.deployment_id).where(
            DEPLOYMENT.c.status.in_(sorted(state.value for state in TERMINAL)),
            DEPLOYMENT.c.monitoring_closed_at < wall_text(before),
        )
        some = sa.select(SIGNAL.c.seq).where(SIGNAL.c.deployment_id.in_(old)).limit(_PRUNED_AT_ONCE)
        newer = RUN.alias("newer")
        followed = sa.exists().where(newer.c.deployment_id == RUN.c.deployment_id, newer.c.number > RUN.c.number)
        ended = sa.select(*RUN.primary_key.columns).where(RUN.c.ended_at < wall_text(before), followed)
        answered = sa.select(REQUEST.c.seq).where(REQUEST.c.ok.is_not(None), REQUEST.c.asked_at < wall_text(before))
        return (
            self._forgotten(sa.delete(SIGNAL).where(SIGNAL.c.seq.in_(some)))
            + self._forgotten(
                sa.delete(RUN).where(sa.tuple_(*RUN.primary_key.columns).in_(ended.limit(_PRUNED_AT_ONCE)))
            )
            + self._forgotten(sa.delete(REQUEST).where(REQUEST.c.seq.in_(answered.limit(_PRUNED_AT_ONCE))))
        )

    def _forgotten(self, delete: sa.Delete) -> int:
        gone = 0
        while True:
            with self._changing() as connection:
                at_once = connection.execute(delete).rowcount
            gone += at_once
            if at_once < _PRUNED_AT_ONCE:
                return gone


def _same_services(connection: sa.Connection, batches: Sequence[SampleBatch]) -> None:
    """ValueError: a sample of a service that its fences say nothing about."""
    fenced = [batch for batch in batches if batch.fences]
    ids = {sample.deployment_id for batch in fenced for sample in batch.samples}
    if not ids:
        return
    asked = sa.select(DEPLOYMENT.c.deployment_id, DEPLOYMENT.c.service).where(DEPLOYMENT.c.deployment_id.in_(ids))
    services = {row.deployment_id: row.service for row in connection.execute(asked)}
    for batch in fenced:
        named = {fence.service for fence in batch.fences}
        for sample in batch.samples:
            if (service := services.get(sample.deployment_id)) is not None and service not in named:
                same_service(batch.fences[0], service)
