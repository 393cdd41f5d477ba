"""The socket route: four listening sockets on the public port, and the kernel leads connections to one of them.

All four listen from the beginning and none is closed at a cutover, so no connection that waits in one is ever lost, and
the old process stays warm behind its own. Which one gets new connections is one atomic change of a BPF program.
"""

import ipaddress
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from buildeye.deploy.address import Address
from buildeye.deploy.clock import boot_id
from buildeye.deploy.routes.listening import closed_on_error, inheritable, listens, ready, refuse_waiting, took_over
from buildeye.deploy.routes.owners import port_owner
from buildeye.deploy.routes.record import read_record, write_record
from buildeye.deploy.routes.route import BACKLOG, SLOTS
from buildeye.deploy.routes.selector import attach, cookies, private_source
from buildeye.model import OutsideError, UsageError

_VERIFY_SECONDS: Final = 5.0
_NOBODY: Final = 0
"""Where connections wait before any version is in service."""


class PortRoute:
    """See `Route`. `host` is an IPv4 address, a name that has one, or `::` for both kinds; port 0 takes a free one."""

    def __init__(self, host: str, port: int, run_root: Path) -> None:
        self._family, self._host = _resolved(host)
        self._asked = port
        self._record = run_root / "route.json"
        self._members: list[socket.socket] = []
        self._cookies: list[int] = []

    def open(self, taken: Sequence[int] = ()) -> bool:
        """See `Route.open`. Sockets taken over are checked, and led to where the record says."""
        if not taken:
            self._bind_anew()
            return False
        members = took_over(taken, self._family)
        with closed_on_error(members):
            self._members = self._in_order(members)
            self._cookies = cookies(self._members)
        self.current()
        return True

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
        if self._recorded() not in {None, slot}:
            self.turn_away(slot)
        return inheritable(self._members[slot])

    def environment(self, slot: int) -> Mapping[str, str]:
        """See `Route.environment`."""
        return {"PORT": str(self._port)}

    def port(self, slot: int) -> int | None:
        """See `Route.port`."""
        return self._port

    def private(self, slot: int) -> Address:
        """See `Route.private`: the public port, asked from the slot's own source address."""
        return Address(self._reached, self._port, source=private_source(slot))

    @property
    def public(self) -> Address:
        """See `Route.public`."""
        return Address(self._reached, self._port)

    def current(self) -> int | None:
        """See `Route.current`. The kernel cannot be asked, so it is told again what the record says."""
        slot = self._recorded()
        if slot is not None:
            self._lead_to(slot)
        return slot

    def switch(self, slot: int, version: str = "") -> None:
        """See `Route.switch`. The record comes first: what a crash leaves undone, the next `open` does."""
        before = self._recorded()
        deaf = [number for number, member in enumerate(self._members) if not listens(member)]
        if deaf:
            raise OutsideError(
                f"slot {deaf[0]} of port {self._port} listens no more, its application shut the socket down: "
                "stop the service's processes, then start it anew"
            )
        self._remember(slot)
        try:
            self._lead_to(slot)
        except OutsideError:
            self._remember(before)
            raise

    def turn_away(self, slot: int) -> int:
        """See `Route.turn_away`."""
        return refuse_waiting(self._members[slot])

    @property
    def _port(self) -> int:
        return int(self._members[0].getsockname()[1])

    @property
    def _reached(self) -> str:
        return "127.0.0.1" if self._host in {"0.0.0.0", "::"} else self._host  # noqa: S104 -- compared, not bound

    def _bind_anew(self) -> None:
        members = [_unbound(self._family) for _ in range(SLOTS)]
        with closed_on_error(members):
            self._bind(members)
            try:
                attach(members[0], _NOBODY, SLOTS)  # before the first listens: nothing is ever led elsewhere
            except OSError as error:
                raise OutsideError(
                    f"this kernel does not choose among the sockets of port {self._asked} ({error.strerror}): "
                    "the socket route needs Linux 4.6; set listen.switch_command instead"
                ) from None
            self._listen(members)
            self._members, self._cookies = members, cookies(members)
            for slot in self.slots():
                self._verify(slot)
            self._remember(None)

    def _bind(self, members: Sequence[socket.socket]) -> None:
        port = self._asked
        try:
            with _unbound(self._family, shared=False) as alone:
                alone.bind((self._host, port))
                port = alone.getsockname()[1]
            for member in members:
                member.bind((self._host, port))
        except OSError as error:
            raise self._unusable(error) from None

    def _listen(self, members: Sequence[socket.socket]) -> None:
        try:
            for member in members:
                member.listen(BACKLOG)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> UsageError | OutsideError:
        place = f"port {self._asked} of {self._host}"
        if isinstance(error, PermissionError):
            return UsageError(f"{place} may not be used by this user: set a listen.port of 1024 or above")
        if error.errno == 99:  # EADDRNOTAVAIL
            return UsageError(f"{self._host} is no address of this machine: mend listen.host")
        if error.errno != 98:  # EADDRINUSE
            return OutsideError(f"{place} cannot be used ({error.strerror}): mend listen.host and listen.port")
        return OutsideError(
            f"{place} is used by {port_owner(self._asked)}: stop it, or set another listen.port in deploy.yaml"
        )

    def _verify(self, slot: int) -> None:
        """Ask from the slot's private source and see in which queue the connection lies."""
        asked = self.private(slot)
        with socket.socket(socket.AF_INET) as asking:
            asking.settimeout(_VERIFY_SECONDS)
            try:
                asking.bind((asked.source, 0))
                asking.connect((asked.host, asked.port))
                found = self._queue_of(asking.getsockname()[1])
            except OSError as error:
                raise OutsideError(
                    f"port {asked.port} of {asked.host} cannot be asked from {asked.source} ({error}): "
                    "check the firewall rules for the loopback device"
                ) from None
        if found != slot:
            raise OutsideError(
                f"slot {slot} of port {asked.port} does not get its connections, {port_owner(asked.port)} listens "
                "there too: stop it, or set another listen.port in deploy.yaml"
            )

    def _queue_of(self, source_port: int) -> int | None:
        end = time.monotonic() + _VERIFY_SECONDS
        while (left := end - time.monotonic()) > 0:
            for member in ready(self._members, left):
                connection, peer = member.accept()
                connection.close()
                if peer[1] == source_port and "127.77.0." in peer[0]:
                    return self._members.index(member)
        return None

    def _in_order(self, members: list[socket.socket]) -> list[socket.socket]:
        ports = {member.getsockname()[1] for member in members}
        if len(members) != SLOTS or len(ports) != 1 or not all(map(listens, members)):
            raise OutsideError(
                f"the sockets left by an earlier supervisor are not those of port {self._asked}: "
                "stop the service's processes, then start it anew"
            )
        if self._asked and ports != {self._asked}:
            raise UsageError(
                f"the service still runs on port {ports.pop()} and deploy.yaml says listen.port {self._asked}: "
                "stop it before its port is changed"
            )
        named = dict(zip(cookies(members), members, strict=True))
        order = (read_record(self._record) or {}).get("cookies")
        if isinstance(order, list) and set(order) == set(named):
            return [named[cookie] for cookie in order]
        return members

    def _recorded(self) -> int | None:
        record = read_record(self._record) or {}
        slot = record.get("slot")
        ours = record.get("cookies") == self._cookies and record.get("boot") == boot_id()
        return slot if ours and isinstance(slot, int) and slot in self.slots() else None

    def _remember(self, slot: int | None) -> None:
        write_record(self._record, {"slot": slot, "cookies": self._cookies, "boot": boot_id(), "pid": os.getpid()})

    def _lead_to(self, slot: int) -> None:
        try:
            attach(self._members[0], slot, SLOTS)
        except OSError as error:
            raise OutsideError(
                f"port {self._port} cannot be led to slot {slot} ({error.strerror}): try again"
            ) from None


def _resolved(host: str) -> tuple[socket.AddressFamily, str]:
    if host == "::":
        return socket.AF_INET6, host
    try:
        if ipaddress.ip_address(host).version == 6:
            raise UsageError(f"listen.host {host} is IPv6 only: allowed are an IPv4 address, or :: for both")
        return socket.AF_INET, host
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:
        raise UsageError(f"listen.host {host} has no IPv4 address ({error.strerror}): mend it in deploy.yaml") from None
    return socket.AF_INET, str(found[0][4][0])


def _unbound(family: socket.AddressFamily, *, shared: bool = True) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    return made
