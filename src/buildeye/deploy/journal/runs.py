"""Runs of processes: written before a process is started, so that none is ever lost."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from buildeye.deploy.journal.rows import moment_row, run_of
from buildeye.deploy.journal.store import Fence, Store, same_service
from buildeye.deploy.journal.tables import DEPLOYMENT, RUN
from buildeye.model.deployments import ProcessRun


class Runs(Store):
    """Runs by (deployment, number); saying the same again has no effect."""

    def plan_run(self, fence: Fence | None, run: ProcessRun) -> None:
        """Write down that a run is about to be started; one that is known stays as it is. Fenced."""
        planned = {"deployment_id": run.deployment_id, "number": run.number, "nonce": run.nonce, "boot": run.boot}
        with self._changing_run(fence, run) as connection:
            connection.execute(self._insert(RUN).values(planned).on_conflict_do_nothing())

    def run_started(self, fence: Fence | None, run: ProcessRun) -> None:
        """Write down which process a run is: all of `run` but how it ended. Fenced."""
        key = {"deployment_id": run.deployment_id, "number": run.number}
        values = {
            "nonce": run.nonce,
            "boot": run.boot,
            "pid": run.pid,
            "start_time": run.start_time,
            "keeper_pid": run.keeper_pid,
            "keeper_start_time": run.keeper_start_time,
            **moment_row("started", run.started),
        }
        with self._changing_run(fence, run) as connection:
            statement = self._insert(RUN).values(key | values)
            connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))

    def run_ended(self, fence: Fence | None, run: ProcessRun) -> None:
        """Write down that a run ended: `ended`, `exit_code` (None: nobody knows) and `expected` of `run`. Fenced.

        The first word stays, but a code that becomes known later is added.
        """
        key = {"deployment_id": run.deployment_id, "number": run.number}
        ended = {**moment_row("ended", run.ended), "exit_code": run.exit_code, "expected": run.expected}
        first = RUN.c.ended_at.is_(None)
        with self._changing_run(fence, run) as connection:
            statement = self._insert(RUN).values(key | {"nonce": run.nonce, "boot": run.boot} | ended)
            known: dict[str, object] = {
                name: sa.case((first, value), else_=RUN.c[name]) for name, value in ended.items()
            }
            known["exit_code"] = sa.func.coalesce(RUN.c.exit_code, statement.excluded.exit_code)
            connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=known))

    @contextmanager
    def _changing_run(self, fence: Fence | None, run: ProcessRun) -> Iterator[sa.Connection]:
        with self._changing(fence) as connection:
            if fence is not None:
                asked = sa.select(DEPLOYMENT.c.service).where(DEPLOYMENT.c.deployment_id == run.deployment_id)
                same_service(fence, connection.execute(asked).scalar() or fence.service)
            yield connection

    def runs(self, deployment_id: str, limit: int | None = None) -> list[ProcessRun]:
        """The runs of a deployment, in order; with a limit the newest so many."""
        asked = sa.select(RUN).where(RUN.c.deployment_id == deployment_id).order_by(RUN.c.number.desc()).limit(limit)
        with self._reading() as connection:
            return [run_of(row) for row in reversed(connection.execute(asked).all())]

    def open_runs(self, service: str) -> list[ProcessRun]:
        """Runs of a service that were planned or started and of which nobody said that they ended."""
        both = RUN.join(DEPLOYMENT, RUN.c.deployment_id == DEPLOYMENT.c.deployment_id)
        asked = sa.select(RUN).select_from(both).where(DEPLOYMENT.c.service == service, RUN.c.ended_at.is_(None))
        with self._reading() as connection:
            return [run_of(row) for row in connection.execute(asked.order_by(DEPLOYMENT.c.number, RUN.c.number))]
