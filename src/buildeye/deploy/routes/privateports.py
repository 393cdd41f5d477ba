"""A private port a slot, for applications that something else leads users to: a proxy, a balancer, a file.

Two ways to give a process its port. `socket`: the supervisor binds it and hands the listening socket on, so nobody else
can take it. `port`: only the number is kept, below the range the kernel gives out, and the process binds it itself.
"""

import contextlib
import hashlib
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from buildeye.deploy.address import Address
from buildeye.deploy.routes.listening import closed_on_error, inheritable, refuse_waiting, took_over
from buildeye.deploy.routes.record import read_record, write_record
from buildeye.deploy.routes.route import BACKLOG, SLOTS
from buildeye.model import OutsideError

Handover = Literal["socket", "port"]

_HOST: Final = "127.0.0.1"
_LOWEST, _PORTS = 20_000, 12_000
"""Below 32768, where Linux begins to give ports to outgoing connections."""


class PrivatePorts:
    """The four private ports of a route; its methods are those of `Route`."""

    def __init__(self, run_root: Path, handover: Handover = "socket") -> None:
        self._record = run_root / "ports.json"
        self._handover = handover
        self._members: list[socket.socket] = []
        self._ports: list[int] = []

    def open(self, taken: Sequence[int] = ()) -> bool:
        """See `Route.open`."""
        if self._handover == "port":
            kept = (read_record(self._record) or {}).get("ports")
            self._ports = kept if isinstance(kept, list) and len(kept) == SLOTS else self._chosen()
            return False
        self._members = took_over(taken, socket.AF_INET) if taken else _bound()
        self._ports = [member.getsockname()[1] for member in self._members]
        if len(self._ports) != SLOTS:
            self.close()
            raise OutsideError(
                f"an earlier supervisor left {len(taken)} sockets where {SLOTS} belong: "
                "stop the service's processes, then start it anew"
            )
        return bool(taken)

    def close(self) -> None:
        """See `Route.close`."""
        for member in self._members:
            member.close()
        self._members = []

    def slots(self) -> range:
        """See `Route.slots`."""
        return range(SLOTS)

    def sockets(self) -> list[int]:
        """See `Route.sockets`."""
        return [member.fileno() for member in self._members]

    def sockets_for(self, slot: int) -> list[int]:
        """See `Route.sockets_for`."""
        return inheritable(self._members[slot]) if self._members else []

    def environment(self, slot: int) -> Mapping[str, str]:
        """See `Route.environment`."""
        return {"PORT": str(self._ports[slot])}

    def port(self, slot: int) -> int:
        """See `Route.port`."""
        return self._ports[slot]

    def private(self, slot: int) -> Address:
        """See `Route.private`."""
        return Address(_HOST, self._ports[slot])

    def turn_away(self, slot: int) -> int:
        """See `Route.turn_away`."""
        return refuse_waiting(self._members[slot]) if self._members else 0

    def _chosen(self) -> list[int]:
        found = []
        for port in _candidates(str(self._record)):
            with contextlib.suppress(OSError), socket.socket() as alone:
                alone.bind((_HOST, port))
                found.append(port)
            if len(found) == SLOTS:
                write_record(self._record, {"ports": found})
                return found
        raise OutsideError(f"no port from {_LOWEST} to {_LOWEST + _PORTS - 1} is free: stop what uses them")


def _candidates(name: str) -> Iterator[int]:
    """All ports of the range, from a place of the service's own."""
    first = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    for step in range(_PORTS):
        yield _LOWEST + (first + step) % _PORTS


def _bound() -> list[socket.socket]:
    members = [socket.socket() for _ in range(SLOTS)]
    with closed_on_error(members):
        try:
            for member in members:
                member.bind((_HOST, 0))
                member.listen(BACKLOG)
        except OSError as error:
            raise OutsideError(f"no port of {_HOST} can be had ({error.strerror}): free some") from None
    return members
