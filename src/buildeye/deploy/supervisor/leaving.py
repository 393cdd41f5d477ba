"""What goes for good: a service that a person stops, and the run folders of versions that ended long ago."""

import contextlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from buildeye.deploy.processes.launch import is_free
from buildeye.deploy.states import TERMINAL, Happening
from buildeye.deploy.supervisor.ground import Ground
from buildeye.deploy.supervisor.plan import Roles

STOP: Final = "stop"
"""The event that says that a person stopped the service while this deployment served."""
_RUNS_KEPT: Final = 20
"""Folders of runs that stay of a version that is started again and again."""
_ABORT_TIMES: Final = 20
"""How often a deployment that moves on by itself is aborted anew before a person is told to try again."""
_DEPLOYMENT: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
"""The names of folders that may be deleted: the ids that `asking.start` gives."""


async def stop_service(service: Ground, by: str, why: str) -> tuple[bool, str]:
    """End a service: nothing of it is on its way, watched or in service any more, so all its processes are ended.

    Written in the journal first; a supervisor that is killed meanwhile is followed by one that ends them.
    """
    reason = f"the service is stopped{f': {why}' if why else ''}"
    async with service.switching:
        for _ in range(_ABORT_TIMES):
            moving = [each for each in await service.known() if each.state not in TERMINAL]
            if not moving:
                break
            for each in moving:
                await service.move(each, Happening.ABORT, reason, by)
        else:
            return False, "its deployments move on in this moment; try again"
        row = await service.row()
        serving = await service.read(row.in_service) if row.in_service else None
        if serving is not None:
            await service.note(serving, STOP, reason, by=by)
            await service.world.ask(service.world.journal.set_in_service, service.fence, service.name, "")
    service.changed.ring()
    return True, "is being stopped"


async def rests(service: Ground) -> bool:
    """Whether nothing of a service serves, lives, or is still to happen: then nobody need hold its sockets."""
    if service.versions.live or service.busy or (await service.row()).in_service:
        return False
    return all(each.state in TERMINAL for each in await service.known())


async def forget_old_runs(service: Ground, now: Roles) -> None:
    """Delete the run folders of versions that ended, but for the newest `retain` of them.

    The folder of a version that serves, is kept warm or is on its way stays, and one in which a keeper still lives.
    """
    known = await service.known()
    if not known:
        return
    retain = service.spec_of(known[0]).retain
    busy = now.kept() | service.versions.live.keys() | {each.id for each in known if each.state not in TERMINAL}
    newest_first = [each.id for each in known]
    await service.world.away(_delete, service.world.folder(service.name), busy, newest_first, retain)


def _delete(root: Path, busy: frozenset[str], newest_first: Sequence[str], retain: int) -> None:
    if not root.is_dir():
        return
    names = {each.name for each in root.iterdir() if _DEPLOYMENT.fullmatch(each.name)}
    # A name tells its second only; those that are not among the newest are older than these, whatever their names.
    ended = [name for name in newest_first if name in names]
    ended += sorted(names.difference(ended), reverse=True)
    for folder in [root / name for name in ended if name not in busy][retain:]:
        if all(is_free(run) for run in folder.glob("run-*")):
            with contextlib.suppress(OSError):
                shutil.rmtree(folder)
    for name in busy:
        for run in _numbered(root / name)[:-_RUNS_KEPT]:
            if is_free(run):
                with contextlib.suppress(OSError):
                    shutil.rmtree(run)


def _numbered(folder: Path) -> list[Path]:
    """The folders of a version's runs, in order."""
    runs = [each for each in folder.glob("run-*") if each.name.removeprefix("run-").isdigit()]
    return sorted(runs, key=lambda run: int(run.name.removeprefix("run-")))
