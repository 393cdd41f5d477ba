"""Who listens at an address already, as far as /proc tells."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"


def port_owner(port: int, proc: Path = _PROC) -> str:
    """`process 4711 (nginx)` for the one that listens at a TCP port; `another process` where that cannot be seen."""
    wanted = set()
    for table in ("tcp", "tcp6"):
        for fields in _rows(proc / "net" / table):
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                wanted.add(fields[9])
    return _holder(wanted, proc)


def path_owner(path: Path, proc: Path = _PROC) -> str:
    """The same for a unix socket."""
    return _holder({fields[6] for fields in _rows(proc / "net" / "unix") if fields[7:8] == [str(path)]}, proc)


def holders(inodes: Iterable[str], proc: Path = _PROC) -> list[int]:
    """Processes that hold one of these sockets, as far as this user may look."""
    links = {f"socket:[{inode}]" for inode in inodes}
    return [int(folder.name) for folder in proc.iterdir() if folder.name.isdigit() and _holds(folder / "fd", links)]


def _holder(inodes: set[str], proc: Path) -> str:
    for pid in holders(inodes, proc) if inodes else ():
        try:
            name = (proc / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        return f"process {pid} ({name})"
    return "another process"


def _holds(folder: Path, links: set[str]) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(_link(entry.path) in links for entry in entries)
    except OSError:
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 -- a Path a descriptor of every process is slow
    except OSError:
        return ""


def _rows(table: Path) -> Iterable[list[str]]:
    try:
        lines = table.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines[1:]:
        yield line.split()
