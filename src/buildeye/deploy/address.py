"""Where something is asked: a TCP address, perhaps from a source address of its own, or a unix socket."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Address:
    """`path` is a unix socket; without it `host` and `port` are TCP. `source` is where it is asked from, "" for any."""

    host: str = "127.0.0.1"
    port: int = 0
    source: str = ""
    path: str = ""

    @property
    def authority(self) -> str:
        """What stands in a Host header: `host:port`, IPv6 in brackets, `localhost` for a unix socket."""
        if self.path:
            return "localhost"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        """For people."""
        if self.path:
            return self.path
        return f"{self.authority} from {self.source}" if self.source else self.authority
