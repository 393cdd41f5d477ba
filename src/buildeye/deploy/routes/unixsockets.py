"""The unix socket route: each slot listens at a path of its own, the public path is another name of one of them.

The switch is one rename: whoever opens the public path gets the old version or the new one, and never nothing. Which
slot is current is read off the file system (same inode), so there is nothing to remember.
"""

import contextlib
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from buildeye.deploy.address import Address
from buildeye.deploy.routes.listening import closed_on_error, inheritable, refuse_waiting, took_over
from buildeye.deploy.routes.owners import path_owner
from buildeye.deploy.routes.record import sync_folder
from buildeye.deploy.routes.route import BACKLOG, SLOTS
from buildeye.model import OutsideError, UsageError

LONGEST_PATH: Final = 107
"""Bytes a unix socket's path may have on Linux."""


class UnixRoute:
    """See `Route`. `public` is the path users come in by; slots lie in `run_root`, or beside it on another disk."""

    def __init__(self, public: Path, run_root: Path) -> None:
        self._public = public.absolute()
        beside = _device(run_root) != _device(self._public.parent)
        self._stem = self._public.with_name(f".{self._public.name}.slot") if beside else run_root.absolute() / "slot"
        self._members: list[socket.socket] = []
        for path in (self._public, self._path(SLOTS - 1)):
            if (size := len(os.fsencode(path))) > LONGEST_PATH:
                raise UsageError(
                    f"the socket path {path} has {size} bytes, Linux allows {LONGEST_PATH}: "
                    "set a shorter listen.socket, or a shorter data folder"
                )

    def open(self, taken: Sequence[int] = ()) -> bool:
        """See `Route.open`."""
        if not taken:
            self._bind_anew()
            return False
        members = took_over(taken, socket.AF_UNIX)
        with closed_on_error(members):
            named = {member.getsockname(): member for member in members}
            paths = [self._path(slot) for slot in self.slots()]
            if set(named) != {str(path) for path in paths} or not all(path.is_socket() for path in paths):
                raise OutsideError(
                    f"the sockets left by an earlier supervisor are not those at {self._stem}-N.sock: "
                    "stop the service's processes, then start it anew"
                )
            self._members = [named[str(path)] for path in paths]
        return True

    def close(self) -> None:
        """See `Route.close`. The paths stay, as the sockets of running processes do."""
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
        if self.current() not in {None, slot}:
            self.turn_away(slot)
        return inheritable(self._members[slot])

    def environment(self, slot: int) -> Mapping[str, str]:
        """See `Route.environment`."""
        return {}

    def port(self, slot: int) -> int | None:
        """See `Route.port`."""
        return None

    def private(self, slot: int) -> Address:
        """See `Route.private`."""
        return Address(path=str(self._path(slot)))

    @property
    def public(self) -> Address:
        """See `Route.public`."""
        return Address(path=str(self._public))

    def current(self) -> int | None:
        """See `Route.current`: the slot whose socket the public path is."""
        there = _identity(self._public)
        return next((slot for slot in self.slots() if there and _identity(self._path(slot)) == there), None)

    def switch(self, slot: int, version: str = "") -> None:
        """See `Route.switch`."""
        if self.current() == slot:  # to rename one name of a file to another of the same file would do nothing
            return
        fresh = self._public.with_name(f".{self._public.name}.{os.getpid()}")
        try:
            fresh.unlink(missing_ok=True)
            os.link(self._path(slot), fresh)
            fresh.replace(self._public)
            sync_folder(self._public.parent)
        except OSError as error:
            with contextlib.suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise OutsideError(
                f"{self._public} cannot be led to slot {slot} ({error.strerror}): check the rights of its folder"
            ) from None

    def turn_away(self, slot: int) -> int:
        """See `Route.turn_away`."""
        return refuse_waiting(self._members[slot])

    def _path(self, slot: int) -> Path:
        return self._stem.with_name(f"{self._stem.name}-{slot}.sock")

    def _bind_anew(self) -> None:
        members = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in self.slots()]
        with closed_on_error(members):
            for path in (self._public, *map(self._path, self.slots())):
                _clear(path)
            for slot, member in enumerate(members):
                path = self._path(slot)
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    member.bind(str(path))
                    member.listen(BACKLOG)
                except OSError as error:
                    raise OutsideError(
                        f"the socket {path} cannot be made ({error.strerror}): check its folder's rights and free space"
                    ) from None
        self._members = members


def _clear(path: Path) -> None:
    """Remove a socket nobody listens at; what is anything else is left alone."""
    if not os.path.lexists(path):
        return
    if not path.is_socket():
        raise UsageError(f"{path} is there and no socket: remove it, or set another listen.socket in deploy.yaml")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass
    raise OutsideError(
        f"the socket {path} is used by {path_owner(path)}: stop it, or set another listen.socket in deploy.yaml"
    )


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _device(folder: Path) -> int | None:
    """The disk a folder is on, or will be on once it is made."""
    for place in (folder.absolute(), *folder.absolute().parents):
        if place.exists():
            return place.stat().st_dev
    return None
