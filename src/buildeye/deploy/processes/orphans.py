"""Find processes of ours by what they carry in their environment: what a lost run file would hide."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from buildeye.deploy.processes.identity import Identity, boot_id
from buildeye.deploy.processes.proctable import KEEPER, NONCE, RUN, SLOT, Entry, entry_of, environment_of

_KERNEL: Final = 2  # kthreadd, the parent of kernel threads
_LOOKS: Final = 4
_LOOK_SECONDS: Final = 0.001


@dataclass(frozen=True, slots=True)
class Found:
    """A living process of some run; `keeper` where it is the keeper and not the version. `slot` None: not known."""

    identity: Identity
    run_folder: Path
    keeper: bool
    slot: int | None = None


def find(run_root: Path, nonce: str | None = None) -> list[Found]:
    """Living processes of this user started for a run under `run_root` (of one nonce, if given), oldest first.

    Processes that wiped their environment are not seen here; those their keeper ends.
    """
    root = run_root.resolve()
    found: list[tuple[int, Found]] = []
    for entry, environment in _environments():
        carried, folder = environment.get(NONCE), environment.get(RUN)
        if not carried or not folder or not Path(folder).is_relative_to(root):
            continue
        if nonce is None or carried == nonce:
            identity = Identity(entry.pid, entry.start_time, boot_id(), carried)
            slot = environment.get(SLOT, "")
            number = int(slot) if slot.isdecimal() else None
            found.append((entry.start_time, Found(identity, Path(folder), KEEPER in environment, number)))
    return [each for _, each in sorted(found, key=lambda pair: (pair[0], pair[1].identity.pid))]


def _environments() -> Iterator[tuple[Entry, dict[str, str]]]:
    """Living processes and their environments; one caught in the midst of exec is looked at again."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]  # noqa: PTH208
    for look in range(_LOOKS):
        blank: list[int] = []
        for pid in pids:
            entry = entry_of(pid)
            if entry is None or not entry.alive or _KERNEL in (pid, entry.parent):
                continue
            environment = environment_of(pid)
            if environment is None:
                blank.append(pid)
            else:
                yield entry, environment
        pids = blank
        if not pids:
            return
        if look + 1 < _LOOKS:
            time.sleep(_LOOK_SECONDS)
