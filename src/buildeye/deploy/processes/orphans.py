"""Find processes of ours by what they carry in their environment: what a lost run file would hide."""

import os
from dataclasses import dataclass
from pathlib import Path

from buildeye.deploy.processes.identity import Identity, boot_id
from buildeye.deploy.processes.proctable import KEEPER, NONCE, RUN, entry_of, environment_of


@dataclass(frozen=True, slots=True)
class Found:
    """A living process of some run; `keeper` where it is the keeper and not the version."""

    identity: Identity
    run_folder: Path
    keeper: bool


def find(run_root: Path, nonce: str | None = None) -> list[Found]:
    """Living processes of this user started for a run under `run_root` (of one nonce, if given), oldest first.

    Processes that wiped their environment are not seen here; those their keeper ends.
    """
    root = run_root.resolve()
    found: list[tuple[int, Found]] = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdigit() or int(name) == os.getpid():
            continue
        entry = entry_of(int(name))
        environment = environment_of(int(name)) if entry is not None and entry.alive else {}
        carried, folder = environment.get(NONCE), environment.get(RUN)
        if entry is None or not carried or not folder or not Path(folder).is_relative_to(root):
            continue
        if nonce is None or carried == nonce:
            identity = Identity(entry.pid, entry.start_time, boot_id(), carried)
            found.append((entry.start_time, Found(identity, Path(folder), KEEPER in environment)))
    return [each for _, each in sorted(found, key=lambda pair: (pair[0], pair[1].identity.pid))]
