"""A supervisor as a process of its own: `python -m benchmarks.deploying.supervising DSN RUN_ROOT`."""

import os
import sys
from pathlib import Path

from buildeye.deploy.clock import Clock
from buildeye.deploy.journal import open_journal
from buildeye.deploy.supervisor.running import supervise
from buildeye.model.deployments import Deployment


def main(dsn: str, run_root: Path) -> None:
    """Supervise until SIGTERM; what it says goes to supervisor.log in the run root."""
    run_root.mkdir(parents=True, exist_ok=True)
    with (run_root / "supervisor.log").open("a", buffering=1) as file:
        supervise(open_journal(dsn), run_root, os.environ, Clock(), _tell, lambda said: print(said, file=file))


def _tell(deployment: Deployment, headline: str) -> list[str]:
    del deployment, headline
    return []


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
