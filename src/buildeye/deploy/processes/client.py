"""Ask the keeper of a run folder, whoever started it."""

import errno
import json
import os
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from buildeye.deploy.processes.proctable import SOCKET
from buildeye.model import OutsideError

_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.005
_MESSAGE_BYTES: Final = 65536
_MOST_SOCKETS: Final = 250  # SCM_MAX_FD is 253


@dataclass(frozen=True, slots=True)
class KeeperStatus:
    """What a keeper says: the contents of process.json and, once the command has ended, of exit.json.

    `left` is how many processes below the keeper still live, the command among them.
    """

    facts: dict[str, Any]
    exit: dict[str, Any] | None
    left: int


class KeeperClient:
    """The keeper of a run folder. Every method raises OutsideError when no keeper answers; `answers` tells before."""

    def __init__(self, run_folder: Path, seconds: float = _SECONDS) -> None:
        self._folder = run_folder
        self._seconds = seconds

    def answers(self) -> bool:
        """Whether a keeper lives here."""
        try:
            self._connect().close()
        except OSError:
            return False
        return True

    def status(self) -> KeeperStatus:
        """How the run stands."""
        said = self._ask("status")
        return KeeperStatus(said["facts"], said["exit"], said["left"])

    def sockets(self) -> list[int]:
        """The listening sockets of all slots, in order, as new descriptors of this process; the caller closes them."""
        _, fds = self._exchange({"do": "sockets"}, _MOST_SOCKETS)
        return fds

    def connections(self, ports: Iterable[int] = (), paths: Iterable[str] = ()) -> int:
        """How many connections the command and its descendants have on these local ports and unix socket paths.

        Those that wait to be accepted are nobody's yet and do not count.
        """
        return int(self._ask("connections", ports=list(ports), paths=list(paths))["count"])

    def cut(self, ports: Iterable[int] = (), paths: Iterable[str] = ()) -> tuple[int, int]:
        """Shut these connections down: how many were, and how many the kernel refused (a process of another user)."""
        said = self._ask("cut", ports=list(ports), paths=list(paths))
        return int(said["count"]), int(said["refused"])

    def stop(self, signal: int, seconds: float) -> bool:
        """Signal the command's group now, kill it after so many true seconds; False when it had ended.

        Returns at once: the keeper sees it through, also when the one who asked dies.
        """
        return bool(self._ask("stop", signal=int(signal), seconds=seconds)["alive"])

    def leave(self) -> bool:
        """Let the keeper go, and with it its hold on the sockets; False while its command lives: then it stays."""
        return bool(self._ask("leave")["leaves"])

    def _ask(self, what: str, **arguments: object) -> dict[str, Any]:
        said, _ = self._exchange({"do": what, **arguments}, 0)
        return said

    def _exchange(self, request: dict[str, object], most: int) -> tuple[dict[str, Any], list[int]]:
        try:
            with self._connect() as connection:
                connection.send(json.dumps(request).encode())
                said, fds, _, _ = socket.recv_fds(connection, _MESSAGE_BYTES, most, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise OutsideError(
                f"the keeper of {self._folder} does not answer ({error.strerror or error}): its process may have ended"
            ) from error
        for fd in fds:
            os.set_inheritable(fd, False)
        if not said:
            raise OutsideError(f"the keeper of {self._folder} ended while it was asked: ask again, or look at its log")
        return json.loads(said), fds

    def _connect(self) -> socket.socket:
        """Connect by way of the folder's descriptor: the whole path may be longer than the 107 bytes allowed."""
        folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.settimeout(self._seconds)
            until = time.monotonic() + self._seconds
            while (failed := connection.connect_ex(f"/proc/self/fd/{folder}/{SOCKET}")) == errno.EAGAIN:
                if time.monotonic() > until:
                    break
                time.sleep(_LOOK_SECONDS)  # so many ask at once that its queue is full
            if failed:
                raise OSError(failed, os.strerror(failed))
        except OSError:
            connection.close()
            raise
        finally:
            os.close(folder)
        return connection
