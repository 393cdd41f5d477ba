"""A supervisor as a process of its own, with a short lease, that a test freezes and wakes.

Run as `python -m benchmarks.deploying.alone DSN RUN_ROOT LOG LEASE_SECONDS [BOUNDARY]`. At its first BOUNDARY it stops
itself with SIGSTOP, as a machine that hangs would; SIGCONT wakes it.
"""

import os
import signal
import sys
from pathlib import Path

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import open_journal
from buildeye.deploy.supervisor.running import supervise
from buildeye.model.deployments import Deployment


def main() -> None:
    """Supervise until SIGTERM."""
    dsn, run_root, path, lease = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4])
    stops_at = [*sys.argv[5:6]]

    def log(sentence: str) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{sentence}\n")

    def tell(deployment: Deployment, headline: str) -> list[str]:
        log(f"told of {deployment.version}: {deployment.state}: {headline}")
        return []

    def boundary(name: str) -> None:
        if name in stops_at:
            stops_at.remove(name)
            os.kill(os.getpid(), signal.SIGSTOP)

    supervise(open_journal(dsn), run_root, os.environ, Clock(), tell, log, None, boundary, lease)


if __name__ == "__main__":
    main()
