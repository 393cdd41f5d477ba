"""The file route: a file holds the address that serves, and whoever leads users reads it."""

from pathlib import Path
from typing import Final

from buildeye.deploy.address import Address
from buildeye.deploy.routes.privateports import Handover, PrivatePorts
from buildeye.deploy.routes.record import replace_file

SWITCH_TEXT: Final = "{address}\n"


class FileRoute(PrivatePorts):
    """See `Route`. `file` is replaced whole at each switch by `text`, in which {address}, {host}, {port} are filled in.

    `public` is where users come in, for example a proxy's address; without it, the address of the current slot.
    """

    def __init__(
        self,
        file: Path,
        run_root: Path,
        *,
        text: str = SWITCH_TEXT,
        public: Address | None = None,
        handover: Handover = "socket",
    ) -> None:
        super().__init__(run_root, handover)
        self._file = file
        self._text = text
        self._public = public

    @property
    def public(self) -> Address:
        """See `Route.public`."""
        return self._public or self.private(self.current() or 0)

    def current(self) -> int | None:
        """See `Route.current`: the slot whose address the file holds."""
        try:
            held = self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        return next((slot for slot in self.slots() if self._filled(slot) == held), None)

    def switch(self, slot: int, version: str = "") -> None:
        """See `Route.switch`."""
        replace_file(self._file, self._filled(slot), what="listen.switch_file")

    def _filled(self, slot: int) -> str:
        asked = self.private(slot)
        parts = {"{address}": asked.authority, "{host}": asked.host, "{port}": str(asked.port)}
        text = self._text
        for name, value in parts.items():
            text = text.replace(name, value)
        return text
