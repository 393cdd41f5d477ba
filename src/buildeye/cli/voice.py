"""What the program says of its own work: warnings and progress, as the `logging` settings want it."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from buildeye.config import Settings

_LOGGER = logging.getLogger("buildeye")


class _Plain(logging.Formatter):
    """Lines for people: `build-eye: warning: …`; what only tells progress stands alone."""

    def format(self, record: logging.LogRecord) -> str:
        if record.levelno <= logging.INFO:
            return record.getMessage()
        return f"build-eye: {record.levelname.lower()}: {record.getMessage()}"


class _Json(logging.Formatter):
    """One JSON object a line, for collectors: time in seconds since 1970, level, message."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({"time": record.created, "level": record.levelname.lower(), "message": record.getMessage()})


class _Timed(_Plain):
    """The same with the time before, for a process that lives long."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%SZ} {super().format(record)}"


def listen(settings: "Settings | None" = None, *, times: bool = False) -> None:
    """Send what is said to where `logging` says: standard error, or its file; raises UsageError when that cannot be.

    With `times` each plain line begins with the time, in UTC.
    """
    from buildeye.model import UsageError

    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    wanted = settings.logging if settings else None
    if wanted and wanted.file:
        try:
            wanted.file.parent.mkdir(parents=True, exist_ok=True)
            handler = logging.FileHandler(wanted.file, encoding="utf-8")
        except OSError as e:
            raise UsageError(f"logging.file {wanted.file} cannot be written ({e.strerror}); give another file") from e
    plain = _Timed() if times else _Plain()
    handler.setFormatter(_Json() if wanted and wanted.format == "json" else plain)
    for old in _LOGGER.handlers[:]:
        _LOGGER.removeHandler(old)
        old.close()
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel((wanted.level if wanted else "info").upper())
    _LOGGER.propagate = False


def warn(message: str) -> None:
    """Tell the user what is not as it should be, and go on."""
    _LOGGER.warning(message)


def complain(message: str) -> None:
    """Tell the user what failed, and go on."""
    _LOGGER.error(message)


def sentence(error: Exception) -> str:
    """An error as one sentence for people; a traceback is none."""
    from buildeye.model import BuildEyeError

    if isinstance(error, BuildEyeError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'standard output'}: {error.strerror or error}; check its rights and free space"
    return f"a bug in build-eye: {type(error).__name__}; run it again with BUILD_EYE_DEBUG=1 and report what it prints"


def tell(message: str) -> None:
    """Tell how far a long stage is."""
    _LOGGER.info(message)
