"""What clients ask of the supervisor of a service, and what it answered."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from buildeye.deploy.journal.rows import Row, moment_of, moment_row, told
from buildeye.deploy.journal.store import Fence, Store
from buildeye.deploy.journal.tables import REQUEST
from buildeye.model.deployments import Moment

_ASKING: Final = 0x6275_696C_6465_7965  # names PostgreSQL's lock under which requests get their numbers


@dataclass(frozen=True, slots=True)
class DeployRequest:
    """A request; `ok` is None until it is answered."""

    seq: int
    service: str
    deployment_id: str
    kind: str
    arguments: Mapping[str, object]
    by: str
    at: Moment
    answer: str = ""
    ok: bool | None = None


class Requests(Store):
    """Requests, in the order in which they were asked."""

    def ask(
        self, service: str, deployment_id: str, kind: str, arguments: Mapping[str, object], by: str, at: Moment
    ) -> int:
        """Ask the supervisor of a service for something; tells the number to look for the answer with."""
        values = {
            "service": service,
            "deployment_id": deployment_id,
            "kind": kind,
            "arguments": dict(arguments),
            "asked_by": by,
            **moment_row("asked", at),
        }
        with self._changing() as connection:
            if self._postgres:  # a number that is seen means that all below it are
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ASKING)))
            return int(connection.execute(sa.insert(REQUEST).values(values).returning(REQUEST.c.seq)).scalar_one())

    def requests(self, services: Collection[str], after: int) -> list[DeployRequest]:
        """Requests to these services with a number above `after` that nobody answered, oldest first.

        One look into an index that holds only what is unanswered, however many services there are.
        """
        asked = sa.select(REQUEST).where(REQUEST.c.seq > after, REQUEST.c.ok.is_(None)).order_by(REQUEST.c.seq)
        mine = services if isinstance(services, set | frozenset | dict) else set(services)
        with self._reading() as connection:
            return [_request_of(row) for row in connection.execute(asked) if row.service in mine]

    def answer(self, fence: Fence | None, seq: int, text: str, ok: bool) -> None:
        """Answer a request to the service of the fence; the first answer stays. Fenced."""
        with self._changing(fence) as connection:
            unanswered = sa.update(REQUEST).where(REQUEST.c.seq == seq, REQUEST.c.ok.is_(None))
            if fence is not None:
                unanswered = unanswered.where(REQUEST.c.service == fence.service)
            connection.execute(unanswered.values(answer=text, ok=ok))

    def request(self, seq: int) -> DeployRequest | None:
        """One request with its answer; None when the number is not known."""
        with self._reading() as connection:
            row = connection.execute(sa.select(REQUEST).where(REQUEST.c.seq == seq)).first()
        return _request_of(row) if row is not None else None


def _request_of(row: Row) -> DeployRequest:
    return DeployRequest(
        row.seq, row.service, row.deployment_id, row.kind, row.arguments, row.asked_by,
        told(moment_of(row, "asked")), row.answer, row.ok,
    )  # fmt: skip
