"""What a route is: the way from the public address to the one version that is in service.

A route has four slots. Each version's process is given one; the public address leads to the current slot, and every
slot can also be asked alone. Switching moves new connections only: those of the version before stay with it.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from buildeye.deploy.address import Address

SLOTS: Final = 4
"""The version in service, the one before it, a candidate, and one to spare."""
BACKLOG: Final = 2048
"""Connections that may wait in one slot; the kernel cuts it down to net.core.somaxconn."""


class Route(Protocol):
    """The way to the version in service. Its methods block (a switch command may take long): call them in a thread.

    OutsideError: the kernel, the disk or a command did not do it, and then nothing was changed unless said.
    """

    def open(self, taken: Sequence[int] = ()) -> bool:
        """Take over the sockets a keeper handed out, in slot order, or bind anew where there are none.

        True when they were taken over. The descriptors belong to the route from then on, and are closed when it
        refuses them. UsageError, OutsideError: the address is used by another process, or cannot be used.
        """
        ...

    def close(self) -> None:
        """Let go of this process's descriptors; sockets that others hold live on."""
        ...

    def slots(self) -> range:
        """All slots. Where `current` is None take slot 0 first: whoever connected before waits there."""
        ...

    def sockets(self) -> list[int]:
        """Descriptors of all slots in their order, for keepers to hold; empty where processes bind by themselves."""
        ...

    def sockets_for(self, slot: int) -> list[int]:
        """What the slot's process inherits from descriptor 3 on (LISTEN_FDS); call it before each start.

        On a port or a unix socket, clients that wait there for a version that died are turned away first, so that a
        candidate gets none of them; those who wait for the current slot wait on, and are served by its next process.
        """
        ...

    def environment(self, slot: int) -> Mapping[str, str]:
        """Variables the slot's process needs: PORT where it has a port."""
        ...

    def port(self, slot: int) -> int | None:
        """What {port} stands for in the slot's command, None where the route has no ports."""
        ...

    def private(self, slot: int) -> Address:
        """Where this slot's process is asked alone."""
        ...

    @property
    def public(self) -> Address:
        """Where users come in; of a route without an address of its own, the current slot's address."""
        ...

    def current(self) -> int | None:
        """The slot new connections are led to, as the route itself has it; None where nobody can tell, or none is."""
        ...

    def switch(self, slot: int, version: str = "") -> None:
        """Lead new connections to this slot; idempotent. `version` is told to a switch command."""
        ...

    def turn_away(self, slot: int) -> int:
        """End the connections that wait in a slot no process serves any more, so that clients ask again; how many."""
        ...
