"""Files that are whole or not there, and one writer at a time: what lets a pass be killed at any point."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or the next pass after a kill, sees the old bytes or the new ones.

    The temporary file has a fixed name, so one that a killed writer left is written over and never piles up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_if_there(path: Path) -> bytes | None:
    """The bytes of a file, None when there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


@contextmanager
def only_writer(lock: Path) -> Iterator[None]:
    """Wait until no other process holds `lock`; the system lets go of it when this one ends, however it ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
