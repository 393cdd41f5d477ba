"""The peers' environment: `.cache/bench-venv`, made from the pinned versions of peers.txt, a section a peer.

A peer that cannot be installed is told of and left out; the benchmark goes on with the others.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PINNED = HERE / "peers.txt"
VENV = HERE.parent / ".cache" / "bench-venv"
_SECTION = re.compile(r"^# == (\S+)$", re.MULTILINE)


def python() -> str:
    """The interpreter of the peers."""
    return str(VENV / "bin" / "python")


LEARNERS = ("scikit-learn",)
"""Sections that are no peers: what `make likeness` needs."""


def install(only: Sequence[str] = ()) -> dict[str, str]:
    """Install the peers, or `only` what is named, where missing; returns why for each that cannot be had."""
    if not Path(python()).exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True, stdout=subprocess.DEVNULL)
    wanted = {name: pins for name, pins in sections().items() if (name in only if only else name not in LEARNERS)}
    return {name: why for name, pins in wanted.items() if (why := _install(name, pins))}


def sections() -> dict[str, str]:
    """Pinned requirements by peer."""
    parts = _SECTION.split(PINNED.read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _install(name: str, pins: str) -> str:
    done = VENV / f"{name}.installed"
    if done.exists() and done.read_text(encoding="utf-8") == pins:
        return ""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        f.write(pins)
        f.flush()
        pip = [python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        run = subprocess.run([*pip, "-r", f.name], capture_output=True, text=True)
    if run.returncode:
        return next((line for line in run.stderr.splitlines()[::-1] if line.startswith("ERROR")), "pip failed")
    done.write_text(pins, encoding="utf-8")
    return ""


def ripgreps() -> list[str]:
    """Every ripgrep there is: the pinned one, and the system's."""
    found = [str(VENV / "bin" / "rg"), shutil.which("rg") or ""]
    return [path for path in found if path and Path(path).exists()]
