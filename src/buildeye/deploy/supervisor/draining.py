"""The connections a version still serves, as its keeper knows them."""

from collections.abc import Sequence

from buildeye.deploy.address import Address
from buildeye.deploy.processes.client import KeeperClient


class KeeperConnections:
    """What `routes.drain` asks: the connections at one slot's address. OutsideError: the keeper does not answer.

    `refused` is how many connections the kernel did not let the keeper cut.
    """

    def __init__(self, keeper: KeeperClient, address: Address) -> None:
        self._keeper = keeper
        self._paths = [address.path] if address.path else []
        self.ports: list[int] = [] if address.path else [address.port]
        self.refused = 0

    def connections(self, ports: Sequence[int]) -> int:
        """How many connections the version serves."""
        return self._keeper.connections(ports, self._paths)

    def cut(self, ports: Sequence[int]) -> int:
        """End them; how many."""
        count, self.refused = self._keeper.cut(ports, self._paths)
        return count
