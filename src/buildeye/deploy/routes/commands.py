"""The command route: something else leads users to a port, and a command of yours tells it to which."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from buildeye.deploy.address import Address
from buildeye.deploy.routes.privateports import Handover, PrivatePorts
from buildeye.deploy.routes.record import read_record, write_record
from buildeye.deploy.said import how_it_ended, last_line_of
from buildeye.model import OutsideError

SWITCH_SECONDS: Final = 60.0


class CommandRoute(PrivatePorts):
    """See `Route`. `switch_command` leads users to a slot's port; `current_command` tells which one serves.

    The first gets BUILD_EYE_SLOT, BUILD_EYE_PORT, BUILD_EYE_ADDRESS (host:port) and BUILD_EYE_VERSION. The last line of
    the second is the port, `host:port` or the slot; without it the route remembers what it switched to. `public` is
    where the proxy listens; without it the public address is that of the current slot, so that a look through it says
    nothing of the proxy. `seconds` are true seconds a command may take.
    """

    def __init__(
        self,
        switch_command: Sequence[str],
        run_root: Path,
        *,
        current_command: Sequence[str] = (),
        public: Address | None = None,
        handover: Handover = "socket",
        seconds: float = SWITCH_SECONDS,
    ) -> None:
        super().__init__(run_root, handover)
        self._switch_command = list(switch_command)
        self._current_command = list(current_command)
        self._public = public
        self._seconds = seconds
        self._state = run_root / "route.json"
        self._last: int | None = None

    @property
    def public(self) -> Address:
        """See `Route.public`. Only where nothing was switched or asked yet is `current_command` run for it."""
        if self._public is not None:
            return self._public
        return self.private((self.current() if self._last is None else self._last) or 0)

    def current(self) -> int | None:
        """See `Route.current`. Without `current_command` None while, or after, a switch of unknown outcome.

        OutsideError: `current_command` failed.
        """
        if self._current_command:
            said = run_command(self._current_command, {}, self._seconds, "listen.current_command")
            last = said.rpartition(":")[2].strip()
            self._last = next((slot for slot in self.slots() if last in {str(slot), str(self.port(slot))}), None)
            return self._last
        port = (read_record(self._state) or {}).get("port")
        return next((slot for slot in self.slots() if self.port(slot) == port), None)

    def switch(self, slot: int, version: str = "") -> None:
        """See `Route.switch`. OutsideError carries the last line the command said; it is run again when asked again."""
        before = read_record(self._state) or {}
        port = self.port(slot)
        write_record(self._state, {"port": None, "switching_to": port})
        environment = {
            "BUILD_EYE_SLOT": str(slot),
            "BUILD_EYE_PORT": str(port),
            "BUILD_EYE_ADDRESS": self.private(slot).authority,
            "BUILD_EYE_VERSION": version,
        }
        try:
            run_command(self._switch_command, environment, self._seconds, "listen.switch_command")
        except CommandFailed:
            write_record(self._state, before)  # it said that it did not
            raise
        self._last = slot
        write_record(self._state, {"port": port})


class CommandFailed(OutsideError):
    """A command ended with another exit code than 0, or could not be started; it did not do what it is for."""


def run_command(command: Sequence[str], environment: Mapping[str, str], seconds: float, name: str) -> str:
    """Run a command to its end and give the last line of what it said, masked; its group is killed at the deadline.

    CommandFailed: it did not do it. OutsideError: it did not end in time. `name` is the setting it comes from.
    """
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=os.environ | dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise CommandFailed(
                f"{name}: {command[0]} cannot be started ({error.strerror}): mend deploy.yaml"
            ) from None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise OutsideError(f"{name}: {command[0]} did not end within {seconds:g} s and was killed") from None
        line = last_line_of(said)
    if code:
        raise CommandFailed(f"{name}: {how_it_ended(command[0], code, line)}")
    return line
