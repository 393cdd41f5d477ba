"""Fork the process of a version and hold it at a gate until its facts are on disk.

The forked process waits to read one byte; when the keeper dies before that, it reads the end of the pipe and leaves, so
no version ever runs that no file tells of.
"""

import contextlib
import os
import signal

_GO = b"g"
_STRAIGHT = range(1, signal.NSIG)


class Gate:
    """A forked process that waits: `pid`, and the two pipes to let it go and to hear of a failed start."""

    __slots__ = ("_failures", "_go", "pid")

    def __init__(self, pid: int, go: int, failures: int) -> None:
        self.pid = pid
        self._go = go
        self._failures = failures

    def open(self) -> "tuple[str, int] | None":
        """Let it run its command; None when it does, else where it failed ("directory", "command") and the errno."""
        with contextlib.suppress(BrokenPipeError):  # killed at the gate; waitpid tells
            os.write(self._go, _GO)
        os.close(self._go)
        said = b""
        while part := os.read(self._failures, 256):
            said += part
        os.close(self._failures)
        where, _, number = said.decode().partition(" ")
        return (where, int(number)) if number else None

    def shut(self) -> None:
        """Let it leave without running anything."""
        os.close(self._go)
        os.close(self._failures)


def fork(
    command: "list[str]", directory: str, environment: "dict[str, str]", log: int, listening: "int | None"
) -> Gate:
    """Fork a process that, once let go, is `command` in its own group, with `listening` as descriptor 3.

    stdout and stderr go to `log`, stdin is empty; LISTEN_FDS and LISTEN_PID as in sd_listen_fds(3). OSError: no fork.
    """
    stay, go = os.pipe()
    failures, fail = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        _become(command, directory, environment, log, listening, stay, fail)
    os.close(stay)
    os.close(fail)
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # both sides say so: whichever comes first
    return Gate(pid, go, failures)


def says(where: str, number: int, command: "list[str]", directory: str, path: str) -> str:
    """A sentence of why a command did not start."""
    why = os.strerror(number)
    if where == "directory":
        return f"the directory {directory} cannot be entered ({why}): correct `directory` in deploy.yaml"
    name = command[0]
    if number == 2:
        if _found(name, directory, path):
            return f"the program {name} cannot run: the interpreter its first line names does not exist"
        return f"the program {name} does not exist: correct `command` in deploy.yaml, or install it"
    if number == 13:
        return f"the program {name} may not be run ({why}): it must be a file with the right to execute it"
    return f"the program {name} cannot be run ({why})"


def _found(name: str, directory: str, path: str) -> bool:
    folders = [""] if "/" in name else path.split(":")
    return any(os.path.exists(os.path.join(directory, folder, name)) for folder in folders)  # noqa: PTH110, PTH118


def _become(
    command: "list[str]",
    directory: str,
    environment: "dict[str, str]",
    log: int,
    listening: "int | None",
    stay: int,
    fail: int,
) -> None:
    where = "command"
    try:
        os.setpgid(0, 0)
        if os.read(stay, 1) != _GO:
            os._exit(125)
        _forget_signals()
        where = "directory"
        os.chdir(directory)
        where = "command"
        given = dict(environment)
        fail = _lay_out(log, listening, fail)
        if listening is not None:
            given.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        os.execvpe(command[0], command, given)  # noqa: S606
    except OSError as error:
        os.write(fail, f"{where} {error.errno or 5}".encode())
    finally:
        os._exit(127)


def _lay_out(log: int, listening: "int | None", fail: int) -> int:
    """Put descriptors 0 to 3 in their places; all others close by themselves. The new number of `fail`."""
    import fcntl

    above = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (log, fail)]
    if listening is not None:
        above.append(fcntl.fcntl(listening, fcntl.F_DUPFD_CLOEXEC, 10))
    empty = fcntl.fcntl(os.open(os.devnull, os.O_RDONLY), fcntl.F_DUPFD_CLOEXEC, 10)
    os.dup2(empty, 0)
    os.dup2(above[0], 1)
    os.dup2(above[0], 2)
    if listening is not None:
        os.dup2(above[2], 3)
    return above[1]


def _forget_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in _STRAIGHT:
        try:
            if signal.getsignal(number) is not signal.SIG_DFL:
                signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            continue  # KILL, STOP and those of the C library
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
