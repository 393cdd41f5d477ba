"""The log of a version's process, bounded.

The process appends to the file itself, so that it outlives its keeper; a pipe to the keeper would break it. When the
file grows beyond its most, the keeper copies it to `.1` and cuts it to nothing; what is written between the last copied
byte and the cut is lost. The bound is soft by what is written between two looks, and holds only while the keeper lives.
"""

import os

MOST_BYTES = 64 * 1024 * 1024
_AT_ONCE = 1024 * 1024


def open_log(path: str) -> int:
    """Open a log for appending, made when it is not there; OSError."""
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def bound(log: int, path: str, most: int) -> bool:
    """Start the log anew when it is longer than `most` bytes, with one previous kept; whether it was.

    On a full disk nothing is kept, and the log says so: the bound comes first.
    """
    if os.fstat(log).st_size <= most:
        return False
    note = b""
    try:
        _copy(log, path + ".1")
    except OSError as error:
        note = (
            b"[build-eye: an earlier part of this log could not be kept: %s]\n" % os.strerror(error.errno or 0).encode()
        )
    os.ftruncate(log, 0)
    if note:
        os.write(log, note)
    return True


def _copy(log: int, path: str) -> None:
    kept = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        at = 0
        while copied := os.sendfile(kept, log, at, _AT_ONCE):
            at += copied
    finally:
        os.close(kept)
