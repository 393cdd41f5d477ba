"""The JSON files between stages: read with an error that names the missing field, written whole or not at all."""

import gzip
import json
import os
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from buildeye.model import OutsideError, UsageError

T = TypeVar("T")


def read_items(path: Path, list_key: str, stage: str) -> list[Any]:
    """The objects of a stage file: a JSON list, an object that holds the list under `list_key`, or one object a line.

    `.gz` is read as it is. Raises UsageError that names the file and what is wrong with it; `stage` says what made it.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except FileNotFoundError as e:
        raise UsageError(f"{path}: no such file; it is what `build-eye {stage}` writes") from e
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as e:
        reason = getattr(e, "strerror", None) or e
        raise UsageError(f"{path}: cannot be read as text ({reason}); it is what `build-eye {stage}` writes") from e
    try:
        data = json.loads(text)
    except RecursionError as e:
        raise UsageError(f"{path}: lists in it are nested too deep; expected what `build-eye {stage}` writes") from e
    except ValueError as first:
        data = _lines(path, text, first, stage)
    if isinstance(data, dict):
        if list_key in data:
            data = data[list_key]
        elif _is_item(data):
            data = [data]
        else:
            raise UsageError(f"{path}: field {list_key!r} is missing; expected what `build-eye {stage}` writes")
    if not isinstance(data, list):
        raise UsageError(f"{path}: {list_key!r} is no list; expected what `build-eye {stage}` writes")
    return data


def _is_item(data: dict[str, Any]) -> bool:
    return "run_id" in data or "workflow_run_id" in data


def _lines(path: Path, text: str, first: ValueError, stage: str) -> list[Any]:
    rows = [line for line in text.split("\n") if line.strip()]
    try:
        if len(rows) > 1:
            return [json.loads(row) for row in rows]
    except ValueError as e:
        raise UsageError(f"{path}: not JSON ({e}); expected what `build-eye {stage}` writes") from e
    raise UsageError(f"{path}: not JSON ({first}); expected what `build-eye {stage}` writes") from first


def parse(adapter: TypeAdapter[T], item: Any, path: Path, index: int, stage: str) -> T:
    """Check one object of a stage file; the error says which field is missing or wrong, in which item."""
    try:
        return adapter.validate_python(item)
    except ValidationError as e:
        problem = e.errors()[0]
        field = ".".join(str(part) for part in problem["loc"]) or "the whole item"
        what = "is missing" if problem["type"] == "missing" else f"is wrong ({problem['msg']})"
        raise UsageError(
            f"{path}: item {index + 1}: field {field!r} {what}; expected what `build-eye {stage}` writes"
        ) from e


def write_json(path: Path, data: Any) -> None:
    """Write a stage file: complete and on disk before it takes the place of what was there."""
    part: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as f:
            part = Path(f.name)
            json.dump(data, f, ensure_ascii=False, indent=1)
            f.write("\n")
            f.flush()
            os.fsync(f.fileno())
        part.chmod(0o644)
        part.replace(path)
    except OSError as e:
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        raise OutsideError(f"{path}: cannot be written ({e.strerror}); choose another place with --output") from e
