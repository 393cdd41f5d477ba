"""Where reports lie: a file, a folder, a zip archive such as GitHub makes of an artifact.

An archive is a stranger's: its directory, its members and what they say of their sizes are limited by what is really
read, and nothing is unpacked onto the disk.
"""

import gzip
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Final

from buildeye.model import UsageError
from buildeye.testresults.junit import CutOffError

CHUNK: Final = 64 * 1024
_MIB: Final = 1024 * 1024
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP: Final = b"\x1f\x8b"
_DIRECTORY_END: Final = b"PK\x05\x06"
_DIRECTORY_END_64: Final = b"PK\x06\x06"
_TAIL: Final = 65_557  # bytes in which the end of an archive's directory stands: 22, a comment of 65,535


@dataclass(frozen=True, slots=True)
class Limits:
    """What one archive may cost: bytes of one report and of all together once unpacked, bytes of its directory."""

    report_bytes: int = 2048 * _MIB
    archive_bytes: int = 8192 * _MIB
    directory_bytes: int = 16 * _MIB


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may be a report: its name, the name of its folder (empty at the top), and how to read it, once."""

    name: str
    folder: str
    chunks: Callable[[], Iterator[bytes]]


def reports_in(path: Path, limits: Limits = Limits()) -> Iterator[Found]:
    """The files that may be reports at `path`, in order of name: the file itself, `*.xml` of a folder or an archive.

    `CutOffError`, here or while reading, says what is wrong with an archive; OSError with the disk. UsageError: there
    is nothing at `path`.
    """
    if path.is_dir():
        for file in sorted(each for each in path.rglob("*.xml") if each.is_file()):
            yield Found(str(file), file.parent.name, partial(_read, file))
        return
    try:
        with path.open("rb") as opened:
            head = opened.read(4)
    except FileNotFoundError:
        raise nothing_at(path) from None
    if head.startswith(_ZIP):
        yield from _members(path, limits)
    elif head.startswith(_GZIP):
        yield Found(str(path), path.absolute().parent.name, partial(_unzipped, path, limits))
    else:
        yield Found(str(path), path.absolute().parent.name, partial(_read, path))


def nothing_at(path: Path) -> UsageError:
    """What to say when there is no file and no folder."""
    return UsageError(f"{path}: no such file or folder; name JUnit files, folders of them or zip archives")


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from iter(lambda: file.read(CHUNK), b"")


def _unzipped(path: Path, limits: Limits) -> Iterator[bytes]:
    try:
        with gzip.open(path) as file:
            yield from _limited(file, limits.report_bytes, [limits.archive_bytes])
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CutOffError(f"the gzip data ends early or is damaged ({error})") from error


def _members(path: Path, limits: Limits) -> Iterator[Found]:
    if _directory_size(path) > limits.directory_bytes:
        raise CutOffError(f"the archive lists more files than fit into {limits.directory_bytes // _MIB} MiB")
    left = [limits.archive_bytes]
    try:
        with zipfile.ZipFile(path) as archive:
            named = [info for info in archive.infolist() if info.filename.lower().endswith(".xml")]
            for info in sorted(named, key=lambda each: each.filename):
                if left[0] < 0:
                    raise CutOffError(
                        f"it is larger than {limits.archive_bytes // _MIB} MiB once unpacked; the rest is left out"
                    )
                folder = PurePosixPath(info.filename.replace("\\", "/")).parent.name
                yield Found(info.filename, folder, partial(_unpacked, archive, info, limits, left))
    except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError) as error:
        raise CutOffError(f"the archive is damaged ({error})") from error


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits, left: list[int]) -> Iterator[bytes]:
    try:
        with archive.open(info) as member:
            yield from _limited(member, limits.report_bytes, left)
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        raise CutOffError(f"the archive is damaged there ({error or type(error).__name__})") from error


def _limited(file: IO[bytes] | gzip.GzipFile, most: int, left: list[int]) -> Iterator[bytes]:
    """The bytes of a file, at most `most`, and at most what is `left` of the archive's allowance."""
    read = 0
    while chunk := file.read(CHUNK):
        read += len(chunk)
        left[0] -= len(chunk)
        if read > most:
            raise CutOffError(f"it is larger than {most // _MIB} MiB once unpacked")
        if left[0] < 0:
            raise CutOffError("the archive is too large once unpacked")
        yield chunk


def _directory_size(path: Path) -> int:
    """Bytes that an archive's end says its directory has; 0 when the end is not found, which the reader then says.

    Asked before `zipfile`, which would make an object of every entry first.
    """
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL))
        tail = file.read()
    sizes = [0]
    at = tail.rfind(_DIRECTORY_END)
    if at >= 0 and len(tail) >= at + 22:
        (size,) = struct.unpack_from("<I", tail, at + 12)
        sizes.append(size if size != 0xFFFFFFFF else 0)
    at = tail.rfind(_DIRECTORY_END_64)
    if at >= 0 and len(tail) >= at + 56:
        (size,) = struct.unpack_from("<Q", tail, at + 40)
        sizes.append(size)
    return max(sizes)
