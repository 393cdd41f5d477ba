"""`build-eye` in this process, as its entry point runs it: arguments in; exit code, output and errors out."""

import io
import sys
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from buildeye.cli import main


@dataclass(frozen=True)
class Answer:
    """How one run of the program ended and what it said."""

    code: int
    out: str
    err: str


def build_eye(*arguments: str, stdin: bytes = b"") -> Answer:
    """Run `build-eye ARGUMENTS` with standard streams of its own."""
    out, err = io.BytesIO(), io.BytesIO()
    code: object = 0
    streams: dict[str, Any] = {
        "stdin": io.TextIOWrapper(io.BytesIO(stdin)),
        "stdout": io.TextIOWrapper(out, encoding="utf-8", write_through=True),
        "stderr": io.TextIOWrapper(err, encoding="utf-8", write_through=True),
        "argv": ["build-eye", *arguments],
    }
    with patch.multiple(sys, **streams):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert isinstance(code, int)
    return Answer(code, out.getvalue().decode(), err.getvalue().decode())
