"""How a command ended and what it said last, in words for people."""

import os
import signal
from typing import IO, Final

from buildeye.logs.secrets import mask, strip_controls

_LAST_BYTES: Final = 4096
_MOST_CHARACTERS: Final = 300


def last_line(output: bytes) -> str:
    """The last line that is not empty, without control characters and secrets, of at most 300 characters."""
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return mask(strip_controls(lines[-1])).strip()[:_MOST_CHARACTERS] if lines else ""


def last_line_of(output: IO[bytes]) -> str:
    """The same of a file a command wrote to; only its end is read."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - _LAST_BYTES))
    return last_line(output.read())


def how_it_ended(name: str, code: int, line: str) -> str:
    """`NAME ended with 3: LINE`, or by which signal; codes below 0 are signals, as subprocess gives them."""
    ended = f"ended with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"
    return f"{name} {ended}: {line or 'it said nothing'}"
