"""Deployments and their events: every transition is a compare-and-set on (state, epoch) with its event, or nothing."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from buildeye.deploy.journal.rows import (
    amended_columns,
    deployment_of,
    deployment_row,
    derived_id,
    event_of,
    event_row,
    wall_text,
)
from buildeye.deploy.journal.store import Fence, Store, same_service
from buildeye.deploy.journal.tables import DEPLOYMENT, EVENT
from buildeye.deploy.states import BAD, TERMINAL, Happening, following
from buildeye.model import UsageError
from buildeye.model.deployments import DeployEvent, Deployment, Moment, State

SUPERVISOR: Final = "supervisor"
_CLEAN: Final = State.MONITORING_WINDOW_CLEAN
_NEWEST_FIRST: Final = DEPLOYMENT.c.number.desc()


class Deployments(Store):
    """Deployments, newest by the order in which they were created."""

    def create(self, deployment: Deployment) -> Deployment:
        """Keep a new deployment with its first event; one whose id is known stays as it is. Tells what is kept."""
        first = DeployEvent(
            deployment.id, "create", deployment.state, deployment.state, deployment.epoch, deployment.created,
            deployment.note, by=deployment.by or SUPERVISOR,
        )  # fmt: skip
        with self._changing() as connection:
            statement = self._insert(DEPLOYMENT).values(deployment_row(deployment)).on_conflict_do_nothing()
            if connection.execute(statement).rowcount:
                connection.execute(sa.insert(EVENT).values(event_row(first, derived_id(deployment.id, "create"))))
            return deployment_of(connection.execute(_asked(deployment.id)).one())

    def deployment(self, deployment_id: str) -> Deployment | None:
        """One deployment; None when the id is not known."""
        with self._reading() as connection:
            row = connection.execute(_asked(deployment_id)).first()
        return deployment_of(row) if row else None

    def deployments(self, service: str | None, limit: int, states: Collection[State] | None = None) -> list[Deployment]:
        """The newest deployments of a service (None: of all), newest first, in any of `states`."""
        asked = sa.select(DEPLOYMENT).order_by(_NEWEST_FIRST).limit(limit)
        if service is not None:
            asked = asked.where(DEPLOYMENT.c.service == service)
        if states is not None:
            asked = asked.where(DEPLOYMENT.c.status.in_(_values(states)))
        return self._found(asked)

    def open_deployments(self, services: Collection[str]) -> list[Deployment]:
        """All deployments of these services that are in no final state, oldest first; one query."""
        asked = sa.select(DEPLOYMENT).where(
            DEPLOYMENT.c.service.in_(list(services)), DEPLOYMENT.c.status.not_in(_values(TERMINAL))
        )
        return self._found(asked.order_by(DEPLOYMENT.c.number))

    def latest_clean(self, service: str, before: str | None = None) -> Deployment | None:
        """The newest deployment that closed clean and whose version was not found bad after that.

        `before` is the id of a deployment: only older ones count.
        """
        later = DEPLOYMENT.alias("later")
        found_bad = sa.exists().where(
            later.c.service == DEPLOYMENT.c.service,
            later.c.version == DEPLOYMENT.c.version,
            later.c.number > DEPLOYMENT.c.number,
            later.c.status.in_(_values(BAD)),
        )
        asked = sa.select(DEPLOYMENT).where(
            DEPLOYMENT.c.service == service, DEPLOYMENT.c.status == _CLEAN.value, ~found_bad
        )
        if before is not None:
            that = DEPLOYMENT.alias("that")
            number = sa.select(that.c.number).where(that.c.deployment_id == before).scalar_subquery()
            asked = asked.where(DEPLOYMENT.c.number < number)
        return next(iter(self._found(asked.order_by(_NEWEST_FIRST).limit(1))), None)

    def marked_bad(self, service: str, version: str) -> Deployment | None:
        """The deployment that found a version bad, unless a later one of the same version closed clean."""
        asked = sa.select(DEPLOYMENT).where(
            DEPLOYMENT.c.service == service,
            DEPLOYMENT.c.version == version,
            DEPLOYMENT.c.status.in_(_values(BAD | {_CLEAN})),
        )
        newest = next(iter(self._found(asked.order_by(_NEWEST_FIRST).limit(1))), None)
        return newest if newest is not None and newest.state in BAD else None

    def move(
        self,
        fence: Fence | None,
        deployment_id: str,
        epoch: int,
        happening: Happening,
        at: Moment,
        reason: str = "",
        numbers: Mapping[str, object] | None = None,
        by: str = SUPERVISOR,
        **columns: object,
    ) -> Deployment | None:
        """Take a deployment to the state that follows, with an event and other fields of it, all or nothing.

        None: the deployment is in another epoch by now or this cannot happen in its state, and nothing was changed.
        A final state sets `closed` where nobody did. Fenced.
        """
        values = amended_columns(columns)
        with self._changing(fence) as connection:
            row = connection.execute(_asked(deployment_id).with_for_update()).first()
            after = following(State(row.status), happening) if row is not None and row.epoch == epoch else None
            if row is None or after is None:
                return None
            same_service(fence, row.service)
            if after in TERMINAL and row.monitoring_closed_at is None and "closed" not in columns:
                values |= amended_columns({"closed": at})
            unchanged = (DEPLOYMENT.c.status == row.status, DEPLOYMENT.c.epoch == epoch)
            changed = sa.update(DEPLOYMENT).where(DEPLOYMENT.c.deployment_id == deployment_id, *unchanged)
            connection.execute(changed.values(values | {"status": after.value, "epoch": epoch + 1}))
            event = DeployEvent(
                deployment_id, happening.value, State(row.status), after, epoch + 1, at, reason, numbers or {}, by
            )
            connection.execute(sa.insert(EVENT).values(event_row(event, derived_id(deployment_id, epoch + 1))))
            return deployment_of(connection.execute(_asked(deployment_id)).one())

    def amend(self, fence: Fence | None, deployment_id: str, **columns: object) -> Deployment | None:
        """Set fields of a deployment other than its state; None when the id is not known. Fenced."""
        values = amended_columns(columns)
        with self._changing(fence) as connection:
            row = connection.execute(_asked(deployment_id).with_for_update()).first()
            if row is None:
                return None
            same_service(fence, row.service)
            if values:
                changed = sa.update(DEPLOYMENT).where(DEPLOYMENT.c.deployment_id == deployment_id)
                connection.execute(changed.values(values))
            return deployment_of(connection.execute(_asked(deployment_id)).one())

    def note(
        self,
        fence: Fence | None,
        deployment_id: str,
        event: str,
        reason: str,
        numbers: Mapping[str, object],
        at: Moment,
        by: str = SUPERVISOR,
    ) -> None:
        """Write an event that moves nothing; the same one of the same moment is written once. Fenced.

        UsageError: the deployment is not known.
        """
        with self._changing(fence) as connection:
            row = connection.execute(_asked(deployment_id)).first()
            if row is None:
                raise UsageError(f"there is no deployment {deployment_id}; deploy history lists those there are")
            same_service(fence, row.service)
            state = State(row.status)
            written = DeployEvent(deployment_id, event, state, state, row.epoch, at, reason, numbers, by)
            event_id = derived_id(deployment_id, event, reason, at.boot, repr(at.ticks), wall_text(at.wall), by)
            connection.execute(self._insert(EVENT).values(event_row(written, event_id)).on_conflict_do_nothing())

    def events(self, deployment_id: str) -> list[DeployEvent]:
        """All events of a deployment, in the order in which they were written."""
        asked = sa.select(EVENT).where(EVENT.c.deployment_id == deployment_id).order_by(EVENT.c.seq)
        with self._reading() as connection:
            return [event_of(row) for row in connection.execute(asked)]

    def rollbacks_since(self, service: str, since: Moment | datetime) -> int:
        """How many rollbacks of a service the supervisor began by itself since then; a person's do not count.

        Since a Moment: by ticks for events of its boot, by wall time for others.
        """
        if isinstance(since, Moment):
            same_boot = EVENT.c.happened_boot == since.boot
            recent = sa.or_(
                sa.and_(same_boot, EVENT.c.happened_ticks >= since.ticks),
                sa.and_(~same_boot, EVENT.c.happened_at >= wall_text(since.wall)),
            )
        else:
            recent = EVENT.c.happened_at >= wall_text(since)
        asked = (
            sa.select(sa.func.count())
            .select_from(EVENT.join(DEPLOYMENT, EVENT.c.deployment_id == DEPLOYMENT.c.deployment_id))
            .where(
                DEPLOYMENT.c.service == service,
                EVENT.c.state_after == State.ROLLING_BACK.value,
                EVENT.c.state_before != State.ROLLING_BACK.value,
                EVENT.c.done_by == SUPERVISOR,
                recent,
            )
        )
        with self._reading() as connection:
            return connection.execute(asked).scalar_one()

    def _found(self, asked: sa.Select[tuple[object, ...]]) -> list[Deployment]:
        with self._reading() as connection:
            return [deployment_of(row) for row in connection.execute(asked)]


def _asked(deployment_id: str) -> sa.Select[tuple[object, ...]]:
    return sa.select(DEPLOYMENT).where(DEPLOYMENT.c.deployment_id == deployment_id)


def _values(states: Iterable[State]) -> list[str]:
    return sorted(state.value for state in states)
