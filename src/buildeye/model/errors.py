"""Errors that are for people: one sentence that says what happened, where, and what to do."""

EXIT_DONE = 0
EXIT_BAD = 1
EXIT_USAGE = 2
EXIT_OUTSIDE = 3


class BuildEyeError(Exception):
    """An error to show a user as `build-eye: <message>`, never as a traceback.

    `exit_code` is what the process ends with: 2 for wrong use or configuration, 3 when an outside system failed.
    """

    exit_code = EXIT_OUTSIDE


class UsageError(BuildEyeError):
    """Wrong use or configuration: an option, a file, a value (exit 2)."""

    exit_code = EXIT_USAGE


class OutsideError(BuildEyeError):
    """A system outside failed: GitHub, a ClickHouse server, git, the disk (exit 3)."""

    exit_code = EXIT_OUTSIDE
