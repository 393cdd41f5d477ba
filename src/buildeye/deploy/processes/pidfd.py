"""A process held by a pidfd: its end is seen within a millisecond, child or not, and no signal reaches a stranger."""

import contextlib
import os
import select
import signal
from types import TracebackType

from buildeye.deploy.processes.identity import Identity, is_alive
from buildeye.deploy.processes.proctable import open_pidfd
from buildeye.model import OutsideError


class Pidfd:
    """An open pidfd of a process; close it, or use it as a context."""

    def __init__(self, identity: Identity, opened: int) -> None:
        self.identity = identity
        self._opened = opened

    def fileno(self) -> int:
        """The descriptor; it becomes readable when the process has ended (for `loop.add_reader`)."""
        return self._opened

    def ended(self) -> bool:
        """Whether the process has ended; a zombie has."""
        return self.wait(0)

    def wait(self, seconds: float) -> bool:
        """Wait so many true seconds for its end, and say whether it came."""
        poll = select.poll()
        poll.register(self._opened, select.POLLIN)
        return bool(poll.poll(max(0.0, seconds) * 1000))

    def signal(self, number: int) -> bool:
        """Send a signal to this process and no other; False when it had ended. OutsideError: not allowed."""
        if self.ended():
            return False
        try:
            signal.pidfd_send_signal(self._opened, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            raise OutsideError(
                f"process {self.identity.pid} cannot be signalled: it belongs to another user; run as that user"
            ) from None
        return True

    def reap(self) -> int | None:
        """The exit code of an ended child of this process (negative: by signal), which then is gone.

        None: it runs, is no child of ours, or was reaped elsewhere; unknown is never 0.
        """
        try:
            found = os.waitid(os.P_PIDFD, self._opened, os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            return None
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def close(self) -> None:
        """Let go of it."""
        if self._opened >= 0:
            with contextlib.suppress(OSError):
                os.close(self._opened)
            self._opened = -1

    def __enter__(self) -> "Pidfd":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_process(identity: Identity) -> Pidfd | None:
    """Hold a process; None when it is dead. Compared after opening, so that a reused pid is never held.

    OutsideError: no descriptor left.
    """
    if not is_alive(identity):
        return None
    try:
        opened = open_pidfd(identity.pid, identity.start_time)
    except OSError as error:
        raise OutsideError(f"process {identity.pid} cannot be held ({error.strerror}): raise `ulimit -n`") from error
    if opened is None:
        return None
    if is_alive(identity):
        return Pidfd(identity, opened)
    os.close(opened)
    return None
