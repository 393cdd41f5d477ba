"""What /proc says of processes: who is alive, who belongs to whom, and a signal that cannot reach a stranger.

A process is named by (pid, start time): the second is field 22 of /proc/PID/stat, in clock ticks since boot, so that a
pid given to another process is noticed (proc(5)). Signals go through a pidfd whose process was compared after it was
opened (pidfd_open(2)). Standard library alone: a keeper runs this too.
"""

import os
import signal

NONCE = "BUILD_EYE_NONCE"
"""The variable that carries the nonce of a run in the environment of its processes."""
RUN = "BUILD_EYE_RUN"
"""The variable that carries the run folder."""
SLOT = "BUILD_EYE_SLOT"
"""The variable that carries the number of the slot."""
KEEPER = "BUILD_EYE_KEEPER"
"""The variable that only a keeper has."""
SOCKET = "keeper.sock"
"""The socket in the run folder on which a keeper answers."""


class Entry:
    """One line of the process table; `start_time` in clock ticks since boot."""

    __slots__ = ("group", "parent", "pid", "session", "start_time", "state", "threads")

    def __init__(self, pid: int, text: bytes) -> None:
        fields = text[text.rindex(b")") + 2 :].split()  # a name may hold spaces and brackets
        self.pid = pid
        self.state = fields[0].decode()
        self.parent, self.group, self.session = int(fields[1]), int(fields[2]), int(fields[3])
        self.threads, self.start_time = int(fields[17]), int(fields[19])

    @property
    def alive(self) -> bool:
        """Whether it runs. A zombie does not, unless only its first thread has ended."""
        return self.state not in "ZXx" or (self.state == "Z" and self.threads > 1)


def entry_of(pid: int) -> "Entry | None":
    """The entry of a pid, zombies too; None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return Entry(pid, file.read())
    except (OSError, ValueError):
        return None


def table() -> "dict[int, Entry]":
    """All processes that can be seen, by pid."""
    found = (entry_of(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return {entry.pid: entry for entry in found if entry is not None}


def environment_of(pid: int) -> "dict[str, str] | None":
    """The environment a process was started with; empty when it may not be read.

    None when there is none to read at this instant: a process in the midst of exec, one that ends, a kernel thread.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            held = file.read()
    except PermissionError:
        return {}
    except OSError:
        return None
    pairs = [os.fsdecode(pair).partition("=") for pair in held.split(b"\0")]
    return {name: value for name, equals, value in pairs if equals} if held else None


def descendants(root: int, among: "dict[int, Entry]") -> "list[Entry]":
    """The children of `root`, theirs, and so on; not `root` itself."""
    children: dict[int, list[Entry]] = {}
    for entry in among.values():
        children.setdefault(entry.parent, []).append(entry)
    found: list[Entry] = []
    waiting = [root]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found += below
        waiting += [entry.pid for entry in below]
    return found


def open_pidfd(pid: int, start_time: int) -> "int | None":
    """A pidfd of exactly this process, to be closed by the caller; None when it is gone, a zombie or another."""
    try:
        opened = os.pidfd_open(pid)
    except (ProcessLookupError, ValueError, OverflowError):
        return None
    except OSError as error:
        if error.errno != 22:  # EINVAL: a pid that cannot be
            raise
        return None
    entry = entry_of(pid)
    if entry is not None and entry.start_time == start_time and entry.alive:
        return opened
    os.close(opened)
    return None


def send(pid: int, start_time: int, number: int) -> bool:
    """Send a signal to exactly this process; False when it is gone."""
    opened = open_pidfd(pid, start_time)
    if opened is None:
        return False
    try:
        signal.pidfd_send_signal(opened, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(opened)
    return True
