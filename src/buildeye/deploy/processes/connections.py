"""The established connections of a process and its descendants: counted, and cut.

Found as `ss -p` finds them: the socket inodes of /proc/PID/fd, looked up in /proc/net/tcp, tcp6 and unix (proc(5)).
Cut by taking a duplicate out of the process (pidfd_getfd(2)) and shutting it down, which needs no special right for
processes of the same user; where Yama restricts it (ptrace_scope 1), for an ancestor, which the keeper is.
"""

import contextlib
import ctypes
import os
import socket

_PIDFD_GETFD = 438
_ESTABLISHED = "01"
_UNIX_CONNECTED = "03"


def count(pids: "list[int]", ports: "list[int]", paths: "list[str]") -> int:
    """How many connections on these local TCP ports and unix socket paths the processes hold."""
    return len(_held(pids, ports, paths))


def cut(pids: "list[int]", ports: "list[int]", paths: "list[str]") -> "tuple[int, int]":
    """Shut these connections down in both directions: how many were, and how many the kernel did not let us."""
    held = _held(pids, ports, paths)
    done = sum(any(_shut(pid, fd, inode) for pid, fd in places) for inode, places in held.items())
    return done, len(held) - done


def _held(pids: "list[int]", ports: "list[int]", paths: "list[str]") -> "dict[int, list[tuple[int, int]]]":
    """{inode: where it is open, as (pid, descriptor)} of the connections meant."""
    if not pids:
        return {}
    wanted = _tcp(pids[0], set(ports)) | _unix(pids[0], set(paths))
    found: dict[int, list[tuple[int, int]]] = {}
    for pid in pids if wanted else ():
        for fd, inode in _sockets(pid):
            if inode in wanted:
                found.setdefault(inode, []).append((pid, fd))
    return found


def _sockets(pid: int) -> "list[tuple[int, int]]":
    found = []
    try:
        names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
    except OSError:
        return []
    for name in names:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")  # noqa: PTH115
        except OSError:
            continue  # closed in the meantime
        if target.startswith("socket:["):
            found.append((int(name), int(target[8:-1])))
    return found


def _tcp(pid: int, ports: "set[int]") -> "set[int]":
    found = set()
    for family in ("tcp", "tcp6") if ports else ():
        for fields in _lines(f"/proc/{pid}/net/{family}"):
            if fields[3] == _ESTABLISHED and int(fields[1].rpartition(":")[2], 16) in ports:
                found.add(int(fields[9]))
    return found


def _unix(pid: int, paths: "set[str]") -> "set[int]":
    lines = _lines(f"/proc/{pid}/net/unix") if paths else []
    return {int(at[6]) for at in lines if len(at) > 7 and at[5] == _UNIX_CONNECTED and " ".join(at[7:]) in paths}


def _lines(path: str) -> "list[list[str]]":
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            next(file, None)
            return [line.split() for line in file]
    except OSError:
        return []  # a kernel without this family


def _shut(pid: int, fd: int, inode: int) -> bool:
    try:
        opened = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        taken = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, opened, fd, 0)
    finally:
        os.close(opened)
    if taken < 0:
        return False
    if os.fstat(taken).st_ino != inode:  # closed, and its number given to something else
        os.close(taken)
        return False
    with socket.socket(fileno=taken) as connection, contextlib.suppress(OSError):  # ended by itself
        connection.shutdown(socket.SHUT_RDWR)
    return True
