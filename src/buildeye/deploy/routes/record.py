"""What a route remembers on disk, and files it replaces whole."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from buildeye.deploy.processes.statefile import read_state, write_state
from buildeye.model import OutsideError


def write_record(path: Path, value: Mapping[str, object]) -> None:
    """Put `value` on disk: after the return it is there, after a crash it or what was before.

    OutsideError: the disk does not take it; what was before stands.
    """
    try:
        write_state(path, dict(value))
    except OSError as error:
        raise _unwritable(path, "the state of a route", error) from None


def read_record(path: Path) -> dict[str, object] | None:
    """What was written last; None when there is nothing, or it is not whole: an older state would be a wrong one."""
    value, warning = read_state(path)
    return value if warning is None and isinstance(value, dict) else None


def replace_file(path: Path, text: str, *, what: str) -> None:
    """Replace a file whole: temporary file, fsync, rename, fsync of the folder. OutsideError names `what` it is."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        with temporary.open("w", encoding="utf-8") as f:
            os.fchmod(f.fileno(), mode)
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise _unwritable(path, what, error) from None


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, what: str, error: OSError) -> OutsideError:
    return OutsideError(
        f"{what} cannot be written to {path} ({error.strerror}): check the folder's rights and free space"
    )
