"""Compressed or wide bytes as a stream of UTF-8 chunks, none larger than a few megabytes whatever the ratio.

Nothing here trusts its input: data that ends or breaks early gives out what could be read and then raises `CutOff`.
"""

import codecs
import itertools
import re
import zlib
from collections.abc import Callable, Iterator

from buildeye.model import UsageError

MIB = 1024 * 1024
CHUNK = MIB
ZSTD_MAX_WINDOW = 64 * MIB
"""Bytes that a zstd frame may need in memory to unpack."""

Reader = Callable[[int], bytes]
"""`read(count)`: up to `count` bytes, empty at the end."""

_GZIP_CHUNK = 64 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_WIDE = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class CutOff(Exception):
    """Compressed data that ends or breaks early; everything before it has been given out."""


def is_gzip(head: bytes) -> bool:
    """Whether a log with these first bytes is gzip data."""
    return head.startswith(_GZIP)


def is_zstd(head: bytes) -> bool:
    """Whether a log with these first bytes is zstd data."""
    return head.startswith(_ZSTD) or bool(_SKIPPABLE.match(head))


def is_wide(head: bytes) -> bool:
    """Whether a log with these first bytes is UTF-16 or UTF-32 with a byte order mark."""
    return any(head.startswith(mark) for mark, _ in _WIDE)


def as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same text as UTF-8 when a byte order mark says that it is UTF-16 or UTF-32, else unchanged."""
    first = b""
    cut_off: CutOff | None = None
    try:
        while len(first) < 4 and (chunk := next(chunks, None)) is not None:
            first += chunk
    except CutOff as error:
        cut_off = error
    codec = next((codec for mark, codec in _WIDE if first.startswith(mark)), None)
    if codec is None:
        yield first
        yield from chunks
    else:
        decoder = codecs.getincrementaldecoder(codec)(errors="replace")
        try:
            for chunk in itertools.chain([first], chunks):
                yield decoder.decode(chunk).encode("utf-8", "replace")
        except CutOff as error:
            cut_off = error
        yield decoder.decode(b"", final=True).encode("utf-8", "replace")
    if cut_off:
        raise cut_off


def gunzip(read: Reader) -> Iterator[bytes]:
    """Members one after another, at most a chunk at a time whatever the ratio."""
    data = read(_GZIP_CHUNK)
    while data:
        if not data.startswith(_GZIP[: len(data)]):
            if data.strip(b"\0"):
                raise CutOff("other bytes follow the gzip data")
            data = read(_GZIP_CHUNK)
            continue
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            before = member.copy()
            try:
                chunk = member.decompress(data, CHUNK)
            except zlib.error as error:
                yield from _until_broken(before, data)
                raise CutOff("the gzip data is damaged") from error
            yield chunk
            data = member.unconsumed_tail
            if not (data or member.eof or len(chunk) == CHUNK or (data := read(_GZIP_CHUNK))):
                raise CutOff("the gzip data is cut off")
        data = (member.unused_data or read(_GZIP_CHUNK)).lstrip(b"\0") or read(_GZIP_CHUNK)


def _until_broken(member: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """What can be had from data that is known to be damaged: byte by byte until it breaks."""
    for index in range(len(data)):
        try:
            yield member.decompress(data[index : index + 1])
        except zlib.error:
            return


def unzstd(name: str, read: Reader) -> Iterator[bytes]:
    """Frames block by block: a block is at most 128 KiB, so no ratio can fill the memory, and an early end shows."""
    import zstandard

    while head := exactly(read, 4):
        if _SKIPPABLE.match(head):
            _skip_frame(read)
            continue
        if head != _ZSTD:
            raise CutOff("other bytes follow the zstd data")
        head += _needed(read, 1)
        try:
            head += _needed(read, zstandard.frame_header_size(head + bytes(14)) - len(head))
            frame = zstandard.get_frame_parameters(head)
            if frame.window_size > ZSTD_MAX_WINDOW:
                raise UsageError(f"{name}: needs more than 64 MiB to unpack; pack it with zstd -19 or lower")
            unpack = zstandard.ZstdDecompressor(max_window_size=ZSTD_MAX_WINDOW).decompressobj()
            yield unpack.decompress(head)
            last = False
            while not last:
                block = _needed(read, 3)
                word = int.from_bytes(block, "little")
                last, kind, count = bool(word & 1), word >> 1 & 3, word >> 3
                block += _needed(read, 1 if kind == 1 else min(count, 128 * 1024))
                yield unpack.decompress(block + (_needed(read, 4) if last and frame.has_checksum else b""))
        except zstandard.ZstdError as error:
            raise CutOff("the zstd data is damaged") from error


def _skip_frame(read: Reader) -> None:
    left = int.from_bytes(_needed(read, 4), "little")
    while left:
        left -= len(_needed(read, min(left, CHUNK)))


def _needed(read: Reader, count: int) -> bytes:
    data = exactly(read, count)
    if len(data) < count:
        raise CutOff("the zstd data is cut off")
    return data


def exactly(read: Reader, count: int) -> bytes:
    """`count` bytes, or fewer at the end of the input."""
    parts = b""
    while len(parts) < count and (part := read(count - len(parts))):
        parts += part
    return parts
