"""The command line: one module a group of commands; parses, calls, prints, and holds no logic.

Exit codes: 0 done, 1 the thing asked about is bad, 2 wrong use or configuration, 3 an outside system failed.
"""

import os
import sys


def main() -> None:
    """Run `build-eye`; every error becomes one sentence and a documented exit code."""
    from buildeye.cli.app import app
    from buildeye.model.errors import EXIT_OUTSIDE, BuildEyeError

    debug = bool(os.environ.get("BUILD_EYE_DEBUG"))
    try:
        app()
    except BuildEyeError as e:
        _say(str(e))
        sys.exit(e.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except KeyboardInterrupt:
        _say("stopped")
        sys.exit(130)
    except Exception as e:  # the last door: a traceback must not reach a user
        if debug:
            raise
        _say(f"a bug in build-eye: {type(e).__name__}; run it again with BUILD_EYE_DEBUG=1 and report what it prints")
        sys.exit(EXIT_OUTSIDE)


def _say(message: str) -> None:
    print(f"build-eye: {message}", file=sys.stderr)  # noqa: T201 - this is the program's voice
