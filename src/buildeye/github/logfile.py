"""A job's log from the network onto the disk: compressed while it arrives, and there whole or not at all."""

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import zstandard

from buildeye.model import OutsideError

LEVEL = 6  # logs shrink about 15-fold; higher levels cost time and save little


def log_path(folder: Path, job_id: int) -> Path:
    """Where a job's log is kept. A job's id belongs to one attempt, so its log never changes."""
    return folder / f"{job_id}.log.zst"


def write_compressed(chunks: Iterable[bytes], target: Path) -> int:
    """Write `chunks` to `target` as zstandard and give the file's size in bytes.

    The file appears under its name only when complete; whatever `chunks` raises leaves nothing behind.
    OutsideError: the disk refuses.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise _unwritable(target, error) from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
            for chunk in chunks:
                file.write(compressor.compress(chunk))
            file.write(compressor.flush())
        size = part.stat().st_size
        part.replace(target)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
    return size


def _unwritable(target: Path, error: OSError) -> OutsideError:
    return OutsideError(f"the log {target} cannot be written: {error.strerror}; free or mend storage.data_dir")
