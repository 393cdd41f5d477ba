"""Supervisors that start within milliseconds and are killed: one process that has imported everything forks each.

Run as `python -m benchmarks.deploying.forker DSN RUN_ROOT`. A line on standard input forks a supervisor: `N` ends it
with SIGKILL at its Nth boundary, names (`stopping,stopped`) at the first boundary of such a name, `0` lets it live. It
answers with the child's pid, and with `ended` once it has. The end of standard input ends it.
"""

import ctypes
import os
import signal
import sys
from pathlib import Path

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import open_journal
from buildeye.deploy.supervisor.running import supervise
from buildeye.model.deployments import Deployment

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def main() -> None:
    """Fork on command."""
    dsn, run_root = sys.argv[1], Path(sys.argv[2])
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if child == 0:
            _supervise(dsn, run_root, line.strip())
            os._exit(0)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


def _supervise(dsn: str, run_root: Path, at: str) -> None:
    passed, wanted = 0, set(at.split(","))

    def boundary(name: str) -> None:
        nonlocal passed
        passed += 1
        if wanted & {str(passed), name}:
            with (run_root / "killed-at").open("a") as file:
                file.write(f"{name}\n")
            os.kill(os.getpid(), signal.SIGKILL)

    def log(sentence: str) -> None:
        with (run_root / "supervisor.log").open("a") as file:
            file.write(f"{sentence}\n")

    os.setsid()
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    supervise(open_journal(dsn), run_root, os.environ, Clock(), _tell, log, None, boundary)


def _tell(deployment: Deployment, headline: str) -> list[str]:
    del deployment, headline
    return []


if __name__ == "__main__":
    main()
