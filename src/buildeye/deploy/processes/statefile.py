"""Small JSON files that survive a crash at any instant: the old value or the new one, and a torn file is noticed.

Written to a temporary file, synced, renamed over the old one, and the folder synced (Pillai and others, "All file
systems are not created equal", OSDI 2014). The value stands in the first line, its CRC-32 in the second; the value
before is kept beside it as `.last`.
"""

import contextlib
import json
import os
import zlib

LAST = ".last"


def write_state(path: "str | os.PathLike[str]", value: object) -> None:
    """Put a JSON value at `path`, on disk when this returns. A good value that stood there goes to `.last`.

    OSError when the disk cannot take it; then what stood there before still stands.
    """
    path = os.fspath(path)
    before = _bytes(path)
    if before is not None and _value(before) is not None:
        _replace(path + LAST, before)
    text = json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
    _replace(path, b"%s\n%08x\n" % (text, zlib.crc32(text)))


def read_state(path: "str | os.PathLike[str]") -> "tuple[object, str | None]":
    """The value at `path` and None; or the last good value (None when there is none) and what is wrong, a sentence.

    A file that was never written is (None, None).
    """
    path = os.fspath(path)
    held = _bytes(path)
    good = _value(held) if held is not None else None
    if good is not None:
        return good[0], None
    kept = _bytes(path + LAST)
    last = _value(kept) if kept is not None else None
    if last is not None:
        what = "is torn" if held is not None else "is missing"
        return last[0], f"{path} {what}: the value before it is used; check the disk"
    if held is None:
        return None, None
    return None, f"{path} is torn and no good value from before is kept: check the disk"


def _bytes(path: str) -> "bytes | None":
    try:
        with open(path, "rb") as file:  # noqa: PTH123 -- pathlib would cost a keeper 12 ms
            return file.read()
    except FileNotFoundError:
        return None


def _value(held: bytes) -> "tuple[object] | None":
    text, _, rest = held.partition(b"\n")
    if rest != b"%08x\n" % zlib.crc32(text):
        return None
    try:
        return (json.loads(text),)
    except ValueError:
        return None


def _replace(path: str, held: bytes) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            left = memoryview(held)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)  # noqa: PTH105
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108
        raise
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
