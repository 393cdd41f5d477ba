"""The server that owns a folder, as it says itself in `serving.json`, so that commands ask through it.

The file is in storage.data_dir and holds the token of the server's doors: only its user may read it. It is believed
while the process it names lives, told by number and start time, so what a killed server left behind sends nobody to a
stranger.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from buildeye.model import OutsideError

FILE: Final = "serving.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """A running `build-eye serve`: its address for this machine, the token of its doors, and the warehouse it has.

    `warehouse` is a folder's real path, or the address of a server without user and password. `start_time` is in clock
    ticks since boot, 0 where the system does not say.
    """

    url: str
    token: str
    warehouse: str
    pid: int
    start_time: int

    def __repr__(self) -> str:
        return f"Owner({self.url}, {self.warehouse}, {self.pid})"

    @property
    def is_alive(self) -> bool:
        """Whether the process lives, and is no other one under the same number."""
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            pass  # it lives, as another user
        except (OSError, OverflowError):
            return False
        return self.start_time == start_time(self.pid)


@contextmanager
def serving(data_dir: Path, url: str, token: str, warehouse: str) -> Iterator[None]:
    """Say in `data_dir` that this process serves, while the context lasts. OutsideError: it cannot be written."""
    owner = Owner(url, token, warehouse, os.getpid(), start_time(os.getpid()))
    file = data_dir / FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=data_dir, prefix=f".{FILE}.", delete=False) as written:  # mode 600
            json.dump(asdict(owner), written)
        Path(written.name).replace(file)
    except OSError as error:
        raise OutsideError(f"{file} cannot be written ({error.strerror}): mend storage.data_dir") from None
    try:
        yield
    finally:
        if owner_in(data_dir) == owner:  # else another server has taken its place
            with suppress(OSError):
                file.unlink()


def owner_in(data_dir: Path) -> Owner | None:
    """The server that says it serves from `data_dir` and lives; None when there is none."""
    try:
        told = json.loads((data_dir / FILE).read_text("utf-8"))
        owner = Owner(str(told["url"]), str(told["token"]), str(told["warehouse"]), int(told["pid"]),
                      int(told["start_time"]))  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return owner if owner.is_alive else None


def start_time(pid: int) -> int:
    """When a process began, in clock ticks since boot; 0 where there is no /proc or no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
