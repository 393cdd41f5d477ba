"""What a route remembers on disk: one JSON object with a checksum, replaced whole or not at all."""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from buildeye.model import OutsideError


def write_record(path: Path, value: Mapping[str, object]) -> None:
    """Put `value` on disk: after the return it is there, after a crash it or what was before.

    OutsideError: the disk does not take it; what was before stands.
    """
    body = json.dumps(value, sort_keys=True)
    text = json.dumps({"checksum": _checksum(body), "value": value}, sort_keys=True)
    replace_file(path, text + "\n", what="the state of a route")


def read_record(path: Path) -> dict[str, object] | None:
    """What was written last; None when there is nothing, or it is not whole (then nobody knows)."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        value = read["value"]
        whole = read["checksum"] == _checksum(json.dumps(value, sort_keys=True))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value if whole and isinstance(value, dict) else None


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
        raise OutsideError(
            f"{what} cannot be written to {path} ({error.strerror}): check the folder's rights and free space"
        ) from None


def sync_folder(folder: Path) -> None:
    """Make renames in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
