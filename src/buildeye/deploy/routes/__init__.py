"""Routes: the way from the public address to the version in service, and how it is switched at once.

`route_for` chooses: a port shared by the kernel, a unix socket, a file that is replaced, a command that is run.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

from buildeye.deploy.address import Address
from buildeye.deploy.routes.commands import SWITCH_SECONDS, CommandRoute
from buildeye.deploy.routes.files import SWITCH_TEXT, FileRoute
from buildeye.deploy.routes.ports import PortRoute
from buildeye.deploy.routes.privateports import Handover
from buildeye.deploy.routes.route import BACKLOG, SLOTS, Route
from buildeye.deploy.routes.unixsockets import UnixRoute
from buildeye.model import OutsideError, UsageError

__all__ = ["BACKLOG", "SLOTS", "Address", "Listen", "Route", "route_for"]


class Listen(Protocol):
    """The `listen` section of deploy.yaml, as far as a route reads it; `handover` and `switch_text` may be missing."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int | None: ...
    @property
    def socket(self) -> object: ...
    @property
    def switch_command(self) -> Sequence[str]: ...
    @property
    def current_command(self) -> Sequence[str]: ...
    @property
    def switch_file(self) -> object: ...


def route_for(listen: Listen, run_root: Path, switch_seconds: float = SWITCH_SECONDS) -> Route:
    """The route of a service; nothing is bound before its `open`. `run_root` is the service's own folder, made here.

    A command may take `switch_seconds` true seconds. UsageError: `listen` names no way. OutsideError: not on Linux.
    """
    if sys.platform != "linux":
        raise OutsideError("deploy works on Linux only: it uses the kernel's process and socket interfaces")
    try:
        run_root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutsideError(f"the run folder {run_root} cannot be made ({error.strerror}): check the disk") from None
    public = Address(listen.host, listen.port) if listen.port else None
    handover = cast("Handover", getattr(listen, "handover", "socket"))
    if listen.switch_command:
        return CommandRoute(
            listen.switch_command,
            run_root,
            current_command=listen.current_command,
            public=public,
            handover=handover,
            seconds=switch_seconds,
        )
    if listen.switch_file:
        text = str(getattr(listen, "switch_text", SWITCH_TEXT))
        return FileRoute(Path(str(listen.switch_file)), run_root, text=text, public=public, handover=handover)
    if listen.socket:
        return UnixRoute(Path(str(listen.socket)), run_root)
    if listen.port:
        return PortRoute(listen.host, listen.port, run_root)
    raise UsageError("listen names no way to the service: set listen.port, socket, switch_command or switch_file")
