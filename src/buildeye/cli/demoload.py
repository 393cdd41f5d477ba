"""The users of the deployment demo: requests without a pause, each on a connection of its own, all counted."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.05


class Users:
    """Asks the service on a port of this machine: a page, then a task, over and over. `asked`, `failed`: how many."""

    def __init__(self, port: int) -> None:
        self.asked = self.failed = 0
        self._port = port
        self._over = threading.Event()

    @contextmanager
    def asking(self) -> Iterator["Users"]:
        """Ask for as long as the block lasts."""
        thread = threading.Thread(target=self._ask_on, name="users", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join(_SECONDS)

    def _ask_on(self) -> None:
        while not self._over.is_set():
            for method, path in (("GET", "/"), ("POST", "/task")):
                self.asked += 1
                self.failed += not self._answers(method, path)
            self._over.wait(_PAUSE_SECONDS)

    def _answers(self, method: str, path: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SECONDS)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return bool(answer.read()) and answer.status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
