"""Which process is meant: more than a pid, since pids are given anew."""

import os
from dataclasses import dataclass

from buildeye.deploy.clock import boot_id
from buildeye.deploy.processes.proctable import NONCE, entry_of, environment_of

__all__ = ["Identity", "boot_id", "identity_of", "is_alive"]


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of one boot. `start_time` in clock ticks since boot (field 22 of /proc/PID/stat).

    `nonce` is BUILD_EYE_NONCE of its environment, "" where none is known.
    """

    pid: int
    start_time: int
    boot: str
    nonce: str = ""


def identity_of(pid: int) -> Identity | None:
    """The identity of a living process; None for a zombie or where there is none."""
    entry = entry_of(pid)
    if entry is None or not entry.alive:
        return None
    return Identity(pid, entry.start_time, boot_id(), (environment_of(pid) or {}).get(NONCE, ""))


def is_alive(identity: Identity) -> bool:
    """Whether this very process runs. Zombies, another start time, another nonce and another boot are dead.

    A process that overwrote its environment (a changed process title does) shows no nonce: then its start time decides.
    """
    if identity.pid <= 0 or identity.boot != boot_id():
        return False
    entry = entry_of(identity.pid)
    if entry is None or not entry.alive or entry.start_time != identity.start_time:
        return False
    if not identity.nonce or identity.pid == os.getpid():
        return True
    return (environment_of(identity.pid) or {}).get(NONCE, identity.nonce) == identity.nonce
