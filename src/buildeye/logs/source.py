"""Raw log bytes from wherever a log lies, in bounded memory.

A log may be gigabytes, a single line, compressed, or hostile. Whatever it is, everything above this module sees a
`LogFile`: a name, a size, blocks in order, and random access. Plain files are read where they lie; compressed and
piped input is unpacked once into a temporary file that has no name. What kind of file it is, its first bytes say.
"""

import io
import itertools
import os
import re
import stat
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import BinaryIO, NoReturn, Protocol, Self
from zlib import error as zlib_error

from buildeye.logs.unpack import CHUNK, MIB, CutOff, Reader, as_utf8, exactly, gunzip, is_gzip, is_wide, is_zstd, unzstd
from buildeye.model import OutsideError, UsageError

MAX_LOG_BYTES = 4 * 1024 * MIB
"""Most bytes of one log, or of all logs of one archive, after decompression."""
BLOCK_BYTES = MIB
SPOOL_MEMORY = 64 * MIB
"""Unpacked bytes kept in memory; more go to a temporary file."""
ZSTD_SPOOL_MEMORY = 8 * MIB
"""A zstd window may take as much memory as the spool of the other formats, so its own spool is small."""
MAX_DIRECTORY_BYTES = 8 * MIB
"""Most bytes of a zip's table of contents: about a hundred thousand steps."""
BOMB_BYTES = 100 * MIB
BOMB_RATIO = 500
"""A zip that claims more than BOMB_BYTES at more than this ratio is no log: real logs stay under 100 to 1."""

_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_JOB = re.compile(r"(?P<number>[0-9]{1,9})_(?P<name>.+)\.txt", re.DOTALL)


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Block:
    """A run of bytes of a log.

    `offset` is where it starts; `continues` says that its first bytes belong to a line begun in an earlier block.
    """

    offset: int
    continues: bool
    data: bytes


class LogFile:
    """One log with random access. Close it, or use it in a `with`; not for several threads at once.

    `size` is in bytes after decompression. `truncated` says why the log ends early, or is None.
    """

    __slots__ = ("_close", "_read_at", "name", "size", "truncated")

    def __init__(
        self,
        name: str,
        size: int,
        read_at: Callable[[int, int], bytes],
        close: Callable[[], None],
        truncated: str | None = None,
    ) -> None:
        """`read_at(offset, count)` gives up to `count` bytes; `close` frees what it reads from."""
        self.name = name
        self.size = size
        self.truncated = truncated
        self._read_at = read_at
        self._close = close

    @classmethod
    def of(cls, name: str, data: bytes) -> Self:
        """A log that is in memory already."""
        return cls(name, len(data), lambda offset, count: data[offset : offset + count], lambda: None)

    def read(self, start: int, end: int) -> bytes:
        """The bytes from offset `start` up to `end`, as far as the log goes.

        Fewer come when a plain file shrank since it was opened. Raises OutsideError when the disk fails.
        """
        start, end = max(start, 0), min(end, self.size)
        parts: list[bytes] = []
        while start < end:
            try:
                part = self._read_at(start, end - start)
            except OSError as error:
                raise OutsideError(f"{self.name}: reading failed ({error.strerror}); check the disk") from error
            if not part:
                break
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[Block]:
        """The whole log in order, in blocks of at most `size` bytes.

        A block ends right after a line feed when there is one in its window; a longer line is cut at the window.
        """
        offset, continues = 0, False
        while data := self.read(offset, offset + size):
            if offset + len(data) < self.size and (cut := data.rfind(b"\n") + 1):
                data = data[:cut]
            block = Block(offset, continues, data)
            offset += len(data)
            continues = not data.endswith(b"\n")
            del data
            yield block
            del block

    def close(self) -> None:
        """Free the file; a second call does nothing."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_logs(name: str, *, stdin: BinaryIO | None = None, limit: int = MAX_LOG_BYTES) -> Iterator[LogFile]:
    """The logs that `name` holds: one, or one for each job of a GitHub log archive (named `archive:job`).

    `name` is a path or `-` for `stdin` (by default the standard input of the process). gzip, zstd and zip are
    recognised by their first bytes; UTF-16 becomes UTF-8. Each log must be closed by the caller. Nothing is opened
    before the first log is asked for. Raises UsageError when there is no such log, when it is no log, or when it is
    longer than `limit` bytes after decompression; OutsideError when reading or the temporary directory fails.
    """
    if name == "-":
        yield from _from_stdin(stdin or _process_stdin(), limit)
        return
    file = _open_regular(name)
    owned = True
    try:
        head = os.pread(file.fileno(), 4, 0)
        if head.startswith(_ZIP):
            yield from _from_zip(name, file, limit)
        elif is_gzip(head) or is_zstd(head) or is_wide(head):
            yield _from_stream(name, _reader(name, file), head, limit, rewound=True)
        elif (size := os.fstat(file.fileno()).st_size) > limit:
            _refuse_size(name, limit, packed=False)
        else:
            owned = False
            yield LogFile(name, size, lambda offset, count: os.pread(file.fileno(), count, offset), file.close)
    except OSError as error:
        raise OutsideError(f"{_shown(name)}: reading failed ({error.strerror}); check the disk") from error
    finally:
        if owned:
            file.close()


def _process_stdin() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("-: standard input is closed; pipe a log into it or name a file")
    return sys.stdin.buffer


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name)


def _open_regular(name: str) -> io.FileIO:
    shown = _shown(name)
    try:
        mode = Path(name).stat().st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{shown}: is a directory; name the log file in it")
        if not stat.S_ISREG(mode):
            raise UsageError(f"{shown}: is not a regular file; pipe it in and use - as the name")
        return io.FileIO(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError as error:
        raise UsageError(f"{shown}: no such file; check the path") from error
    except PermissionError as error:
        raise UsageError(f"{shown}: may not be read by this user; change its permissions") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no valid file name"
        raise UsageError(f"{shown}: cannot be opened ({reason}); check the path") from error


def _reader(name: str, source: _Readable) -> Reader:
    def read(count: int) -> bytes:
        try:
            return source.read(count) or b""
        except (OSError, ValueError) as error:
            raise OutsideError(f"{_shown(name)}: reading failed ({error}); try again") from error

    return read


def _from_stdin(stdin: BinaryIO, limit: int) -> Iterator[LogFile]:
    read = _reader("-", stdin)
    head = exactly(read, 4)
    if not head.startswith(_ZIP):
        yield _from_stream("-", read, head, limit, rewound=False)
        return
    with SpooledTemporaryFile(max_size=SPOOL_MEMORY // 2) as archive:
        _fill(archive, "-", itertools.chain([head], _chunks(read)), limit)
        archive.seek(0)
        yield from _from_zip("-", archive, limit)


def _chunks(read: Reader) -> Iterator[bytes]:
    while chunk := read(CHUNK):
        yield chunk


def _from_stream(name: str, read: Reader, head: bytes, limit: int, *, rewound: bool) -> LogFile:
    """Unpack and spool one log; `head` is its first bytes, already taken from `read` unless `rewound`."""
    read = _pushed_back(b"" if rewound else head, read)
    memory = SPOOL_MEMORY
    if is_gzip(head):
        chunks = gunzip(read)
    elif is_zstd(head):
        chunks, memory = unzstd(_shown(name), read), ZSTD_SPOOL_MEMORY
    else:
        chunks = _chunks(read)
    log = _spool(name, as_utf8(chunks), limit, memory)
    if log.truncated and not log.size:
        log.close()
        raise UsageError(f"{_shown(name)}: holds nothing readable ({log.truncated}); download it again")
    return log


def _pushed_back(head: bytes, read: Reader) -> Reader:
    rest = io.BytesIO(head)
    return lambda count: rest.read(count) or read(count)


def _spool(name: str, chunks: Iterator[bytes], limit: int, memory: int) -> LogFile:
    spool = SpooledTemporaryFile(max_size=memory)  # noqa: SIM115 - the log it becomes closes it
    truncated: str | None = None
    try:
        try:
            _fill(spool, name, chunks, limit)
        except CutOff as cut:
            truncated = str(cut)
        size = spool.tell()
    except BaseException:
        spool.close()
        raise

    def read_at(offset: int, count: int) -> bytes:
        spool.seek(offset)
        return spool.read(count)

    return LogFile(name, size, read_at, spool.close, truncated)


def _fill(spool: "SpooledTemporaryFile[bytes]", name: str, chunks: Iterator[bytes], limit: int) -> None:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > limit:
            _refuse_size(name, limit, packed=True)
        try:
            spool.write(chunk)
        except OSError as error:
            raise OutsideError(
                f"{_shown(name)}: the temporary directory takes no more ({error.strerror}); "
                "free space there or point TMPDIR elsewhere"
            ) from error


def _refuse_size(name: str, limit: int, *, packed: bool) -> NoReturn:
    unit, word = next(
        ((unit, word) for unit, word in ((1024 * MIB, "GiB"), (MIB, "MiB"), (1, "bytes")) if limit % unit == 0)
    )
    after = " after decompression" if packed else ""
    raise UsageError(
        f"{_shown(name)}: more than {limit // unit} {word}{after}; cut it (head -c) or give the failed job's log alone"
    )


def _from_zip(name: str, file: "io.FileIO | SpooledTemporaryFile[bytes]", limit: int) -> Iterator[LogFile]:
    shown = _shown(name)
    try:
        _check_directory(shown, file)
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, struct.error, ValueError, OverflowError, EOFError, NotImplementedError) as error:
        raise UsageError(f"{shown}: the zip is cut off or damaged; download it again") from error
    with archive:
        jobs = _jobs(archive)
        if not jobs:
            raise UsageError(f"{shown}: the zip holds no .txt log; give the log archive of a run")
        _check_entries(shown, archive, [entry for entries in jobs.values() for entry in entries], limit)
        memory, left = SPOOL_MEMORY // 2, limit
        for job, entries in jobs.items():
            log = _spool(f"{name}:{_shown(job)}", _unzip(archive, entries), left, max(memory, 1))
            memory, left = memory - log.size, left - log.size
            yield log


def _check_directory(shown: str, file: "io.FileIO | SpooledTemporaryFile[bytes]") -> None:
    """Refuse a table of contents that would fill the memory before anything of it has been looked at."""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 66 * 1024))
    tail = file.read() or b""
    record = len(tail) - 22 if tail[-22:-18] == b"PK\x05\x06" and tail[-2:] == b"\0\0" else tail.rfind(b"PK\x05\x06")
    if record < 0:
        raise zipfile.BadZipFile
    (size,) = struct.unpack_from("<L", tail, record + 12)
    if (wide := tail.rfind(b"PK\x06\x06", 0, record)) >= 0:
        size = max(size % 0xFFFFFFFF, struct.unpack_from("<Q", tail, wide + 40)[0])
    if size > MAX_DIRECTORY_BYTES:
        raise UsageError(f"{shown}: the zip lists too many files for a log archive; unpack it and name one log")


def _jobs(archive: zipfile.ZipFile) -> dict[str, list[zipfile.ZipInfo]]:
    """Entries by job: whole-job files at the top, else the step files of each folder, else every text file."""
    texts = [entry for entry in archive.infolist() if entry.filename.endswith(".txt")]
    numbered: list[tuple[str, int, str, zipfile.ZipInfo]] = []
    for entry in texts:
        folder, _, base = entry.filename.rpartition("/")
        if found := _JOB.fullmatch(base):
            numbered.append((folder, int(found["number"]), found["name"], entry))
    numbered.sort(key=lambda item: item[1])
    if top := [item for item in numbered if not item[0]]:
        return _grouped((name, entry) for _, _, name, entry in top)
    if numbered:
        return _grouped((folder, entry) for folder, _, _, entry in sorted(numbered, key=lambda item: item[0]))
    return _grouped((str(PurePosixPath(entry.filename).with_suffix("")), entry) for entry in texts)


def _grouped(pairs: Iterator[tuple[str, zipfile.ZipInfo]]) -> dict[str, list[zipfile.ZipInfo]]:
    groups: dict[str, list[zipfile.ZipInfo]] = {}
    for name, entry in pairs:
        groups.setdefault(name, []).append(entry)
    return groups


def _check_entries(shown: str, archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], limit: int) -> None:
    """Refuse what no log archive is: encrypted, packed in another way, overlapping, or claiming too much."""
    if any(entry.flag_bits & 1 for entry in entries):
        raise UsageError(f"{shown}: the zip is encrypted; unpack it and name one log")
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        raise UsageError(f"{shown}: the zip is packed in a way other than deflate; unpack it and name one log")
    by_place = sorted(archive.infolist(), key=lambda entry: entry.header_offset)
    for entry, following in itertools.pairwise(by_place):
        if entry.header_offset + 30 + entry.compress_size > following.header_offset:
            raise UsageError(f"{shown}: files in the zip overlap, as in a zip bomb; download it again")
    claimed, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
    if claimed > limit:
        _refuse_size(shown, limit, packed=True)
    if claimed > BOMB_BYTES and claimed > BOMB_RATIO * packed:
        raise UsageError(f"{shown}: the zip unpacks to more than {BOMB_RATIO} times its size, as a zip bomb does")


def _unzip(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo]) -> Iterator[bytes]:
    """The entries as one text; a line feed goes between them where one is missing."""
    last = b"\n"
    for entry in entries:
        if last != b"\n":
            yield b"\n"
        try:
            with archive.open(entry) as file:
                for chunk in as_utf8(_chunks(file.read)):
                    last = chunk[-1:] or last
                    yield chunk
        except (zipfile.BadZipFile, zlib_error, EOFError, OSError, RuntimeError, ValueError, struct.error) as error:
            raise CutOff(f"{_shown(entry.filename)} in the zip is damaged") from error
