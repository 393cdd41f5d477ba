"""Artifacts of runs: what GitHub says of them, and their zip on the disk, whole or not at all."""

import hashlib
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from buildeye.github.convert import Fields
from buildeye.model import OutsideError


@dataclass(frozen=True, slots=True)
class Artifact:
    """One artifact of a run, of whichever attempt; `digest` is `sha256:HEX`, empty for those of old upload actions."""

    id: int
    name: str
    run_id: int
    size_bytes: int
    created_at: datetime | None = None
    expired: bool = False
    digest: str = ""


def artifact_from(data: object) -> Artifact:
    """An artifact from GitHub's JSON. `run_id` is 0 when GitHub names no run."""
    fields = Fields(data, "an artifact")
    return Artifact(
        id=fields.number("id"),
        name=fields.text("name"),
        run_id=fields.within("workflow_run").number("id", 0),
        size_bytes=fields.number("size_in_bytes", 0),
        created_at=fields.time("created_at"),
        expired=fields.value("expired") is True,
        digest=fields.text("digest", optional=True),
    )


def save(chunks: Iterable[bytes], artifact: Artifact, into: Path) -> Path:
    """Write `chunks` to `into/ID.zip`; the file is there whole or not at all.

    OutsideError: the disk refuses, or the bytes are not those GitHub gave the digest of.
    """
    target = into / f"{artifact.id}.zip"
    part: Path | None = None
    digest = hashlib.sha256()
    try:
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=into, prefix=f".{target.name}.", suffix=".part", delete=False) as file:
            part = Path(file.name)
            for chunk in chunks:
                digest.update(chunk)
                file.write(chunk)
        if artifact.digest.startswith("sha256:") and artifact.digest != f"sha256:{digest.hexdigest()}":
            raise OutsideError(f"artifact {artifact.name} of run {artifact.run_id} came damaged; try again")
        part.replace(target)
    except OSError as error:
        raise OutsideError(
            f"the artifact {target} cannot be written: {error.strerror}; free or mend storage.data_dir"
        ) from error
    finally:
        if part is not None:
            with suppress(FileNotFoundError):
                part.unlink()
    return target
