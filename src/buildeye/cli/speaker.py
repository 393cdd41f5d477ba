"""Who speaks when nobody said: the actor of a workflow, else who commits here, else who is logged in."""

import getpass
import subprocess
from collections.abc import Mapping

from buildeye.model import UsageError


def speaker(environ: Mapping[str, str]) -> str:
    """The name to put to a person's verdict. UsageError when none can be found."""
    name = environ.get("GITHUB_ACTOR", "") or _committer() or _login()
    if not name.strip():
        raise UsageError("who says so is not known here; give --by WHO")
    return " ".join(name.split())


def _committer() -> str:
    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
