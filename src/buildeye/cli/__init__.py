"""The command line: one module a group of commands; parses, calls, prints, and holds no logic.

Exit codes: 0 done, 1 the thing asked about is bad, 2 wrong use or configuration, 3 an outside system failed.
"""

import io
import os
import sys
from pathlib import Path


def main() -> None:
    """Run `build-eye`; every error becomes one sentence and a documented exit code."""
    from buildeye.cli.app import app
    from buildeye.cli.voice import sentence
    from buildeye.model.errors import EXIT_OUTSIDE, BuildEyeError

    debug = bool(os.environ.get("BUILD_EYE_DEBUG"))
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - open for as long as the process lives
    if sys.stdout is None:
        _say("standard output is closed; there is nowhere to answer to")
        sys.exit(EXIT_OUTSIDE)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character must not end the answer
    try:
        app(prog_name="build-eye")
    except BuildEyeError as e:
        _say(sentence(e))
        sys.exit(e.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        _say("stopped")
        sys.exit(130)
    except OSError as e:
        if debug:
            raise
        _say(sentence(e))
        sys.exit(EXIT_OUTSIDE)
    except Exception as e:  # the last door: a traceback must not reach a user
        if debug:
            raise
        _say(sentence(e))
        sys.exit(EXIT_OUTSIDE)


def _say(message: str) -> None:
    print(f"build-eye: {message}", file=sys.stderr)  # noqa: T201 - this is the program's voice
