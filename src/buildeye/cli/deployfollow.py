"""What happens to deployments, shown line by line as it happens."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import typer

from buildeye.cli.deployface import event_line
from buildeye.cli.terminal import Look
from buildeye.deploy.asking import follow, follow_service
from buildeye.deploy.journal import Journal
from buildeye.deploy.supervisor.running import LOG, supervisor_pid
from buildeye.model import OutsideError
from buildeye.model.deployments import DeployEvent, Deployment

_UNSHOWN: Final = frozenset({"create", "told", "schema"})
"""Events that are notes of the supervisor to itself."""
_ALONE_SECONDS: Final = 30.0
"""True seconds without a supervisor, after which a client no longer waits for one."""


def show(event: DeployEvent, deployment: Deployment, look: Look) -> None:
    """Print a step of a deployment, unless it says nothing to people."""
    if event.event not in _UNSHOWN:
        typer.echo(event_line(event, deployment, look))


def show_deployment(
    journal: Journal,
    deployment: Deployment,
    until: Callable[[Deployment], bool],
    look: Look | None,
    run_root: Path,
    after: int = 0,
) -> Deployment:
    """Show what happens to a deployment (nothing without a look) until it is what is waited for; what it is then.

    OutsideError: nobody has supervised it for half a minute.
    """
    alone = 0.0
    for event in follow(journal, deployment.id, until, after):
        if event is not None:
            alone = 0.0
            if look is not None:
                show(event, journal.deployment(deployment.id) or deployment, look)
        elif journal.held_by(deployment.service) is not None:
            alone = 0.0
        elif not alone:
            alone = time.monotonic()
        elif time.monotonic() - alone > _ALONE_SECONDS:
            raise OutsideError(
                f"nobody supervises {deployment.service}, so {deployment.version} goes no further: see "
                f"{run_root / LOG}, then `build-eye deploy watch {deployment.service}`"
            )
    return journal.deployment(deployment.id) or deployment


def show_service(journal: Journal, service: str, run_root: Path, look: Look) -> None:
    """Show what another supervisor does with a service, until that one is gone."""
    for step in follow_service(journal, service):
        if step is not None:
            show(*step, look)
        elif journal.held_by(service) is None and supervisor_pid(run_root) is None:
            return


@contextmanager
def ends_quietly() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block, and that is no failure."""

    def end(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)
