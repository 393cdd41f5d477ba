"""The connections a process and its children still serve, and how they are cut from outside.

Sockets are taken out of the process with pidfd_getfd (Linux 5.6) and shut down, so the process sees its clients leave.
"""

import ctypes
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Protocol

from buildeye.model import OutsideError

_PROC: Final = Path("/proc")
_SERVED: Final = {"01", "08"}  # established; closed by the client only, which may still wait for its answer
_UNIX_CONNECTED: Final = "03"
_PIDFD_GETFD: Final = 438


class Connections(Protocol):
    """Who can tell of a version's connections: its keeper, or `ProcessConnections`."""

    def connections(self, ports: Sequence[int]) -> int:
        """How many connections that came in at these ports the version serves."""
        ...

    def cut(self, ports: Sequence[int]) -> int:
        """End them; how many."""
        ...


class ProcessConnections:
    """The connections of the processes that `pids` names when asked; `paths` are unix sockets that count as well.

    The caller must be allowed to trace them (same user; with Yama, their ancestor or root).
    """

    def __init__(self, pids: Callable[[], Iterable[int]], paths: Sequence[str] = ()) -> None:
        self._pids = pids
        self._paths = frozenset(paths)

    def connections(self, ports: Sequence[int]) -> int:
        """See `Connections.connections`. A connection that several processes hold counts once."""
        return len({inode for _, _, inode in self._found(ports)})

    def cut(self, ports: Sequence[int]) -> int:
        """See `Connections.cut`. OutsideError: the kernel does not let this user take the sockets."""
        done = set()
        for pid, descriptor, inode in self._found(ports):
            if inode not in done and _shut_down(pid, descriptor, inode):
                done.add(inode)
        return len(done)

    def _found(self, ports: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        """Process, its descriptor and the socket's inode of each connection."""
        for pid in self._pids():
            try:
                served = {*_tcp(pid, frozenset(ports)), *_unix(pid, self._paths)}
                links = [(int(name), _link(pid, name)) for name in os.listdir(f"/proc/{pid}/fd")]  # noqa: PTH208
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended, and its connections with it
            except PermissionError:
                raise _forbidden(pid) from None
            yield from ((pid, number, inode) for number, inode in links if inode in served)


def group_of(leader: int) -> Iterator[int]:
    """The processes of a process group."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == leader and fields[0] != "Z":
                yield int(folder.name)


def _tcp(pid: int, ports: frozenset[int]) -> Iterator[str]:
    for table in ("tcp", "tcp6") if ports else ():
        with (_PROC / str(pid) / "net" / table).open(encoding="utf-8") as rows:
            next(rows)
            for fields in map(str.split, rows):
                if fields[3] in _SERVED and int(fields[1].rpartition(":")[2], 16) in ports:
                    yield fields[9]


def _unix(pid: int, paths: frozenset[str]) -> Iterator[str]:
    if paths:
        with (_PROC / str(pid) / "net" / "unix").open(encoding="utf-8", errors="replace") as rows:
            next(rows)
            for fields in map(str.split, rows):
                if fields[5] == _UNIX_CONNECTED and fields[7:8] and fields[7] in paths:
                    yield fields[6]


def _link(pid: int, descriptor: str) -> str:
    try:
        target = os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115
    except OSError:
        return ""
    return target[8:-1] if target.startswith("socket:[") else ""


def _shut_down(pid: int, descriptor: int, inode: str) -> bool:
    """Shut one socket down, if the descriptor still is that socket."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        taken = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, descriptor, 0)
    finally:
        os.close(process)
    if taken < 0:
        if ctypes.get_errno() == 1:  # EPERM
            raise _forbidden(pid)
        return False
    try:
        if os.fstat(taken).st_ino != int(inode):
            os.close(taken)
            return False
        with socket.socket(fileno=taken) as one:
            one.shutdown(socket.SHUT_RDWR)
    except OSError:  # its client left in this moment
        return False
    return True


def _forbidden(pid: int) -> OutsideError:
    return OutsideError(
        f"the connections of process {pid} may not be seen and cut by this user: run the supervisor as the "
        "service's user, and without a ptrace restriction"
    )
