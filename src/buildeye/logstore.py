"""The log archive: logs of jobs as zstandard files in a folder or an S3 bucket, each there whole or not at all.

A log is compressed while it arrives and never held in memory. In a folder it is on disk when `keep` returns; from a
bucket it is fetched into a folder of this machine before it is read.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard

from buildeye.model import OutsideError, UsageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

LEVEL = 6  # logs shrink about 15-fold; higher levels cost time and save little
PIECE = 1 << 20  # bytes fetched at once
PACKED = 1 << 14  # compressed bytes read at once; they may be a thousand times as many


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A log in the archive: `size_bytes` and `sha256` (hexadecimal) of its raw bytes."""

    place: str
    size_bytes: int
    sha256: str


class LogStore:
    """Keeps logs under names such as `owner/repo/2026-11-30/123.log.zst`. Safe to use from several threads.

    `folder` is where the store's files are when it is a folder; `cache` where files of a bucket are fetched to.
    """

    def __init__(self, store: "ObjectStore", shown: str, folder: Path | None, cache: Path) -> None:
        self._store = store
        self._shown = shown
        self._folder = folder
        self._cache = cache

    def keep(self, place: str, chunks: Iterable[bytes]) -> KeptFile:
        """Write a log; what is there under its name is replaced. Whatever `chunks` raises leaves nothing behind.

        OutsideError: the disk or the bucket refuses.
        """
        import obstore

        pressed = _Pressed(chunks)
        self._clear_leftovers(place)
        try:
            obstore.put(self._store, place, pressed)
        except Exception as error:  # noqa: BLE001 - whatever it is, the archive does not have the log
            if pressed.failure is not None:
                raise pressed.failure from None
            raise self._failed(f"the log {place} cannot be kept", error) from None
        self._settle(place)
        return KeptFile(place, pressed.size, pressed.digest.hexdigest())

    def find(self, place: str) -> KeptFile | None:
        """A log that is here already, read through to know its size and digest; None when it is not, or is broken."""
        try:
            with self.local(place).open("rb") as file:
                size, digest = 0, hashlib.sha256()
                unpack = zstandard.ZstdDecompressor().decompressobj()
                while packed := file.read(PACKED):
                    piece = unpack.decompress(packed)
                    size += len(piece)
                    digest.update(piece)
        except (FileNotFoundError, zstandard.ZstdError):
            return None
        return KeptFile(place, size, digest.hexdigest()) if unpack.eof else None

    def local(self, place: str) -> Path:
        """The file of a log on this machine. FileNotFoundError: there is none; OutsideError: the bucket fails."""
        path = (self._folder or self._cache) / place
        if self._folder is None and not path.exists():
            self._fetch(place, path)
        if not path.exists():
            raise FileNotFoundError(place)
        return path

    def forget(self, repository: str, before: date) -> int:
        """Remove a repository's logs of days before `before` from this machine; gives how many days.

        A bucket is left alone: its own lifecycle rules do that.
        """
        days = [
            folder
            for root in (self._folder, self._cache)
            if root is not None
            for folder in (root / repository).glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]")
            if folder.name < before.isoformat()
        ]
        for folder in days:
            shutil.rmtree(folder, ignore_errors=True)
        return len(days)

    def _fetch(self, place: str, path: Path) -> None:
        import obstore

        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            answer = obstore.get(self._store, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                for piece in answer.stream(min_chunk_size=PIECE):
                    file.write(piece)
            part.replace(path)
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the log is not here
            raise self._failed(f"the log {place} cannot be fetched", error) from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)

    def _clear_leftovers(self, place: str) -> None:
        """Remove what a process that was killed while it wrote this log has left (`NAME#1`)."""
        if self._folder is None:
            return
        path = self._folder / place
        with suppress(OSError):
            for leftover in path.parent.glob(f"{path.name}#*"):
                leftover.unlink()

    def _settle(self, place: str) -> None:
        """Have the file and its name on disk, not only on their way to it."""
        if self._folder is None:
            return
        path = self._folder / place
        try:
            for each in (path, path.parent):
                handle = os.open(each, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)
        except OSError as error:
            raise self._failed(f"the log {place} cannot be kept", error) from None

    def _failed(self, what: str, error: Exception) -> OutsideError:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return OutsideError(f"{what} in {self._shown}: {reason}; free or mend storage.log_store")


class _Pressed:
    """Compressed pieces of a log as they are made; remembers what the raw bytes were and why the log ended early."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.size = 0
        self.digest = hashlib.sha256()
        self.failure: BaseException | None = None

    def __iter__(self) -> Iterator[bytes]:
        press = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
        try:
            for chunk in self._chunks:
                self.size += len(chunk)
                self.digest.update(chunk)
                if piece := press.compress(chunk):
                    yield piece
        except BaseException as failure:
            self.failure = failure
            raise
        yield press.flush()


def open_log_store(address: str, data_dir: Path) -> LogStore:
    """The archive at `address`: `s3://BUCKET/PREFIX`, a folder, or (empty) the folder `logs` below `data_dir`.

    Credentials and region of a bucket come from the environment (AWS_ACCESS_KEY_ID, AWS_REGION ...), never from an
    address. UsageError: the address is wrong. OutsideError: the folder cannot be made.
    """
    from obstore.exceptions import BaseError
    from obstore.store import LocalStore, S3Store

    cache = data_dir / "log-cache"
    if address.startswith("s3://"):
        try:
            return LogStore(S3Store.from_url(address), address, None, cache)
        except (OSError, ValueError, BaseError) as error:
            raise UsageError(
                f"storage.log_store {address} cannot be used ({type(error).__name__}); write s3://BUCKET/PREFIX and "
                "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION"
            ) from None
    folder = Path(address).absolute() if address else (data_dir / "logs").absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return LogStore(LocalStore(folder), str(folder), folder, cache)
    except OSError as error:
        raise OutsideError(
            f"the log folder {folder} cannot be made: {error.strerror}; mend storage.log_store or storage.data_dir"
        ) from None
